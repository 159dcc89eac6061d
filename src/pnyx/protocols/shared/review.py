"""Reviews of answers: the steps that a reader accepts and rejects, and the answer that they lead to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from ...core.caching.regex import regex
from ...core.models import Seat, strongest
from ...core.parsing.authorship import Unreadable, own_lines
from ...core.parsing.translations import in_english
from ...core.steps import Panel, Reply
from ...core.text import Draft
from ...errors import SeatAbsent
from .reply_parts import NUMBER, text_below

__all__ = ["Review", "ask_review", "first_review"]

_START = rf"[\s*_#(]*(?i:{NUMBER})"
_PARTS = regex(rf"{_START}(?:accepted|rejected)\b", re.IGNORECASE)
_HEADING = regex(rf"{_START}answer[\s*_]*(?::[\s*_]*)?$", re.IGNORECASE)
_UPPER_CASE = regex(rf"{_START}ANSWER[\s*_]*:[\s*_]*")
_ANY_CASE = regex(rf"{_START}answer[\s*_]*:[\s*_]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Review:
    """An aggregator's reply. review: the steps that it accepts and rejects. answer: its own answer."""

    seat: Seat
    review: str
    answer: str

    @classmethod
    def read(cls, reply: Reply) -> Review:
        written = reply.text.splitlines()
        with suppress(Unreadable):  # a reply too long to search is all answer
            for place, head in _heads(reply.text):
                answer = text_below(written, place, head.sub("", in_english(written[place], head), count=1))
                if answer:
                    return cls(reply.seat, "\n".join(written[:place]).strip(), answer)
        return cls(reply.seat, "", reply.text)

    def to_dict(self) -> dict[str, str]:
        """Return its entry of `detail.reviews`."""
        return {
            "seat": self.seat.label,
            "model": self.seat.model,
            "review": self.review,
            "answer": self.answer,
        }


def _heads(text: str) -> Iterator[tuple[int, re.Pattern[str]]]:
    """Yield the lines that may open the answer, the likeliest first.

    A heading on a line of its own comes before a word at the start of a line, which a review may contain too.
    In small letters, such a word counts only below the parts that accept and reject steps.
    """
    for head in (_HEADING, _UPPER_CASE):
        yield from ((place, head) for place in own_lines(text, head)[:1])
    parts = own_lines(text, _PARTS)[-1:]
    starts = [place for place in own_lines(text, _ANY_CASE) if parts and place > parts[0]]
    yield from ((place, _ANY_CASE) for place in starts[:1])


async def ask_review(panel: Panel, seat: Seat, draft: Draft) -> Review:
    """Return the review of `seat`. Raises `SeatAbsent` if the seat is silent, or its reply was cut off."""
    reply = await panel.ask(seat, draft)
    if reply.truncated:
        raise SeatAbsent(f"{seat.label} was cut off before its answer was complete")
    return Review.read(reply)


async def first_review(panel: Panel, ask: Callable[[Seat], Draft]) -> Review | None:
    """Return the review of the judge, or of the strongest seat whose reply is whole; None without one."""
    with suppress(SeatAbsent):
        reply = await panel.first(panel.closers(strongest(panel.seats)), ask, whole=True)
        return None if reply.truncated else Review.read(reply)
    return None
