"""Commands that only read or annotate what is stored: one visit to the database, and no runner."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ...config.schema import Settings
from ..run_records import RunRecords

__all__ = ["with_records"]

T = TypeVar("T")


def with_records(settings: Settings, work: Callable[[RunRecords], Awaitable[T]]) -> T:
    """What `work` returns of the configured database, which is opened for it alone. Raises `StoreError`."""

    async def visit() -> T:
        async with RunRecords.open(settings) as records:
            return await work(records)

    return asyncio.run(visit())
