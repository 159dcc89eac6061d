"""Turns of calls to one host with one key: evenly spaced, in one process or over all that share a database.

Over processes, each reserves turns in batches: as many as calls wait or came in the last tenth of a second,
and at most a quarter of a second's worth. A turn is used at its time or up to `LATE_S` after it, else it
expires: also if the call that has it is not sent by then, since its intent took long to be written. So no
window of T seconds has more than (T + `LATE_S` + the time of a reservation) / spacing + 1 calls, and a
process that dies takes at most a quarter of a second of turns with it, or one turn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from functools import partial
from math import ceil
from typing import Protocol

from ...errors import StoreError
from ...store import Database, rates

__all__ = ["LATE_S", "LocalTurns", "SharedTurns", "Source", "StoredTurns", "Turns", "spacing_of"]

LATE_S = 0.25
"""Seconds after its time until which a turn may be used."""
SLACK_S = 0.5
"""Seconds that turns of a minute are further apart: what `LATE_S` and a slow reservation bring together."""
BATCH_S = 0.25
"""The most seconds of turns that one reservation has, if these are more than one turn."""
RECENT_S = 0.1
"""Seconds of calls that a reservation is for, as many as came lately."""
EXACT_S = 1e-6
"""Seconds that a turn may be early: a timer is no more exact."""


def spacing_of(per_minute: float) -> float:
    """Return the seconds between two turns, so that no minute has more than `per_minute` calls."""
    return (60.0 + SLACK_S) / per_minute


class Turns(Protocol):
    """Waits for the turn of a call. A wait that is cancelled does not delay other calls."""

    async def take(self) -> float:
        """Return the time of the turn on the loop's clock, which is over."""
        ...


class LocalTurns:
    """Turns of one process. spacing: seconds between two."""

    def __init__(self, spacing: float) -> None:
        self._spacing, self._next = spacing, 0.0
        self._lock = asyncio.Lock()

    async def take(self) -> float:
        # Counted only when it is taken: a call that gives up does not delay others.
        async with self._lock:
            due = max(self._next, now := asyncio.get_running_loop().time())
            await asyncio.sleep(due - now)
            self._next = due + self._spacing
            return due


class Source(Protocol):
    """Where processes reserve turns. length: seconds."""

    async def reserve(self, length: float) -> tuple[float, float]:
        """Reserve the next `length` seconds. Return their end, as a time of the source, and the seconds until
        they start. Raises `StoreError`.
        """
        ...

    async def give_back(self, length: float, end: float) -> None:
        """Give back the last `length` seconds, which end at `end`, unless others were reserved since."""
        ...


class StoredTurns:
    """The turns in a PostgreSQL database. name: of the row; the same for the same host and key."""

    def __init__(self, database: Database, name: str) -> None:
        self._database, self._name, self._has_reserved = database, name, False

    async def reserve(self, length: float) -> tuple[float, float]:
        if not self._has_reserved:
            self._has_reserved = True
            await self._database.apart(rates.forget_idle)
        return await self._database.apart(partial(rates.reserve, name=self._name, length=length))

    async def give_back(self, length: float, end: float) -> None:
        with suppress(StoreError):
            await self._database.apart(
                partial(rates.give_back, name=self._name, length=length, end=end),
            )


class SharedTurns:
    """Turns that several processes share. spacing: seconds between two."""

    def __init__(self, spacing: float, source: Source) -> None:
        self._spacing, self._source = spacing, source
        self._most = max(1, int(BATCH_S / spacing))
        self._waiting: deque[asyncio.Future[float]] = deque()
        self._reserved: deque[float] = deque()
        self._end = 0.0
        self._gave_up = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._came, self._counted_at = 0, 0.0

    async def take(self) -> float:
        """As in `Turns`. Raises `StoreError` if none can be reserved."""
        mine: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting.append(mine)
        self._came += 1
        if self._task is None:
            self._task = asyncio.create_task(self._hand_out())
        try:
            return await mine
        except asyncio.CancelledError:
            self._gave_up.set()
            raise

    async def _hand_out(self) -> None:
        """Give reserved turns to the calls that wait, in their order, until none waits."""
        clock = asyncio.get_running_loop().time
        try:
            while self._next_waiting():
                while self._reserved and self._reserved[0] < clock() - LATE_S:
                    self._reserved.popleft()
                if not self._reserved:
                    await self._reserve()
                elif (wait := self._reserved[0] - clock()) > EXACT_S:
                    self._gave_up.clear()
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._gave_up.wait(), wait)
                else:
                    self._waiting.popleft().set_result(self._reserved.popleft())
            await self._give_back()
        except asyncio.CancelledError:
            self._task = None  # the loop is being closed, and with it the calls
            raise
        except BaseException as exc:
            while self._next_waiting():
                self._waiting.popleft().set_exception(exc)
            self._task = None
            if not isinstance(exc, StoreError):
                raise
        else:
            # A call may have come while turns were given back.
            self._task = asyncio.create_task(self._hand_out()) if self._next_waiting() else None

    def _next_waiting(self) -> bool:
        """Return whether a call waits. Forget those that gave up."""
        while self._waiting and self._waiting[0].done():
            self._waiting.popleft()
        return bool(self._waiting)

    async def _reserve(self) -> None:
        clock = asyncio.get_running_loop().time
        seconds = max(clock() - self._counted_at, RECENT_S)
        expected = ceil(self._came * RECENT_S / seconds)
        self._came, self._counted_at = 0, clock()
        count = min(self._most, max(sum(not one.done() for one in self._waiting), expected))
        self._end, wait = await self._source.reserve(count * self._spacing)
        # The answer took time, so these moments are those of the source or later.
        first = clock() + max(wait, 0.0)
        self._reserved.extend(first + n * self._spacing for n in range(count))

    async def _give_back(self) -> None:
        """Give back the turns of calls that gave up, unless the next calls can use them soon."""
        clock = asyncio.get_running_loop().time
        if self._reserved and self._reserved[0] - clock() > BATCH_S:
            length, self._reserved = len(self._reserved) * self._spacing, deque()
            await self._source.give_back(length, self._end)
