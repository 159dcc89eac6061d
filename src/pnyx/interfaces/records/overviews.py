"""The overviews of runs. They are computed apart from the event loop, and those of long runs are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from ...core.caching.lru import LRU
from ...core.events import Event
from ...store.records import runs as store
from ..views.overview import overview

__all__ = ["Overviews"]

KEPT = 4
LONG = 500
"""Events from which the overview of a run is kept: that of 10,000 events takes half a second."""


class Overviews:
    """The overview of a run follows from its events alone, so one is valid until the run has more events."""

    def __init__(self) -> None:
        self._kept = LRU[tuple[str, int], dict[str, Any]](KEPT)

    async def of(self, row: store.RunRow, read: Callable[[], Awaitable[list[Event]]]) -> dict[str, Any]:
        """The overview of a run. read: reads its events, if they are needed."""
        key = (row.id, row.seq)
        if (kept := self._kept.get(key)) is not None:
            return kept
        events = [event for event in await read() if (event.seq or 0) <= row.seq]
        found = await asyncio.to_thread(overview, events)
        if row.seq >= LONG:
            self._kept[key] = found
        return found
