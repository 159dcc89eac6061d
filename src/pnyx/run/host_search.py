"""Searches that the models' hosts make by themselves: `tools.web_search.backend = "provider"`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core.models import Seat
from ..providers.base import Provider, can_search

__all__ = ["SEARCHES", "TOOL", "note", "searchless"]

TOOL = "web_search"
"""The tool that a host's own search stands in for."""
SEARCHES = 3
"""Searches that a request allows. A host reads all that it found before each further one, as input that is
charged: what a request may cost, and so what is reserved for it, grows with the square of this."""


async def searchless(seats: Sequence[Seat], open_provider: Callable[[str], Provider]) -> tuple[Seat, ...]:
    """The seats whose hosts cannot search by themselves."""
    return tuple([seat for seat in seats if not await can_search(open_provider(seat.provider), seat.name)])


def note(seats: Sequence[Seat], instead: bool) -> str:
    """What a person is told of such seats. instead: whether they have the tool."""
    names = ", ".join(f"{seat.label} ({seat.model})" for seat in seats)
    have = "search DuckDuckGo instead" if instead else "have no search"
    return f"{TOOL}: hosts that cannot search by themselves {have}: {names}"
