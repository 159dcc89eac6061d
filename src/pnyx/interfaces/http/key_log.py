"""What keys were used for: a bounded log in the database, and wrong keys, which are answered ever later."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from math import ceil
from typing import Self

from ...core.caching.lru import LRU
from ...errors import StoreError
from ...store.keys import KeyUse
from ...times import now
from ..records.runs import RunRecords

__all__ = ["KeyLog", "WrongKeys"]

FLUSH_S = 5.0
"""Seconds within which like uses are one row."""
MOST_PENDING = 5000
"""Rows that wait to be written; others are dropped then, and counted."""
LOG = logging.getLogger("pnyx.http")


class KeyLog:
    """The log of what keys are used for. Rows are written together, every few seconds."""

    def __init__(self, records: RunRecords) -> None:
        self._records = records
        self._pending: dict[tuple[object, ...], KeyUse] = {}
        self._dropped = 0

    @classmethod
    @asynccontextmanager
    async def open(cls, records: RunRecords) -> AsyncIterator[Self]:
        """Open the log; what is pending is written on exit."""
        log = cls(records)
        writing = asyncio.create_task(log._write())
        try:
            yield log
        finally:
            writing.cancel()
            with suppress(asyncio.CancelledError):
                await writing
            await log.flush()

    def note(
        self, name: str, client: str, method: str, route: str, status: int, run_id: str | None = None
    ) -> None:
        """Note a request. name: of its key, "" for a wrong one."""
        use = KeyUse(now(), name, client, method, route, status, run_id)
        like = (name, client, method, route, status, run_id)
        if (earlier := self._pending.get(like)) is not None:
            self._pending[like] = replace(earlier, requests=earlier.requests + 1)
        elif len(self._pending) < MOST_PENDING:
            self._pending[like] = use
        else:
            self._dropped += 1

    async def flush(self) -> None:
        """Write what is pending. If the database fails, it is lost, and a line of the log says how much."""
        pending, self._pending = list(self._pending.values()), {}
        dropped, self._dropped = self._dropped, 0
        try:
            if pending:
                await self._records.keys.add_uses(pending)
        except StoreError:
            dropped += len(pending)
        if dropped:
            LOG.warning("%d uses of keys are not in the log of keys", dropped)

    async def _write(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_S)
            await self.flush()


FREE, WINDOW_S = 10, 60.0
"""Wrong keys of an address that are answered at once, and the seconds in which so many are forgotten, one by
one: who goes on stays slow, and who comes later from the same address does not wait."""
DOUBLINGS = 6
"""Wrong keys above those that count: more lengthen neither the wait nor the time until they are forgotten."""
MOST_DELAY_S = 5.0
MOST_DELAYED = 64
"""Answers that are held back at once; others are refused with 429, so that no flood of them holds much."""
MOST_CLIENTS = 10_000
"""Addresses that are remembered."""


class WrongKeys:
    """How often addresses have sent wrong keys. Right keys are never looked at, and never wait.

    clock: returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen = LRU[str, tuple[float, float, bool]](MOST_CLIENTS)
        self._delayed = 0

    def count(self, client: str) -> float | None:
        """Count a wrong key. Return the seconds to hold the answer back; None: refuse to answer for now."""
        at = self._clock()
        before, level, is_logged = self._seen.get(client) or (at, 0.0, False)
        level = max(0.0, level - (at - before) * FREE / WINDOW_S)
        is_logged = is_logged and level > 0
        level = min(level + 1, FREE + DOUBLINGS)
        above = ceil(level - FREE)
        if above > 0 and not is_logged:
            LOG.warning("more than %d wrong keys from %s: answers to further ones are delayed", FREE, client)
            is_logged = True
        self._seen[client] = (at, level, is_logged)
        if above <= 0:
            return 0.0
        return None if self._delayed >= MOST_DELAYED else min(MOST_DELAY_S, 0.1 * 2**above)

    async def wait(self, seconds: float) -> None:
        """Hold an answer back."""
        self._delayed += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._delayed -= 1
