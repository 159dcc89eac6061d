"""What protocols ask: the question with its context, and verdicts, with one chance to repair each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ...core.models import Seat
from ...core.parsing.verdicts import Unreadable
from ...core.steps import Brief, Panel, Reply, Schema
from ...core.text import Draft, Material
from ...errors import NoQuorum, SeatAbsent
from ...prompts import load

__all__ = ["Unread", "Verdict", "ask_each", "ask_verdict", "question"]

CONTEXT = load("context")
REPAIR = load("repair")
"""What the record says of a seat whose second reply cannot be read either."""

T = TypeVar("T")


def question(brief: Brief) -> str | Draft:
    """The question, and the brief's context fenced where there is any."""
    if not brief.context:
        return brief.question
    return CONTEXT(question=brief.question, context=brief.context)


async def ask_each(panel: Panel, seats: Sequence[Seat], drafts: Sequence[Draft]) -> list[Reply]:
    """A reply to each draft, by the first seats in parallel; in place of a silent one the next is asked.

    Fewer where seats run out. Raises `NoQuorum` when nobody answers.
    """
    waiting, left, replies = list(seats), list(drafts), list[Reply]()
    while waiting and left:
        turn, waiting = waiting[: len(left)], waiting[len(left) :]
        pairs = list(zip(turn, left, strict=False))
        heard = await panel.all([panel.work(seat, draft) for seat, draft in pairs], quorum=0)
        replies, spoke = [*replies, *heard], {reply.seat for reply in heard}
        left = [draft for seat, draft in pairs if seat not in spoke]
    if not replies:
        raise NoQuorum(f"none of {len(seats)} seats answered, 1 needed")
    return replies


class Unread(SeatAbsent):
    """The seat spoke, and spoke again, and what it decided could not be read: it abstains."""


@dataclass(frozen=True, slots=True)
class Verdict(Generic[T]):
    """What a seat decided, and the reply it was read from."""

    reply: Reply
    value: T

    @property
    def seat(self) -> Seat:
        return self.reply.seat


async def ask_verdict(
    panel: Panel, seat: Seat, draft: Draft, schema: Schema | None, read: Callable[[str], T]
) -> Verdict[T]:
    """Ask `seat` and read its reply; unreadable, it is asked once more and shown why.

    schema: None where the verdict is a line in a text that is wanted as well.
    Raises `Unread` when the second reply cannot be read either: the seat abstains, and the record says so;
    `SeatAbsent` when it does not reply.
    """
    reply = await panel.ask(seat, draft, schema)
    try:
        return Verdict(reply, read(reply.text))
    except Unreadable as exc:
        problem = str(exc)
    said = Material("Your reply", reply.text)
    again = await panel.ask(seat, REPAIR(asked=draft, reply=said, problem=problem), schema)
    try:
        return Verdict(again, read(again.text))
    except Unreadable as exc:
        await panel.abstain(seat, str(exc))
        raise Unread(f"{seat.label}: its verdict could not be read: {exc}") from exc
