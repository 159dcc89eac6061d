"""Database access for commands that only read or annotate stored runs and need no runner."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ...config.schema import Settings
from ..run_records import RunRecords

__all__ = ["with_records"]

T = TypeVar("T")


def with_records(settings: Settings, work: Callable[[RunRecords], Awaitable[T]]) -> T:
    """Open the configured database, run `work` on it and return its result. Raises `StoreError`."""

    async def open_and_work() -> T:
        async with RunRecords.open(settings) as records:
            return await work(records)

    return asyncio.run(open_and_work())
