"""What the keys of a server use right now: requests in the last minute, and requests under way.

With PostgreSQL, the requests of a minute are those to all servers of the database; with SQLite, each server
counts its own.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from math import ceil
from typing import Protocol

from ...errors import OverLimit
from ..records.runs import RunRecords

__all__ = ["KeyUsage", "LocalRate", "RequestRate", "StoredRate", "request_rate", "unread"]

WINDOW_S = 60.0
RETRY_S = 5
MOST_UNSENT = 32_000_000
"""Bytes of long responses of a key that wait to be read."""


def unread() -> OverLimit:
    """The error for a response that would be one too many in memory."""
    return OverLimit(
        f"this key has {MOST_UNSENT // 1_000_000} MB of long responses that its clients have not read; "
        "read or close them, and try again",
        RETRY_S,
    )


class RequestRate(Protocol):
    """Counts the requests of keys that have a limit."""

    async def count(self, owner: str, per_minute: int) -> None:
        """Count a request, if the limit of the key allows it. Raises `OverLimit`, `StoreError`."""
        ...


class LocalRate:
    """The requests to this server. clock: returns monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: dict[str, deque[float]] = {}

    async def count(self, owner: str, per_minute: int) -> None:
        now, times = self._clock(), self._times.setdefault(owner, deque())
        while times and times[0] + WINDOW_S <= now:
            times.popleft()
        if len(times) >= per_minute:
            # The oldest request that must leave the window before there is room for one more.
            raise _too_many(owner, per_minute, times[len(times) - per_minute] + WINDOW_S - now)
        times.append(now)


class StoredRate:
    """The requests to all servers of a PostgreSQL database. clock: as of `LocalRate`.

    A request costs a short transaction. Those that come before one is allowed cost none.
    """

    def __init__(self, records: RunRecords, clock: Callable[[], float] = time.monotonic) -> None:
        self._records, self._clock = records, clock
        self._full: dict[str, tuple[int, float]] = {}

    async def count(self, owner: str, per_minute: int) -> None:
        most, until = self._full.get(owner, (0, 0.0))
        if most == per_minute and until > self._clock():
            raise _too_many(owner, per_minute, until - self._clock())
        wait_s = await self._records.keys.take_place(f"requests:{owner}", per_minute, WINDOW_S)
        if wait_s is not None:
            self._full[owner] = per_minute, self._clock() + wait_s
            raise _too_many(owner, per_minute, wait_s)
        self._full.pop(owner, None)


def request_rate(records: RunRecords) -> RequestRate:
    """Return what counts the requests to a server of a database."""
    return StoredRate(records) if records.is_shared else LocalRate()


def _too_many(owner: str, per_minute: int, wait_s: float) -> OverLimit:
    wait = max(1, ceil(wait_s))
    return OverLimit(
        f"this key has sent {per_minute} requests in the last minute, and its limit is {per_minute}: "
        f"requests_per_minute of [serve.keys.{owner}]; try again in {wait} s",
        wait,
    )


class KeyUsage:
    """Counts what is under way for each key. most_open: requests of a key that may be under way at once."""

    def __init__(self, most_open: int) -> None:
        self._most_open = most_open
        self._open: Counter[str] = Counter()
        self._unsent: Counter[str] = Counter()

    def begin(self, owner: str) -> None:
        """Count a request, which `end` ends. Raises `OverLimit`."""
        if self._open[owner] >= self._most_open:
            raise OverLimit(
                f"this key has {self._most_open} requests under way, half of the server's connections; "
                "close some, or follow several runs one after another",
                RETRY_S,
            )
        self._open[owner] += 1

    def end(self, owner: str) -> None:
        """Note that a request of `begin` is over."""
        self._open[owner] -= 1
        if not self._open[owner]:
            del self._open[owner]

    def hold(self, owner: str, size: int) -> bool:
        """Count `size` bytes of a response that are to be sent, which `release` subtracts.

        False if clients of the owner have not read theirs, and they are many: they stay in memory.
        """
        if self._unsent[owner] and self._unsent[owner] + size > MOST_UNSENT:
            return False
        self._unsent[owner] += size
        return True

    def release(self, owner: str, size: int) -> None:
        """Note that bytes of `hold` are sent, or never will be."""
        self._unsent[owner] -= size
        if not self._unsent[owner]:
            del self._unsent[owner]
