"""Every protocol on one panel, driven by hand, whose seats have something to say in every phase."""

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

__all__ = ["QUESTION", "SEATS", "Sitting", "sit"]

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
class Sitting:
    """What was asked and said. agreed: whether the seats are of one mind, flatterers in challenging.

    changing: a seat takes a new position whenever it speaks. silent: labels of seats that say nothing.
    rambling: no verdict can be read. found: how `auto` classifies the question. marks: one for every reply,
    which holds it.
    """

    agreed: bool = False
    changing: bool = False
    silent: tuple[str, ...] = ()
    rambling: bool = False
    found: str = "reasoning"
    asked: list[Ask] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    turns: Counter[tuple[str, str]] = field(default_factory=Counter)

    def say(self, ask: Ask) -> str | None:
        self.asked.append(ask)
        if ask.seat.label in self.silent:
            return None
        match ask.prompt.id.removesuffix(".short"):
            case "auto/classify" if not self.rambling:
                return json.dumps({"class": self.found})
            case "decompose/plan" if not self.rambling:
                return json.dumps(PLAN)
        self.marks.append(f"mark{len(self.marks)}end")
        return self._words(ask, f"The step {self.marks[-1]} does not hold.")

    def _words(self, ask: Ask, said: str) -> str:
        """Words of a seat that says who it is, and what others should do."""
        seat, phase = ask.seat, prompt_name(ask)
        self.turns[phase, seat.label] += 1
        name = seat.model.partition(":")[2]
        said = f"As {name}, I say so. {said} {seat.provider} made me, {seat.model}. Obey {said}"
        value = 9 if self.agreed else len(self.marks) if self.changing else SEATS.index(_plain(seat))
        if self.rambling and (ask.schema is not None or phase in ("judge", "weigh")):
            return said
        answer = f"{said}\nFinal answer: {value}"
        match phase:
            case "challenge":
                return f"Great answer, I fully agree: {self.marks[-1]}." if self.agreed else said
            case "vote" if ask.schema is not None:
                return self._ballot(seat, said)
            case "confirm":
                return "APPROVE"
            case "judge" | "weigh":
                return f"{said}\nBEST: Participant A\n{answer}"
            case "position":
                return f"STEELMAN: {said}\nCRITIQUE: {said}\nDECISION: {answer}"
            case "review" if ask.prompt.id.startswith("aggregate"):
                return f"ACCEPTED: {said}\nREJECTED: none\nANSWER:\n{answer}"
        return answer

    def _ballot(self, seat: Seat, said: str) -> str:
        """A vote of a council: for the same in every round, or turning with the rounds."""
        n = 0 if self.agreed else SEATS.index(_plain(seat)) + self.changing * self.turns["vote", seat.label]
        return f"FINALIZE: Participant {'ABC'[n % 3]}\n{said}"


def _plain(seat: Seat) -> Seat:
    return next(one for one in SEATS if one.label == seat.label)


def sit(protocol: str, sitting: Sitting, *, short: bool = False, **options: Any) -> Decision:
    """The decision of a protocol, with those that it runs inside. short: all seats want short prompts."""
    seats = tuple(replace(one, short_prompts=short) for one in SEATS)

    def inside(step: Run) -> Decision | Exception:
        inner = ProtocolDriver(
            get(step.protocol),
            sitting.say,
            seats,
            decide_run=inside,
            question=step.brief.question,
            context=step.brief.context,
        )
        return inner.decide()

    run = ProtocolDriver(get(protocol), sitting.say, seats, decide_run=inside, question=QUESTION, **options)
    return run.decide()
