"""How protocols ask for what code must read: a verdict, with one chance to repair it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..core.models import Seat
from ..core.steps import Panel, Reply, Schema
from ..core.text import Draft, Material
from ..core.verdicts import Unreadable
from ..errors import SeatAbsent
from ..prompts import load
from .questions import question

__all__ = ["Unread", "Verdict", "ask_verdict", "question"]

REPAIR = load("repair")
ABSTENTION = "abstention (its verdict could not be read)"
"""What the record says of a seat whose second reply cannot be read either."""

T = TypeVar("T")


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
        await panel.tell(ABSTENTION, {seat.label: 0}, abstained=[seat.label], why=str(exc))
        raise Unread(f"{seat.label}: its verdict could not be read: {exc}") from exc
