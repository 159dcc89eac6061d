"""What is done with a decision after its protocol: the strongest seats put it into form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from ...core.models import strongest
from ...core.parsing.form import Form
from ...core.protocol import ExpectedCalls, Protocol, Scope
from ...core.steps import Brief, Decision, Panel
from ...core.text import Draft
from ...errors import NotInForm, SeatAbsent
from .verdict import ask_verdict

__all__ = ["Close", "ask_strongest", "closed"]

T = TypeVar("T")
Close: TypeAlias = "Callable[[Brief, Panel, Decision], Awaitable[Decision]]"
"""Makes the decision of a run from that of its protocol; it awaits only the panel."""
SEATS = 2
"""Seats that try to put an answer into form, each with one repair, before the run fails."""


def closed(protocol: Protocol, close: Close, tokens: int) -> Protocol:
    """Return `protocol` with its decision put into form. tokens: of a reply that does so, as expected."""
    script, calls, expected = protocol.script, protocol.calls, protocol.expected

    def bounds(scope: Scope) -> tuple[int, int]:
        least, most = calls(scope) if calls else (0, 0)
        return least, most + 2 * SEATS

    def usual(scope: Scope) -> Sequence[ExpectedCalls]:
        return [*(expected(scope) if expected else ()), ExpectedCalls(1, tokens, 1, "strongest")]

    async def run(brief: Brief, panel: Panel) -> Decision:
        return await close(brief, panel, await script(brief, panel))

    return replace(
        protocol,
        script=run,
        calls=bounds if calls is not None else None,
        expected=usual if expected is not None else None,
    )


async def ask_strongest(panel: Panel, draft: Draft, form: Form[T]) -> tuple[str, T]:
    """Return the label of the judge, or of the strongest seat, whose reply is in `form`, and what it says.

    Raises `NotInForm` if none is.
    """
    problem = "no seat is left"
    for seat in panel.closers(strongest(panel.seats))[:SEATS]:
        try:
            verdict = await ask_verdict(panel, seat, draft, form)
        except SeatAbsent as exc:
            problem = str(exc)
        else:
            return verdict.seat.label, verdict.value
    raise NotInForm(f"the answer could not be written in the requested form: {problem}")
