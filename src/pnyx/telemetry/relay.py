"""Passes items from the event loop to a thread, so that what the thread does never delays a run."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

__all__ = ["Relay"]

T = TypeVar("T")
CAPACITY = 20_000
"""The most items that wait; further ones are dropped and counted."""
LOG = logging.getLogger("pnyx.telemetry")


class Relay(Generic[T]):
    """Calls `sink` with each item in a thread of its own.

    A sink that blocks or fails costs its own items and nothing else. name: of the thread, for people.
    dropped: items for which there was no room. failed: items at which the sink raised. at_end: called in the
    thread after the last item.
    """

    def __init__(
        self,
        name: str,
        sink: Callable[[T], object],
        at_end: Callable[[], object] = lambda: None,
        capacity: int = CAPACITY,
    ) -> None:
        self.name, self.dropped, self.failed = name, 0, 0
        self._sink, self._at_end, self._capacity = sink, at_end, capacity
        self._items: queue.SimpleQueue[T | None] = queue.SimpleQueue()
        self._busy = self._closed = False
        # A daemon: a sink that hangs must not keep the process alive.
        self._thread = threading.Thread(target=self._work, name=f"pnyx {name}", daemon=True)
        self._thread.start()

    def offer(self, item: T) -> None:
        """Pass an item on, or drop it if too many wait. Never blocks and never raises."""
        if self._closed or self._items.qsize() >= self._capacity:
            self.dropped += 1
        else:
            self._items.put(item)

    def drain(self, within: float) -> bool:
        """Wait until every item is done, at most `within` seconds; return whether they are."""
        until = time.monotonic() + within
        while (waiting := self._busy or not self._items.empty()) and time.monotonic() < until:
            time.sleep(0.002)
        return not waiting

    def close(self, within: float) -> bool:
        """Take no more items, and wait at most `within` seconds for the rest. Return whether it is done."""
        self._closed = True
        self._items.put(None)
        self._thread.join(within)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (item := self._items.get()) is not None:
            self._busy = True
            self._attempt(partial(self._sink, item))
            self._busy = False
        self._attempt(self._at_end)

    def _attempt(self, action: Callable[[], object]) -> None:
        try:
            action()
        except Exception:
            # Whatever is wrong with telemetry, the next item may be fine. The first failure is reported,
            # and all are counted.
            self.failed += 1
            if self.failed == 1:
                LOG.exception("%s failed; further failures are only counted", self.name)
