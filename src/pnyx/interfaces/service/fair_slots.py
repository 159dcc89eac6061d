"""Slots for runs, shared fairly: no owner keeps another from having a run."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Mapping

__all__ = ["FairSlots"]


class FairSlots:
    """The slots of the runs of a process.

    An owner without a run gets a slot at once, also beyond the most: others may have runs that take hours.
    A free slot goes to the waiting owner that has the fewest runs; of those with as many, to the one whose
    last turn is longest ago. most: how many runs there may be, but for the first of each owner. running:
    owner -> its runs in this process, which the runner counts.
    """

    def __init__(self, most: int, running: Mapping[str, int]) -> None:
        self._most, self._running = most, running
        self._starting: Counter[str] = Counter()
        # In the order of turns: an owner goes to the end with each of them.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @property
    def has_room(self) -> bool:
        return sum(self._running.values()) + self._starting.total() < self._most

    def held(self, owner: str) -> int:
        """The runs of an owner that are under way or starting."""
        return self._running.get(owner, 0) + self._starting[owner]

    def waiting(self, owner: str) -> int:
        """The runs of an owner that wait for a slot."""
        return len(self._waiting.get(owner, ()))

    async def acquire(self, owner: str, within_s: float) -> None:
        """Wait for a slot; `release` it once the run has started. Raises `TimeoutError`."""
        if not self.held(owner) or (self.has_room and not self._waiting):
            self._starting[owner] += 1
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(owner, deque()).append(granted)
        self.pass_on()
        try:
            async with asyncio.timeout(within_s):
                await granted
        except BaseException:
            if granted.done() and not granted.cancelled():
                self.release(owner)
            else:
                self._forget(owner, granted)
            raise

    def release(self, owner: str) -> None:
        """Give back the slot of a run that has started, and counts as running, or that did not start."""
        self._starting[owner] -= 1
        if not self._starting[owner]:
            del self._starting[owner]
        self.pass_on()

    def pass_on(self) -> None:
        """Give free slots to those that wait. The owner of a run that ends calls this."""
        while self._waiting:
            owner = min(self._waiting, key=self.held)
            if self.held(owner) and not self.has_room:
                break
            queue = self._waiting.pop(owner)
            granted = queue.popleft()
            if queue:
                self._waiting[owner] = queue
            if not granted.done():
                self._starting[owner] += 1
                granted.set_result(None)

    def _forget(self, owner: str, granted: asyncio.Future[None]) -> None:
        queue = self._waiting.get(owner)
        if queue is not None and granted in queue:
            queue.remove(granted)
            if not queue:
                del self._waiting[owner]
