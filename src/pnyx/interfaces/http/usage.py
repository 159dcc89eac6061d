"""What the keys of a server use right now: requests in the last minute, and requests under way."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from math import ceil

from ...errors import OverLimit

__all__ = ["KeyUsage", "unread"]

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


class KeyUsage:
    """Counts the requests of each key. most_open: requests of a key that may be under way at once.

    clock: returns monotonic seconds.
    """

    def __init__(self, most_open: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most_open, self._clock = most_open, clock
        self._times: dict[str, deque[float]] = {}
        self._open: Counter[str] = Counter()
        self._unsent: Counter[str] = Counter()

    def begin(self, owner: str, per_minute: int | None) -> None:
        """Count a request, which `end` ends. per_minute: the limit of the key. Raises `OverLimit`."""
        if self._open[owner] >= self._most_open:
            raise OverLimit(
                f"this key has {self._most_open} requests under way, half of the server's connections; "
                "close some, or follow several runs one after another",
                RETRY_S,
            )
        if per_minute is None:
            self._times.pop(owner, None)
        else:
            self._count(owner, per_minute)
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

    def _count(self, owner: str, per_minute: int) -> None:
        now, times = self._clock(), self._times.setdefault(owner, deque())
        while times and times[0] + WINDOW_S <= now:
            times.popleft()
        if len(times) >= per_minute:
            # The oldest request that must leave the window before there is room for one more.
            wait = max(1, ceil(times[len(times) - per_minute] + WINDOW_S - now))
            raise OverLimit(
                f"this key has sent {len(times)} requests in the last minute, and its limit is {per_minute}: "
                f"requests_per_minute of [serve.keys.{owner}]; try again in {wait} s",
                wait,
            )
        times.append(now)
