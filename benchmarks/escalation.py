"""escalate on recorded answers: accuracy against cost; checks the claims of design/routing.md.

    .venv/bin/python -m benchmarks.escalation FOLDER [--splits N] [--labels N]

FOLDER has the recordings of `benchmarks.recorded_panels`. Weights are learned on one random half and every
policy is graded on the other. For each panel it prints a curve, cheapest first: every single model, all
models with a vote, votes that ask the strongest first, and `escalate` without outcomes and with them, at
several values of its option `sure`. Exits with 1 if a claim fails.

A model's cost is that of its mean answer: list prices times tokens. Output tokens of GSM8K are the recorded
characters / 4, and its questions have 100 tokens; MMLU-Pro has no lengths, so 300 tokens each are assumed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from pathlib import Path
from typing import TypeAlias

from benchmarks.recorded_panels import FRONTIER, GSM8K, MID, MMLU, STRONG, WHERE
from pnyx.core.models import Price, Seat
from pnyx.core.steps import Panel
from pnyx.core.voting.stopping import MIN_ANSWERS, OPEN_OPTIONS, STOP_POSTERIOR
from pnyx.errors import UsageError
from pnyx.evaluate.replay.recorded import read_recorded
from pnyx.protocols.escalate import asking_order
from pnyx.reliability.accuracy import AnsweredQuestion
from pnyx.reliability.stopping import is_settled
from pnyx.reliability.weights import Weights, choose, equal, learn

PRICES = {
    "claude-3-5-sonnet-20241022": (3.0, 15.0),
    "claude-3-haiku-20240307": (0.25, 1.25),
    "gpt-3.5-turbo-0125": (0.5, 1.5),
    "gpt-4o-2024-08-06": (2.5, 10.0),
    "gpt-4o-mini-2024-07-18": (0.15, 0.6),
    "gemini-1.5-flash": (0.075, 0.3),
    "gemini-1.5-flash-002": (0.075, 0.3),
    "gemini-1.5-pro": (1.25, 5.0),
    "gemini-1.5-pro-002": (1.25, 5.0),
    "Mistral-Large-2": (2.0, 6.0),
    "jamba-1.5-large": (2.0, 8.0),
    "Mixtral-8x7B-Instruct-v0.1": (0.24, 0.24),
    "Meta-Llama-3-8B-Instruct": (0.05, 0.08),
    "Meta-Llama-3.1-8B-Instruct": (0.05, 0.08),
    "Meta-Llama-3_1-8B-Instruct": (0.05, 0.08),
    "Meta-Llama-3.1-70B-Instruct": (0.59, 0.79),
    "Meta-Llama-3_1-70B-Instruct": (0.59, 0.79),
}
"""USD per million tokens, input and output: list prices in genai-prices (Llama and Mixtral: of Groq)."""
ASSUMED = {
    "DeepSeek-Coder-V2": (0.14, 0.28),
    "gemma-2-9b-it": (0.2, 0.2),
    "Llama-3.1-405B-Inst@sambanova": (3.5, 3.5),
    "mathstral-7B": (0.25, 0.25),
    "Phi-3-mini-4k-instruct": (0.1, 0.1),
    "Phi-3.5-mini-instruct": (0.1, 0.1),
    "Qwen1.5-72B-Chat": (0.9, 0.9),
    "Qwen2-72B-Instruct": (0.9, 0.9),
}
"""Models without a list price there: prices assumed from what hosts asked for models of their size."""

QUESTION_TOKENS = {GSM8K: 100, MMLU: 300}
ANSWER_TOKENS = 300
"""Of an answer to MMLU-Pro, which is not recorded."""
CHARS_PER_TOKEN = 4
SURE = (0.5, 0.6, 0.7, 0.8, 0.9, STOP_POSTERIOR, 0.99)

PANELS = {
    "GSM8K, six of five vendors": (
        GSM8K,
        (
            *("gemini-1.5-flash", "gpt-4o-mini-2024-07-18", "claude-3-haiku-20240307", "Mistral-Large-2"),
            *("gpt-4o-2024-08-06", "claude-3-5-sonnet-20241022"),
        ),
    ),
    "GSM8K, open weights": (
        GSM8K,
        (
            *("Meta-Llama-3.1-8B-Instruct", "gemma-2-9b-it", "Meta-Llama-3.1-70B-Instruct"),
            *("Qwen2-72B-Instruct", "Llama-3.1-405B-Inst@sambanova"),
        ),
    ),
    "GSM8K, frontier-5": (GSM8K, FRONTIER),
    "GSM8K, four small and one": (
        GSM8K,
        (
            *("Meta-Llama-3-8B-Instruct", "Phi-3.5-mini-instruct", "gemma-2-9b-it", "gpt-3.5-turbo-0125"),
            "gpt-4o-2024-08-06",
        ),
    ),
    "MMLU-Pro, strong-5": (MMLU, (*STRONG, "DeepSeek-Coder-V2")),
    "MMLU-Pro, mid-6": (MMLU, MID),
    "MMLU-Pro, 8B to frontier": (
        MMLU,
        (
            *("Meta-Llama-3_1-8B-Instruct", "Mixtral-8x7B-Instruct-v0.1", "gemini-1.5-flash-002"),
            *("Meta-Llama-3_1-70B-Instruct", "gemini-1.5-pro-002"),
        ),
    ),
}
"""Name -> recording and models."""

ALL, MAJORITY, STRONGEST = "all, weighted", "all, majority", "strongest first, weighted"
PAIR = "escalate, no outcomes"
MOST_LOST, MOST_LOST_FEW = 0.001, 0.008
"""The most accuracy that `escalate` may lose against all models with the same weights: learned from the whole
half, and from `--labels` of it, when the posterior is less cautious and stops earlier."""

Order: TypeAlias = Sequence[str]
Done: TypeAlias = Callable[[AnsweredQuestion, Sequence[str]], bool]


def escalated(sure: float) -> str:
    return f"escalate, sure = {sure:g}"


@dataclass(slots=True)
class Curve:
    """Policy -> how often it was right, and the USD that it spent, over `n` trials."""

    n: int = 0
    right: Counter[str] = field(default_factory=Counter)
    usd: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, policy: str, right: bool, usd: float) -> None:
        self.right[policy] += right
        self.usd[policy] += usd

    def accuracy(self, policy: str) -> float:
        return self.right[policy] / self.n

    def cost(self, policy: str) -> float:
        """USD per question."""
        return self.usd[policy] / self.n


def prices(model: str) -> tuple[float, float]:
    return PRICES[model] if model in PRICES else ASSUMED[model]


def mean_costs(folder: Path, recording: str, models: Sequence[str]) -> dict[str, float]:
    """Model -> USD of its mean answer."""
    tokens = dict.fromkeys(models, float(ANSWER_TOKENS))
    if recording == GSM8K:
        with gzip.open(folder / GSM8K, "rt") as lines:
            rows = [json.loads(line)["chars"] for line in lines]
        tokens = {m: sum(row.get(m) or 0 for row in rows) / len(rows) / CHARS_PER_TOKEN for m in models}
    return {m: (QUESTION_TOKENS[recording] * prices(m)[0] + tokens[m] * prices(m)[1]) / 1e6 for m in models}


def ask_in_order(
    question: AnsweredQuestion, order: Order, costs: Mapping[str, float], done: Done
) -> tuple[AnsweredQuestion, float]:
    """The answers of the models that were asked, at least two if there are, and what they cost."""
    answers: dict[str, str | None] = {}
    asked = replace(question, answers=answers)
    for place, model in enumerate(order, 1):
        answers[model] = question.answers[model]
        if place >= MIN_ANSWERS and done(asked, order[place:]):
            break
    return asked, fsum(costs[model] for model in answers)


def agreed(question: AnsweredQuestion, _: Sequence[str]) -> bool:
    """Whether an answer that two models gave leads: the rule of `escalate` without weights."""
    counts = Counter(answer for answer in question.answers.values() if answer is not None)
    (_, first), (_, second) = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    return first >= MIN_ANSWERS and first > second


def settled(weights: Weights, sure: float) -> Done:
    return lambda question, waiting: is_settled(weights, question, waiting, sure)


def order_of(models: Sequence[str], weights: Mapping[str, float] | None) -> list[str]:
    """The order in which the protocol itself asks."""
    seats = tuple(
        Seat(model, model, price=Price(*prices(model)), weight=weights and weights[model]) for model in models
    )
    return [seat.model for seat in asking_order(Panel(seats))]


def replayed(folder: Path, recording: str, models: Sequence[str], splits: int, labels: int | None) -> Curve:
    # Live votes do not know the category of a question.
    questions = [
        replace(q, category=None) for q in read_recorded(folder / recording, models, WHERE[recording])
    ]
    costs, curve = mean_costs(folder, recording, models), Curve()
    # In live runs ties of weights go to the dearer model.
    models = sorted(models, key=lambda m: -prices(m)[1])
    for split in range(splits):
        drawn = list(questions)
        random.Random(f"0/{split}").shuffle(drawn)
        half = len(drawn) // 2
        # Nor how many options it has.
        learned = learn(drawn[: half if labels is None else labels], models)
        weights = replace(learned, options=OPEN_OPTIONS)
        for question in drawn[half:]:
            curve.n += 1
            for policy, right, usd in _policies(question, models, weights, costs):
                curve.add(policy, right, usd)
    return curve


def _policies(
    question: AnsweredQuestion, models: Sequence[str], weights: Weights, costs: Mapping[str, float]
) -> Iterator[tuple[str, bool, float]]:
    for model in models:
        yield model, question.answers[model] == question.gold, costs[model]
    votes, everything = weights.of(), fsum(costs.values())
    dearest = equal(models)
    yield ALL, choose(weights, question) == question.gold, everything
    yield MAJORITY, choose(dearest, question) == question.gold, everything
    strongest = sorted(models, key=lambda m: -votes[m])
    asked, usd = ask_in_order(question, strongest, costs, settled(weights, STOP_POSTERIOR))
    yield STRONGEST, choose(weights, asked) == question.gold, usd
    asked, usd = ask_in_order(question, order_of(models, None), costs, agreed)
    yield PAIR, choose(dearest, asked) == question.gold, usd
    for sure in SURE:
        asked, usd = ask_in_order(question, order_of(models, votes), costs, settled(weights, sure))
        yield escalated(sure), choose(weights, asked) == question.gold, usd


def failures(panel: str, models: Sequence[str], curve: Curve, most_lost: float) -> Iterator[str]:
    """A sentence for each claim that the curve of a panel contradicts."""
    ours = escalated(STOP_POSTERIOR)
    if (lost := curve.accuracy(ALL) - curve.accuracy(ours)) > most_lost:
        yield f"{panel}: {ours} loses {100 * lost:.2f} points against all models."
    if curve.cost(ours) >= curve.cost(STRONGEST):
        yield f"{panel}: {ours} costs no less than asking the strongest first."
    for model in models:
        cheaper = curve.cost(model) <= curve.cost(PAIR)
        if cheaper and curve.accuracy(model) > curve.accuracy(PAIR):
            yield f"{panel}: {model} is better than {PAIR}, and no dearer."


def show(panel: str, curve: Curve) -> None:
    print(f"\n{panel}: {curve.n:,} trials\n| USD / 1,000 questions | right, % | policy |\n|--:|--:|---|")
    for policy in sorted(curve.usd, key=curve.cost):
        assumed = " (assumed price)" if policy in ASSUMED else ""
        figures = f"{1000 * curve.cost(policy):.3f} | {100 * curve.accuracy(policy):.2f}"
        print(f"| {figures} | {policy}{assumed} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--splits", type=int, default=3, metavar="N", help="random halves (default 3)")
    parser.add_argument("--labels", type=int, metavar="N", help="outcomes to learn from (default: the half)")
    args = parser.parse_args()
    failed: list[str] = []
    for panel, (recording, models) in PANELS.items():
        try:
            curve = replayed(args.folder, recording, models, args.splits, args.labels)
        except UsageError as exc:
            parser.error(str(exc))
        show(panel, curve)
        failed += failures(panel, models, curve, MOST_LOST if args.labels is None else MOST_LOST_FEW)
    if failed:
        sys.exit("A claim of design/routing.md fails.\n" + "\n".join(failed))


if __name__ == "__main__":
    main()
