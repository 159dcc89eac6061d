"""How much of the prompts of a run hosts can read from their prompt cache.

    .venv/bin/python -m benchmarks.caching [-p PROTOCOL] [--turns N] [--first PART]

Drives each protocol with scripted replies of 1,500 to 3,000 characters. Two shares of all characters of
prompts, system messages included:

- prefix: those that an earlier prompt to the same model begins with too, which is what hosts cache;
- bound: those that any earlier prompt to the same model has at any place, in a stretch of at least `STRETCH`
  characters. No order of the same texts can put more of them into a prefix.

The last column weighs what is in a prefix with a tenth, as many hosts bill it. `--first` puts before a prompt
what hosts put there: the definitions of pnyx's tools, in the calls that may use them ("tools") or in all
("all-tools"), and the schema of the reply ("schemas").
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple

from pnyx import protocols
from pnyx.core.steps import Ask
from pnyx.core.text import Material
from pnyx.testing import ProtocolDriver, prompt_name
from pnyx.tools.read_file import ReadFile
from pnyx.tools.read_page import ReadPage
from pnyx.tools.web_search import WebSearch

STRETCH = 48
CONTEXT = 22_000
QUESTION = (
    "Our team of six runs a web shop on one PostgreSQL server with 40 GB of data and 300 writes a second. "
    "Should we move to a managed service this quarter, and what would speak for the opposite?"
)
PANELS = {
    "3 models": ("lab:alpha", "lab:beta", "lab:gamma"),
    "3 seats of one model": ("lab:alpha",) * 3,
}
OPTIONS: dict[str, dict[str, Any]] = {
    "consensus": {"threshold": 1.0},
    "aggregate": {"aggregators": "each"},
    "sample": {"samples": 6, "adaptive": False},
}
"""Options with which a protocol asks as much as it usually does."""
DEFINITIONS = json.dumps([asdict(tool.spec) for tool in (WebSearch, ReadPage, ReadFile)])
FIRST = ("tools", "all-tools", "schemas")
PLAN = {
    "subtasks": [
        {"label": "cost", "question": "What does a managed service cost at this size?", "needs": []},
        {"label": "move", "question": "How long does the move take?", "needs": ["cost"]},
    ]
}


class Shares(NamedTuple):
    """Shares of the characters of all prompts of a run, in [0, 1]."""

    characters: int
    prefix: float
    bound: float

    @property
    def ratio(self) -> float:
        return self.prefix / self.bound if self.bound else 1.0

    @property
    def cost(self) -> int:
        """Characters, of which those in a prefix count a tenth."""
        return round(self.characters * (1 - 0.9 * self.prefix))


@dataclass
class Seats:
    """Seats that write at length and never agree before they have debated for three rounds."""

    random: random.Random = field(default_factory=lambda: random.Random(1))
    turns: defaultdict[tuple[str, str], count[int]] = field(default_factory=lambda: defaultdict(count))

    def prose(self, least: int = 1_500, most: int = 3_000) -> str:
        """Text that has no stretch in common with any other."""
        letters = "etaoinshrdlucmfwypvbgkjqxz"
        weights = range(len(letters), 0, -1)
        words = ("".join(self.random.choices(letters, weights, k=self.random.randint(2, 9))) for _ in count())
        length, text = self.random.randint(least, most), ""
        while len(text) < length:
            text += f"{next(words)}{self.random.choices((' ', ', ', '. '), (12, 2, 1))[0]}"
        return text.strip()

    def __call__(self, ask: Ask) -> str:
        name, seat = prompt_name(ask), ask.seat.label[-1]
        turn = next(self.turns[name, ask.seat.label])
        others = [letter for letter in "ABC" if letter != seat]
        match name:
            case "classify":
                return json.dumps({"class": "reasoning"})
            case "plan":
                return json.dumps(PLAN)
            case "review" if ask.prompt.id.startswith("council"):
                return "\n".join(f"## Participant {other}\n{self.prose(800, 1_500)}" for other in others)
            case "vote" if ask.schema is not None:
                # Another vote each round, so that the council does not stand still, and agrees in the third.
                choice = "B" if turn == 2 else "ABC"["ABC".index(seat) - 1 - turn]
                return f"FINALIZE: Participant {choice}\n{self.prose(200, 400)}"
            case "confirm":
                return f"APPROVE\n{self.prose(100, 200)}"
            case "position":
                parts = [f"{part}: {self.prose(500, 900)}" for part in ("STEELMAN", "CRITIQUE", "DECISION")]
                return "\n".join([*parts, f"Final answer: {turn}{seat}"])
            case "judge" | "weigh":
                return f"{self.prose(300, 500)}\nBEST: Participant A\n{self.prose()}\nFinal answer: {seat}"
            case "review":
                steps = f"ACCEPTED: {self.prose(300, 500)}\nREJECTED: none"
                return f"{steps}\nANSWER:\n{self.prose()}\nFinal answer: {seat}"
            case "rebut":
                new = f"\nNEW PROPOSAL:\n{self.prose()}" if seat == "A" else ""
                return f"{self.prose(600, 1_200)}{new}"
            case "challenge":
                return self.prose(900, 1_500)
        return f"{self.prose()}\nFinal answer: {turn}{seat}"


def prompts(
    protocol: str, models: Sequence[str], context: int = 0, turns: int = 1, first: Collection[str] = ()
) -> list[tuple[str, str]]:
    """Run `protocol`; the model and the whole text of each prompt. context: its length in characters.

    turns: runs of a conversation, each with the decisions before it as further context. first: of `FIRST`.
    """
    seats, sent = Seats(), list[tuple[str, str]]()
    material = [Material("notes.md", seats.prose(context, context))] if context else []
    for n in range(1, turns + 1):
        question = QUESTION if n == 1 else f"Point {n}: {seats.prose(100, 200)}?"
        driver = ProtocolDriver(
            protocol, seats, seats=models, question=question, context=material, options=OPTIONS.get(protocol)
        )
        driver.panel = replace(driver.panel, tools=("web_search",))
        driver.decide()
        sent += [(ask.seat.model, _text(ask, first)) for ask in driver.asks]
        answer = f"Question: {question}\n\nDecision: {driver.decision.answer}"
        material = [*material, Material(f"Turn {n}", answer)]
        seats.turns.clear()
    return sent


def _text(ask: Ask, first: Collection[str]) -> str:
    tools = DEFINITIONS if "all-tools" in first or ("tools" in first and ask.tools) else ""
    schema = json.dumps(ask.schema.document) if "schemas" in first and ask.schema is not None else ""
    system = getattr(ask.prompt, "system", "")  # versions before 0.2 have none
    return f"{tools}{schema}{system}\n{ask.prompt.text}"


def measure(sent: Sequence[tuple[str, str]], stretch: int = STRETCH) -> Shares:
    """The shares of prompts, given as (model, text) in the order in which they were sent."""
    earlier: defaultdict[str, list[str]] = defaultdict(list)
    known: defaultdict[str, set[int]] = defaultdict(set)
    total = prefix = seen = 0
    for model, text in sent:
        total += len(text)
        prefix += max((_common(text, other) for other in earlier[model]), default=0)
        stretches = [hash(text[at : at + stretch]) for at in range(len(text) - stretch + 1)]
        covered = 0
        for at, one in enumerate(stretches):
            if one in known[model]:
                seen += at + stretch - max(covered, at)
                covered = at + stretch
        known[model].update(stretches)
        earlier[model].append(text)
    return Shares(total, prefix / total, seen / total)


def _common(one: str, other: str) -> int:
    """The number of characters with which both begin."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("-p", "--protocol", action="append", help="repeatable; default: all")
    parser.add_argument("--turns", type=int, default=1, help="questions of a conversation; default: 1")
    parser.add_argument("--first", action="append", choices=FIRST, default=[], help="repeatable")
    args = parser.parse_args()
    names = args.protocol or sorted(protocols.names())
    print("| protocol | panel | context | prompts | characters | prefix | bound | prefix / bound | cost |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in names:
        for panel, models in PANELS.items():
            for context in (0, CONTEXT):
                sent = prompts(name, models, context, args.turns, args.first)
                shares = measure(sent)
                print(
                    f"| {name} | {panel} | {context:,} | {len(sent)} | {shares.characters:,} "
                    f"| {shares.prefix:.1%} | {shares.bound:.1%} | {shares.ratio:.1%} | {shares.cost:,} |"
                )


if __name__ == "__main__":
    main()
