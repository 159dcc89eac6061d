"""Waiting for what another task, thread or process does, on a machine that may stall for seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["STALL_S", "until"]

T = TypeVar("T")

STALL_S = 30.0
"""What ends at once has ended after this time on the slowest machine. What hangs in tests takes a minute."""


async def until(true: Callable[[], T], within: float = 2 * STALL_S) -> T:
    """Wait until a value is true, and return it."""
    deadline = time.monotonic() + within
    while not (value := true()):
        assert time.monotonic() < deadline, "it did not come true in time"
        await asyncio.sleep(0.005)
    return value
