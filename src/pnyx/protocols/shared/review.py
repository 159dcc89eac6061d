"""What a reader makes of answers: the steps it accepts and rejects, and the answer that they lead to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from ...core.models import Seat, strongest
from ...core.parsing.authorship import Unreadable, own_lines
from ...core.regex import regex
from ...core.steps import Panel, Reply
from ...core.text import Draft
from ...errors import SeatAbsent
from .reply_parts import NUMBER, below

__all__ = ["Review", "ask_review", "first_review"]

_START = rf"[\s*_#(]*(?i:{NUMBER})"
_PARTS = regex(rf"{_START}(?:accepted|rejected)\b", re.IGNORECASE)
_ALONE = regex(rf"{_START}answer[\s*_]*(?::[\s*_]*)?$", re.IGNORECASE)
_LOUD = regex(rf"{_START}ANSWER[\s*_]*:[\s*_]*")
_BEGUN = regex(rf"{_START}answer[\s*_]*:[\s*_]*", re.IGNORECASE)


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
            for place, head in _heads(reply.text):
                answer = below(written, place, head.sub("", written[place], count=1))
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


def _heads(text: str) -> Iterator[tuple[int, re.Pattern[str]]]:
    """The lines that may open the answer, the likeliest first.

    A line of its own parts better than a word at the start of one, which a review may hold as well: in small
    letters that counts below the reviewing parts only.
    """
    for head in (_ALONE, _LOUD):
        yield from ((place, head) for place in own_lines(text, head)[:1])
    parts = own_lines(text, _PARTS)[-1:]
    begun = [place for place in own_lines(text, _BEGUN) if parts and place > parts[0]]
    yield from ((place, _BEGUN) for place in begun[:1])


async def ask_review(panel: Panel, seat: Seat, draft: Draft) -> Review:
    """The review of `seat`. Raises `SeatAbsent` also when it was cut off, perhaps before its answer."""
    reply = await panel.ask(seat, draft)
    if reply.truncated:
        raise SeatAbsent(f"{seat.label} was cut off before its answer was whole")
    return Review.read(reply)


async def first_review(panel: Panel, ask: Callable[[Seat], Draft]) -> Review | None:
    """The review of the strongest seat whose reply is whole; None when there is none."""
    with suppress(SeatAbsent):
        reply = await panel.first(strongest(panel.seats), ask, whole=True)
        return None if reply.truncated else Review.read(reply)
    return None
