"""What protocols ask: the question with its context, and verdicts, with one chance to repair each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ...core.models import Seat
from ...core.parsing.form import Form
from ...core.parsing.verdicts import Unreadable
from ...core.steps import Brief, Panel, Reply
from ...core.text import Draft, Material
from ...errors import NoQuorum, SeatAbsent
from ...prompts import load

__all__ = ["Unread", "Verdict", "ask_each", "ask_verdict", "question"]

CONTEXT = load("context")
REPAIR = load("repair")

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


async def ask_verdict(panel: Panel, seat: Seat, draft: Draft, form: Form[T]) -> Verdict[T]:
    """Ask `seat` and read its reply; if it cannot be read, ask once more and show the seat why.

    Raises `Unread` if the second reply cannot be read either: the seat abstains, which is recorded;
    `SeatAbsent` if it does not reply.
    """
    reply = await panel.ask(seat, draft, form.schema)
    try:
        return Verdict(reply, form.read(reply))
    except Unreadable as exc:
        problem = str(exc)
    said = Material("Your reply", reply.text)
    again = await panel.ask(seat, REPAIR(asked=draft, reply=said, problem=problem), form.schema)
    try:
        return Verdict(again, form.read(again))
    except Unreadable as exc:
        await panel.abstain(seat, str(exc))
        raise Unread(f"{seat.label}: its verdict could not be read: {exc}") from exc
