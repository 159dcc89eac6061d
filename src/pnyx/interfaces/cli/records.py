"""Database access for commands that need stored runs. None of them creates a database."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from ...config.database_url import parse_database_url
from ...config.load import database_url
from ...config.schema import Settings, StorageSettings
from ...errors import ConfigError
from ..run_records import RunRecords
from .terminal.output import Output

__all__ = [
    "existing_database",
    "missing_database",
    "note_new_database",
    "require_database",
    "with_earlier_runs",
    "with_records",
]

T = TypeVar("T")

SQLITE = b"SQLite format 3\0"
"""The first bytes of a database."""


def missing_database(settings: Settings) -> Path | None:
    """Return the file of the database if there is none yet. Of a server, `RunRecords.open` says so."""
    try:
        where = parse_database_url(database_url(settings))
    except ValueError:
        return None  # opening it says what is wrong
    return where if isinstance(where, Path) and _is_unwritten(where) else None


def _is_unwritten(file: Path) -> bool:
    """Whether there is no such file, or one without a byte, which reading must not make a database."""
    if not file.exists():
        return True
    return file.is_file() and not file.stat().st_size and not file.with_name(f"{file.name}-wal").exists()


def require_database(settings: Settings) -> None:
    """Raise `ConfigError` if the settings name a file that does not exist: its name may be mistyped.

    The usual file may be missing: before the first question, there is none.
    """
    missing, origin = missing_database(settings), settings.origin("storage", "url")
    if missing is not None and origin != "default":
        near = sorted(one.name for one in missing.parent.glob(f"*{missing.suffix}") if _is_sqlite(one))
        there = f"; there are: {', '.join(near[:5])}" if near else ""
        raise ConfigError(
            f"there is no database {missing} (named by {origin}){there}. Check the name; "
            "`pnyx ask` creates the database"
        )


def _is_sqlite(file: Path) -> bool:
    try:
        if not file.is_file():  # reading a pipe would wait
            return False
        with file.open("rb") as opened:
            return opened.read(len(SQLITE)) == SQLITE
    except OSError:  # a file of somebody else
        return False


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
        async with RunRecords.open(settings) as records:
            found.append(await work(records))

    # Not the result of the task: asyncio.run computes its `repr`, of all events of a run.
    with nullcontext(settings) if create else existing_database(settings) as chosen:
        asyncio.run(open_and_work(chosen))
    return found[0]


def with_earlier_runs(settings: Settings, work: Callable[[RunRecords | None], Coroutine[Any, Any, T]]) -> T:
    """Return the result of `work` on the configured database, or on None before the command that creates it.

    Raises as `with_records` does.
    """
    if missing_database(settings) is not None:
        return asyncio.run(work(None))
    return with_records(settings, work)


@contextmanager
def existing_database(settings: Settings) -> Iterator[Settings]:
    """Yield the settings, with an empty database in place of the usual one if there is none yet.

    Raises `ConfigError` if another one that the settings name is missing.
    """
    require_database(settings)
    if missing_database(settings) is None:
        yield settings
        return
    with tempfile.TemporaryDirectory(prefix="pnyx-") as folder:
        empty = StorageSettings(url=str(Path(folder) / "empty.db"))
        yield settings.model_copy(update={"storage": empty})
