"""Web searches that the models' hosts make themselves: `tools.web_search.backend = "provider"`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...core.models import Seat
from ...providers.base import Provider, can_search

__all__ = ["SEARCHES", "TOOL", "missing_search_note", "seats_without_search"]

TOOL = "web_search"
"""The tool that a host's own search replaces."""
SEARCHES = 3
"""Searches that a request allows. Before each further search a host reads all earlier results as input, which
is charged: the cost, and so the reservation, grows with the square of this number."""


async def seats_without_search(
    seats: Sequence[Seat], open_provider: Callable[[str], Provider]
) -> tuple[Seat, ...]:
    """Return the seats whose hosts cannot search themselves."""
    return tuple([seat for seat in seats if not await can_search(open_provider(seat.provider), seat.name)])


def missing_search_note(seats: Sequence[Seat], instead: bool) -> str:
    """Return a note for the user about such seats. instead: whether they have the tool."""
    names = ", ".join(f"{seat.label} ({seat.model})" for seat in seats)
    action = "search DuckDuckGo instead" if instead else "have no search"
    return f"{TOOL}: hosts that cannot search themselves {action}: {names}"
