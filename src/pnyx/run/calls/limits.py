"""Limits of calls: concurrency and rate per provider, waits between attempts, deadlines."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from ...core.thinking import Effort
from ...errors import ProviderError
from ...providers.unsent import before_sending
from .turns import LATE_S, LocalTurns, SharedTurns, Source, Turns, spacing_of

__all__ = ["Deadline", "Gate", "Limits", "Slot", "delay"]

BACKOFF_S = 0.5
LONGEST_WAIT_S = 60.0


def delay(tries: int, error: ProviderError) -> float | None:
    """Return the seconds to wait before the next attempt after `tries` failed ones; None: do not try again.

    The wait that the host requests, up to a minute; else exponential back-off with jitter above a floor, so
    that seats that failed together do not try again together.
    """
    if error.retries is not None and tries > error.retries:
        return None
    if error.kind == "malformed" and tries > 1:
        return None  # a host that is malformed twice stays so, and each attempt costs money
    if error.retry_after is not None:
        return error.retry_after if error.retry_after <= LONGEST_WAIT_S else None
    ceiling = min(LONGEST_WAIT_S / 2, BACKOFF_S * 2.0 ** (tries - 1))
    return ceiling * (0.5 + 0.5 * random.random())


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a run's calls, in seconds and tokens. retries: attempts after the first.

    hedge: whether a late call gets a second, parallel request. effort, thinking_tokens: configured for all
    calls. phases: phase -> the fields of its `Thinking`.
    """

    call_deadline_s: float
    max_output_tokens: int
    retries: int = 3
    temperature: float | None = None
    seed: int | None = None
    hedge: bool = False
    effort: Effort | None = None
    thinking_tokens: int | None = None
    phases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Deadline:
    """A time on the monotonic clock, in seconds; None: never."""

    at: float | None

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        return cls(None if seconds is None else time.monotonic() + seconds)

    @property
    def left(self) -> float:
        return float("inf") if self.at is None else self.at - time.monotonic()

    def sooner(self, other: Deadline) -> Deadline:
        return self if self.left <= other.left else other


class Slot:
    """The place of one call among those of its provider. turn: when it may be sent, on the loop's clock."""

    def __init__(self, turns: Turns | None) -> None:
        self._turns, self.turn = turns, 0.0

    async def take_turn(self) -> None:
        if self._turns is not None:
            self.turn = await self._turns.take()

    async def ready(self) -> None:
        """Wait for another turn if that of the call is over since long. Raises `StoreError`.

        Just before the request is sent: calls whose intents took long would be sent together otherwise.
        """
        if asyncio.get_running_loop().time() > self.turn + LATE_S:
            with before_sending():
                await self.take_turn()


class Gate:
    """Limits one provider to `concurrency` calls at once and `per_minute` calls a minute, evenly spaced.

    source: of turns that processes share; None: this process has all of them.
    """

    def __init__(
        self, concurrency: int, per_minute: float | None = None, source: Source | None = None
    ) -> None:
        self._slots = asyncio.Semaphore(concurrency)
        self._turns: Turns | None = None
        if per_minute:
            spacing = spacing_of(per_minute)
            self._turns = LocalTurns(spacing) if source is None else SharedTurns(spacing, source)

    @property
    def full(self) -> bool:
        return self._slots.locked()

    @asynccontextmanager
    async def call(
        self, *unless: asyncio.Future[Any], within: float = math.inf
    ) -> AsyncIterator[Slot | None]:
        """Wait for a slot and hold it in the block. Yields None, without a slot, if one of `unless` is done
        first or after `within` seconds. Raises `StoreError` if the turns of processes cannot be read.
        """
        slot = Slot(self._turns)
        if not await self._acquire(slot, unless, within):
            yield None
            return
        try:
            yield slot
        finally:
            self._slots.release()

    async def _acquire(self, slot: Slot, unless: tuple[asyncio.Future[Any], ...], within: float) -> bool:
        if not self.full and self._turns is None:
            await self._slots.acquire()
            return True
        entering = asyncio.ensure_future(self._enter(slot))
        timeout = None if within == math.inf else max(within, 0)
        try:
            await asyncio.wait((entering, *unless), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            entering.cancel()
            await asyncio.wait([entering])
        except asyncio.CancelledError:
            entering.add_done_callback(self._release_late)
            entering.cancel()
            raise
        if entering.cancelled():
            return False
        entering.result()  # raises why it has no turn
        return True

    def _release_late(self, entering: asyncio.Task[None]) -> None:
        if not entering.cancelled() and entering.exception() is None:
            self._slots.release()

    async def _enter(self, slot: Slot) -> None:
        await self._slots.acquire()
        try:
            await slot.take_turn()
        except BaseException:
            self._slots.release()
            raise
