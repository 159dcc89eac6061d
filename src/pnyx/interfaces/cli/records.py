"""Database access for commands that need stored runs. None of them creates a database."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import nullcontext, suppress
from typing import Any, TypeVar

from ...config.schema import Settings
from ...errors import NoTables
from ..records.existing_database import existing_database, missing_database
from ..records.runs import RunRecords
from .terminal.output import Output

__all__ = ["note_new_database", "with_earlier_runs", "with_records"]

T = TypeVar("T")


def note_new_database(settings: Settings, output: Output) -> None:
    """Say that a database is about to be created where the settings name one: its name may be mistyped."""
    missing, origin = missing_database(settings), settings.origin("storage", "url")
    if missing is not None and origin != "default":
        output.note(f"database {missing} (named by {origin}) is new", "dim")


def with_records(
    settings: Settings, work: Callable[[RunRecords], Awaitable[T]], *, create: bool = False
) -> T:
    """Open the configured database, run `work` on it and return its result. Raises `StoreError`.

    create: whether it may be created; if not, as `existing_database`.
    """
    found = list[T]()

    async def open_and_work(settings: Settings) -> None:
        async with RunRecords.open(settings, create=create) as records:
            found.append(await work(records))

    # Not the result of the task: asyncio.run computes its `repr`, of all events of a run.
    with nullcontext(settings) if create else existing_database(settings) as chosen:
        asyncio.run(open_and_work(chosen))
    return found[0]


def with_earlier_runs(settings: Settings, work: Callable[[RunRecords | None], Coroutine[Any, Any, T]]) -> T:
    """Return the result of `work` on the configured database, or on None before the command that creates it.

    Raises as `with_records` does.
    """
    if missing_database(settings) is None:
        with suppress(NoTables):
            return with_records(settings, work)
    return asyncio.run(work(None))
