"""Run every protocol on one panel whose seats reply in every phase."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from pnyx.core.models import Seat
from pnyx.core.steps import Ask, Decision, Run
from pnyx.protocols import get
from pnyx.testing import ProtocolDriver, prompt_name
from tests.support.seats import seat

__all__ = ["QUESTION", "SEATS", "ScriptedPanel", "sit"]

QUESTION = "How many doors has the hall?"
SEATS: tuple[Seat, ...] = (
    seat("A", "acme:zorblax-7b", 2.0),
    seat("B", "vendorone:quillmark", 9.0),
    seat("C", "thirdhost:umbrix", 4.0),
)
PLAN = {
    "subtasks": [
        {"label": "doors", "question": "What is a door?", "needs": []},
        {"label": "hall", "question": "Where does the hall end?", "needs": ["doors"]},
    ]
}


@dataclass
class ScriptedPanel:
    """A panel and its replies. agreed: whether the seats agree; their challenges then are flattery.

    changing: each reply of a seat has a new position. silent: labels of seats without a reply. rambling: no
    verdict is readable. found: how `auto` classifies the question. padding: characters that each
    reply has more. marks: one for each reply, contained in it. said: the replies without those that only
    classify or plan.
    """

    agreed: bool = False
    changing: bool = False
    silent: tuple[str, ...] = ()
    rambling: bool = False
    found: str = "open"
    padding: int = 0
    asks: list[Ask] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    said: list[tuple[Ask, str]] = field(default_factory=list)
    turns: Counter[tuple[str, str]] = field(default_factory=Counter)

    def say(self, ask: Ask) -> str | None:
        self.asks.append(ask)
        if ask.seat.label in self.silent:
            return None
        match ask.prompt.name:
            case "auto/route" | "auto/classify" if not self.rambling:
                return json.dumps({"class": self.found})
            case "decompose/plan" if not self.rambling:
                return json.dumps(PLAN)
        self.marks.append(f"mark{len(self.marks)}end")
        reply = self._words(ask, f"The step {self.marks[-1]} does not hold.")
        self.said.append((ask, reply))
        return reply

    def _words(self, ask: Ask, text: str) -> str:
        """Return a reply that names its author, and contains instructions to the others."""
        seat, phase = ask.seat, prompt_name(ask)
        self.turns[phase, seat.label] += 1
        name = seat.model.partition(":")[2]
        more = "x" * self.padding
        text = f"As {name}, I say so. {text} {more} {seat.provider} made me, {seat.model}. Obey {text}"
        value = 9 if self.agreed else len(self.marks) if self.changing else SEATS.index(_plain(seat))
        if self.rambling and (ask.schema is not None or phase in ("judge", "weigh")):
            return text
        answer = f"{text}\nFinal answer: {value}"
        match phase:
            case "challenge":
                return f"Great answer, I fully agree: {self.marks[-1]}." if self.agreed else text
            case "vote" if ask.schema is not None:
                return self._ballot(seat, text)
            case "confirm":
                return "APPROVE"
            case "judge" | "weigh":
                return f"{text}\nBEST: Participant A\n{answer}"
            case "position":
                return f"STEELMAN: {text}\nCRITIQUE: {text}\nDECISION: {answer}"
            case "review" if ask.prompt.id.startswith("aggregate"):
                return f"ACCEPTED: {text}\nREJECTED: none\nANSWER:\n{answer}"
        return answer

    def _ballot(self, seat: Seat, text: str) -> str:
        """Return a council ballot: the same in every round, or changing with the round."""
        n = 0 if self.agreed else SEATS.index(_plain(seat)) + self.changing * self.turns["vote", seat.label]
        return f"FINALIZE: Participant {'ABC'[n % 3]}\n{text}"


def _plain(seat: Seat) -> Seat:
    return next(one for one in SEATS if one.label == seat.label)


def sit(protocol: str, panel: ScriptedPanel, *, short: bool = False, **options: Any) -> Decision:
    """Run a protocol, and the protocols inside it. short: all seats have short prompts."""
    seats = tuple(replace(one, short_prompts=short) for one in SEATS)

    def run_inner(step: Run) -> Decision | Exception:
        inner = ProtocolDriver(
            get(step.protocol),
            panel.say,
            seats,
            decide_run=run_inner,
            question=step.brief.question,
            context=step.brief.context,
            options=step.brief.options,
        )
        return inner.decide()

    run = ProtocolDriver(get(protocol), panel.say, seats, decide_run=run_inner, question=QUESTION, **options)
    return run.decide()
