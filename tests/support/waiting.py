"""Waiting for what another task, thread or process does, on a machine that may stall for seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

__all__ = ["STALL_S", "until", "until_midnight"]

STALL_S = 30.0
"""What ends at once has ended after this time on the slowest machine. What hangs in tests takes a minute."""


MIDNIGHT_S = 60.0
"""Before the end of a day no test starts for this long: it would see two days."""


def until_midnight(now: float) -> float:
    """Seconds to wait at this time of the system's clock, so that a test does not run across midnight.

    Sums, caps and logs are by the day of UTC, and prompts name the local one.
    """
    local = time.localtime(now)
    left = [86_400 - at for at in (now % 86_400, local.tm_hour * 3600 + local.tm_min * 60 + now % 60)]
    return max((seconds for seconds in left if seconds < MIDNIGHT_S), default=0.0)


async def until(true: Callable[[], Any], within: float = 2 * STALL_S) -> Any:
    """Wait until a value is true, and return it. The value may be awaitable."""
    deadline = time.monotonic() + within
    while True:
        value = true()
        if isinstance(value, Awaitable):
            value = await value
        if value:
            return value
        assert time.monotonic() < deadline, "it did not come true in time"
        await asyncio.sleep(0.005)
