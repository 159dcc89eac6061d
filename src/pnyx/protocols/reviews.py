"""What a reader makes of answers: the steps it accepts and rejects, and the answer that they lead to."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from ..core.models import Seat, strongest
from ..core.regex import regex
from ..core.steps import Panel, Reply
from ..core.text import Draft
from ..core.voice import Unreadable, own_lines
from ..errors import SeatAbsent

__all__ = ["Review", "ask_review", "first_review"]

# A line of its own parts better than a word at the start of one, which a review may hold as well.
_HEADS = (regex(r"[\s*_#]*answer[\s*_]*:[\s*_]*$", re.IGNORECASE), regex(r"[\s*_#]*ANSWER[\s*_]*:[\s*_]*"))


@dataclass(frozen=True, slots=True)
class Review:
    """What an aggregator made of the answers: which steps it accepts and rejects, and its own answer."""

    seat: Seat
    review: str
    answer: str

    @classmethod
    def read(cls, reply: Reply) -> Review:
        written = reply.text.splitlines()
        with suppress(Unreadable):  # a reply of great length is all answer
            for head in _HEADS:
                for place in own_lines(reply.text, head)[:1]:
                    answer = "\n".join([head.sub("", written[place], count=1), *written[place + 1 :]]).strip()
                    if answer:
                        return cls(reply.seat, "\n".join(written[:place]).strip(), answer)
        return cls(reply.seat, "", reply.text)

    @property
    def told(self) -> dict[str, str]:
        return {
            "seat": self.seat.label,
            "model": self.seat.model,
            "review": self.review,
            "answer": self.answer,
        }


async def ask_review(panel: Panel, seat: Seat, draft: Draft) -> Review:
    """The review of `seat`. Raises `SeatAbsent` also when it was cut off, perhaps before its answer."""
    reply = await panel.ask(seat, draft)
    if reply.truncated:
        raise SeatAbsent(f"{seat.label} was cut off before its answer was whole")
    return Review.read(reply)


async def first_review(panel: Panel, ask: Callable[[Seat], Draft]) -> Review | None:
    """The review of the strongest seat that gives one."""
    for seat in strongest(panel.seats):
        with suppress(SeatAbsent):
            return await ask_review(panel, seat, ask(seat))
    return None
