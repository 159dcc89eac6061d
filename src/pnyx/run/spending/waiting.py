"""Calls of this process that wait for room under a cap."""

from __future__ import annotations

import asyncio
import math
import time
from bisect import insort
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Waiting"]

POLL_S = 0.2
"""Seconds between two looks at an account for what other processes did."""


@dataclass(order=True, slots=True)
class _Waiter:
    place: tuple[bool, str, str, int]
    woken: asyncio.Future[None] = field(compare=False)


class Waiting:
    """The calls that wait, by the scope of the account that has no room for them, in the order of their runs:
    those that have begun, then those that have not, of both the oldest first.

    Only the first of each scope is woken: the others have no room before it has. So a settled call wakes one
    call and not hundreds. wakes: how often room may have come.
    """

    def __init__(self) -> None:
        self.wakes = 0
        self._queues: dict[str, list[_Waiter]] = {}
        self._count = 0

    def counts(self) -> dict[str, int]:
        """Return scope -> how many calls wait for room in it."""
        return {scope: len(queue) for scope, queue in self._queues.items()}

    def wake(self) -> None:
        """Wake the first call of each scope, after room may have come or a call no longer waits."""
        self.wakes += 1
        for queue in self._queues.values():
            if not queue[0].woken.done():
                queue[0].woken.set_result(None)

    def begun(self, run_id: str) -> None:
        """Note that a run has sent its first call: its others go before those of runs that have not."""
        for queue in self._queues.values():
            for waiter in queue:
                if waiter.place[2] == run_id:
                    waiter.place = (False, *waiter.place[1:])
            queue.sort()

    async def wait(
        self,
        scope: str,
        place: tuple[bool, str, str],
        *unless: asyncio.Future[Any],
        wakes: int,
        within: float = math.inf,
    ) -> None:
        """Wait until the call should look again for room in `scope`, one of `unless` is done, or `within` s.

        place: whether its run has sent no call yet, the time of its creation, its id. wakes: those there were
        when it looked; room that came since then would wake nobody.
        """
        self._count += 1
        waiter = _Waiter((*place, self._count), asyncio.get_running_loop().create_future())
        queue = self._queues.setdefault(scope, [])
        insort(queue, waiter)
        until = time.monotonic() + within
        try:
            if queue[0] is waiter and wakes != self.wakes:
                return
            while True:
                is_first = queue[0] is waiter
                left = min(until - time.monotonic(), POLL_S)
                futures = (waiter.woken, *unless)
                done, _ = await asyncio.wait(
                    futures, timeout=max(left, 0), return_when=asyncio.FIRST_COMPLETED
                )
                if done or is_first or time.monotonic() >= until:
                    return
        finally:
            queue.remove(waiter)
            if not queue:
                del self._queues[scope]
