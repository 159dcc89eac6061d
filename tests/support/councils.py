"""Scripted members of a council, for `ProtocolDriver`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pnyx.core.models import Seat
from pnyx.core.steps import Ask, Decision, Reply
from pnyx.protocols.council.protocol import PROTOCOL
from pnyx.testing import ProtocolDriver, prompt_name
from tests.support.seats import seat

__all__ = [
    "CYCLE",
    "A",
    "B",
    "C",
    "D",
    "E",
    "Members",
    "cut",
    "decided",
    "fenced",
    "letter",
    "seats",
    "sit",
    "task",
]

A, B, C, D, E = (
    seat("A", "one:small", 2.0),
    seat("B", "two:large", 9.0),
    seat("C", "three:mid"),
    seat("D", "four:other"),
    seat("E", "five:last"),
)
PHASE = {"propose-again": "propose"}


CYCLE = {"A": "B", "B": "C", "C": "A"}


def seats(n: int) -> tuple[Seat, ...]:
    return (A, B, C, D, E)[:n]


def letter(ask: Ask) -> str:
    return ask.seat.label[-1]


class Members:
    """The replies of the members: "proposal B2" is B's in round 2; the last of `rounds` repeats.

    rounds: letter -> ballot; a single letter endorses. phases: phase -> the reply of all, or letter -> reply.
    dies: letter -> the phase and round from which it stops replying ("review1").
    """

    def __init__(
        self,
        *rounds: Mapping[str, str],
        dies: Mapping[str, str] | None = None,
        **phases: str | Reply | Mapping[str, str | None] | None,
    ) -> None:
        self.rounds, self.dies, self.phases = rounds, dies or {}, phases
        self.turns: Counter[tuple[str, str]] = Counter()
        self.dead: set[str] = set()

    def __call__(self, ask: Ask) -> str | Reply | None:
        name, who = PHASE.get(prompt_name(ask), prompt_name(ask)), letter(ask)
        self.turns[name, who] += 1
        n = self.turns[name, who]
        if self.dies.get(who) == f"{name}{n}":
            self.dead.add(who)
        if who in self.dead:
            return None
        if name in self.phases:
            reply = self.phases[name]
            if not isinstance(reply, Mapping):
                return reply
            if who in reply:
                return reply[who]
        return self._default_reply(name, who, n, ask)

    def _default_reply(self, name: str, who: str, n: int, ask: Ask) -> str:
        match name:
            case "propose":
                return f"proposal {who}{n}"
            case "review":
                shown = re.findall(r' by (Participant \w)"', task(ask))
                return "\n".join(
                    f"## {label}\nflaw of {label[-1]} seen by {who}{n}" for label in sorted(shown)
                )
            case "rebut":
                return f"rebuttal {who}{n}"
            case "vote" | "repair":
                ballot = self.rounds[min(self.turns["vote", who], len(self.rounds)) - 1].get(who, "nothing")
                return f"FINALIZE: Participant {ballot}" if len(ballot) == 1 else ballot
            case "synthesise":
                return "the synthesis"
            case "confirm":
                return "APPROVE"
        raise AssertionError(name)


def sit(members: Members, n: int = 3, **more: Any) -> ProtocolDriver:
    return ProtocolDriver(PROTOCOL, members, seats=more.pop("seats", seats(n)), **more)


def decided(*rounds: Mapping[str, str], n: int = 3, **options: Any) -> Decision:
    return sit(Members(*rounds), n, **options).decide()


def fenced(ask: Ask) -> str:
    """Return the fenced material of a prompt."""
    return "\n".join(re.findall(r"^<m\w+ [^\n]*>\n.*?^</m\w+>$", ask.prompt.text, re.MULTILINE | re.DOTALL))


def task(ask: Ask) -> str:
    """Return what a prompt holds after the question and the transcript."""
    return ask.prompt.text[ask.prompt.breaks[-1] :]


def cut(ask: Ask, text: str) -> Reply:
    return Reply(ask, text, truncated=True)
