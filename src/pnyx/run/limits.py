"""What holds calls back: per-provider concurrency and rate, waits between attempts, deadlines."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from ..errors import ProviderError

__all__ = ["Deadline", "Gate", "Limits", "delay", "now"]

BACKOFF_S = 0.5
LONGEST_WAIT_S = 60.0


def delay(tries: int, error: ProviderError) -> float | None:
    """Seconds to wait before another attempt after `tries` failed ones; None when waiting is no use.

    What the host asks for is obeyed, up to a minute; else exponential back-off with full jitter
    above a floor, so that seats that failed together do not return together.
    """
    if error.kind == "malformed" and tries > 1:
        return None  # what answers with no answer twice will do so again, and is paid for each
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= LONGEST_WAIT_S else None
    ceiling = min(LONGEST_WAIT_S / 2, BACKOFF_S * 2.0 ** (tries - 1))
    return ceiling * (0.5 + 0.5 * random.random())


def now() -> str:
    """The time in UTC, ISO 8601 with milliseconds."""
    second, rest = divmod(time.time_ns(), 1_000_000_000)
    return f"{_second(second)}.{rest // 1_000_000:03d}Z"


@lru_cache(maxsize=2)  # every event has its time, and many come in the same second
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat()


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds the calls of a run. Seconds and tokens; `retries` are attempts after the first.

    hedge: whether a late call gets a second request beside it.
    """

    call_deadline_s: float
    max_output_tokens: int
    retries: int = 3
    temperature: float | None = None
    seed: int | None = None
    hedge: bool = False


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the monotonic clock; None is never."""

    at: float | None

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        return cls(None if seconds is None else time.monotonic() + seconds)

    @property
    def left(self) -> float:
        return float("inf") if self.at is None else self.at - time.monotonic()

    def sooner(self, other: Deadline) -> Deadline:
        return self if self.left <= other.left else other


class Gate:
    """One provider's door: at most `concurrency` calls inside, `per_minute` a minute, evenly spaced."""

    def __init__(self, concurrency: int, per_minute: float | None = None) -> None:
        self._inside = asyncio.Semaphore(concurrency)
        self._spacing = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0
        self._turn = asyncio.Lock()

    @property
    def full(self) -> bool:
        return self._inside.locked()

    @asynccontextmanager
    async def call(self, *unless: asyncio.Future[Any], within: float = math.inf) -> AsyncIterator[bool]:
        """Waits to be let in, and leaves at the end. False, and outside, where one of `unless` is done first,
        or `within` seconds are over.
        """
        if not await self._entered(unless, within):
            yield False
            return
        try:
            yield True
        finally:
            self._inside.release()

    async def _entered(self, unless: tuple[asyncio.Future[Any], ...], within: float) -> bool:
        if not (self.full or self._spacing):
            await self._inside.acquire()
            return True
        entering = asyncio.ensure_future(self._enter())
        timeout = None if within == math.inf else max(within, 0)
        try:
            await asyncio.wait((entering, *unless), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            entering.cancel()
            await asyncio.wait([entering])
        except asyncio.CancelledError:
            entering.add_done_callback(self._left)
            entering.cancel()
            raise
        return not entering.cancelled()

    def _left(self, entering: asyncio.Task[None]) -> None:
        if not entering.cancelled():
            self._inside.release()

    async def _enter(self) -> None:
        await self._inside.acquire()
        try:
            if self._spacing:
                # One after another, and counted once it is let in: who gives up holds nobody back.
                async with self._turn:
                    due = max(self._next, now := time.monotonic())
                    await asyncio.sleep(due - now)
                    self._next = due + self._spacing
        except BaseException:
            self._inside.release()
            raise
