"""Readers of long runs take turns, so that many hold up others no longer than one does.

A run of 10,000 events takes 100 MB while it is read and written, and seconds of the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from ...errors import Full

__all__ = ["ReadingTurns"]


class ReadingTurns:
    """What each reader does one after another. A reader is the owner of a key, or a link to a run.

    stopping: whether the process is.
    """

    def __init__(self, stopping: Callable[[], bool] = lambda: False) -> None:
        self._stopping = stopping
        # A lock is forgotten once nobody holds it or waits for it.
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def whole(self, reader: str) -> AsyncIterator[None]:
        """Held while a whole run is read and written as one text.

        Raises `Full` if the process is stopping: it does not wait for all who wait for their turn.
        """
        async with self._lock("run", reader):
            if self._stopping():
                raise Full("the server is stopping; try again when it is back")
            yield

    def page(self, reader: str) -> asyncio.Lock:
        """Held while a page of stored events is read."""
        return self._lock("page", reader)

    async def event(self, reader: str) -> None:
        """Wait until an event may be encoded: of those that wait, one may in a turn of the event loop."""
        async with self._lock("event", reader):
            await asyncio.sleep(0)

    def __len__(self) -> int:
        """How many turns are held or waited for."""
        return len(self._locks)

    def _lock(self, what: str, reader: str) -> asyncio.Lock:
        return self._locks.setdefault((what, reader), asyncio.Lock())
