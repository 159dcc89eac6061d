"""Calls for verdicts, with one repair for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ...core.models import Seat
from ...core.parsing.form import Form
from ...core.parsing.verdicts import Unreadable
from ...core.steps import Panel, Reply
from ...core.text import Draft, Material
from ...errors import NoQuorum, SeatAbsent
from ...prompts import load

__all__ = ["UnreadableVerdict", "Verdict", "ask_each", "ask_verdict"]

REPAIR = load("repair")

T = TypeVar("T")


async def ask_each(
    panel: Panel, seats: Sequence[Seat], drafts: Sequence[Draft], max_tokens: int | None
) -> list[Reply]:
    """Return a reply to each draft, from the first seats in parallel; the next seat replaces a silent one.

    Returns fewer replies if the seats run out. max_tokens: see `Ask`. Raises `NoQuorum` if nobody answers.
    """
    waiting, left, replies = list(seats), list(drafts), list[Reply]()
    while waiting and left:
        turn, waiting = waiting[: len(left)], waiting[len(left) :]
        pairs = list(zip(turn, left, strict=False))
        asks = [panel.work(seat, draft, max_tokens=max_tokens) for seat, draft in pairs]
        new = await panel.all(asks, quorum=0)
        replies, answered = [*replies, *new], {reply.seat for reply in new}
        left = [draft for seat, draft in pairs if seat not in answered]
    if not replies:
        raise NoQuorum(f"none of {len(seats)} seats answered, 1 needed")
    return replies


class UnreadableVerdict(SeatAbsent):
    """The seat replied twice, and neither verdict could be read: it abstains."""


@dataclass(frozen=True, slots=True)
class Verdict(Generic[T]):
    """The verdict of a seat, and the reply that it was read from."""

    reply: Reply
    value: T

    @property
    def seat(self) -> Seat:
        return self.reply.seat


async def ask_verdict(panel: Panel, seat: Seat, draft: Draft, form: Form[T]) -> Verdict[T]:
    """Call `seat` and read its reply; if it cannot be read, call once more with the problem.

    Raises `UnreadableVerdict` if the second reply cannot be read either, and records that the seat abstains;
    raises `SeatAbsent` if the seat does not reply.
    """
    reply = await panel.ask(seat, draft, form.schema, form.effort, max_tokens=form.max_tokens)
    try:
        return Verdict(reply, form.read(reply))
    except Unreadable as exc:
        problem = str(exc)
    previous = Material("Your reply", reply.text)
    repair = REPAIR(asked=draft, reply=previous, problem=problem)
    again = await panel.ask(seat, repair, form.schema, form.effort, max_tokens=form.max_tokens)
    try:
        return Verdict(again, form.read(again))
    except Unreadable as exc:
        await panel.abstain(seat, str(exc))
        raise UnreadableVerdict(f"{seat.label}: its verdict could not be read: {exc}") from exc
