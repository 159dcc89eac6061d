"""All that is stored as one file, and back again; the file is an SQLite database of its own.

So a backup of PostgreSQL can be restored into SQLite, and the other way round.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, Engine, NullPool, create_engine, event, func, insert, select, update
from sqlalchemy.engine import URL

from ..errors import PnyxError, StoreError, UsageError
from . import search
from .engine import Database
from .schema import metadata, runs, writers

__all__ = ["backup", "restore"]

KEPT = tuple(table for table in metadata.sorted_tables if table is not writers)
"""All but the marks of processes, which mean nothing in another database."""
AT_ONCE = 500
"""Rows in memory at a time."""


async def backup(database: Database, file: Path) -> Mapping[str, int]:
    """Write what is stored now to the new file `file`; the rows of each table. Others may write meanwhile.

    Raises `UsageError` where there is such a file already, or none can be; `StoreError`. Then there is no new
    file.
    """
    _check_new(file)
    try:
        with tempfile.TemporaryDirectory(prefix=".pnyx-", dir=file.parent) as folder:
            part = Path(folder) / file.name
            await (await Database.open(part)).close()
            with closing(_File(part)) as copy:
                rows = await database.read(lambda connection: _write_out(connection, copy.engine))
            part.replace(file)
    except OSError as exc:
        raise _refused(exc, f"{file} cannot be written") from exc
    return rows


def _check_new(file: Path) -> None:
    if os.path.lexists(file):
        raise UsageError(f"{file} is there already; a backup is a new file")


def _refused(exc: OSError, what: str) -> PnyxError:
    """Whose fault it is: another path does, or the disk fails."""
    wrong = (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError)
    named = isinstance(exc, (*wrong, shutil.SpecialFileError))
    return (UsageError if named else StoreError)(f"{what}: {exc.strerror or exc}")


async def restore(database: Database, file: Path) -> Mapping[str, int]:
    """Put what is in the backup `file` into `database`, in one piece; the rows of each table.

    A run that was under way is paused there, for nobody is running it. Raises `UsageError` where `database`
    is not empty or `file` cannot be read, `StoreError` where that is no backup of this pnyx or an older one;
    nothing is changed then.
    """
    with tempfile.TemporaryDirectory(prefix="pnyx-") as folder:
        mine = Path(folder) / "backup.db"
        try:
            # One of an older pnyx is migrated, and whoever keeps it wants it as it was.
            shutil.copyfile(file, mine)
        except OSError as exc:
            raise _refused(exc, f"{file} cannot be read") from exc
        try:
            await (await Database.open(mine)).close()
        except StoreError as exc:
            raise StoreError(str(exc).replace(str(mine), str(file))) from exc
        with closing(_File(mine)) as copy:
            return await database.write(lambda connection: _read_in(copy.engine, connection, database.name))


class _File:
    """A backup as an engine, in a thread or outside of one; its connections are not kept."""

    def __init__(self, path: Path) -> None:
        self.engine = create_engine(
            URL.create("sqlite", database=str(path)),
            poolclass=NullPool,
            connect_args={"check_same_thread": False},
        )
        # One file, whatever is read or written: what is in a log beside it would be left behind.
        event.listen(
            self.engine, "connect", lambda made, _: made.execute("PRAGMA journal_mode=DELETE").close()
        )

    def close(self) -> None:
        self.engine.dispose()


def _write_out(connection: Connection, copy: Engine) -> Mapping[str, int]:
    if connection.dialect.name == "postgresql":
        # All of it must be of one moment, as what is read of SQLite is.
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    with copy.begin() as target:
        return _copy(connection, target)


def _read_in(copy: Engine, connection: Connection, name: str) -> Mapping[str, int]:
    for table in KEPT:
        if connection.execute(select(func.count()).select_from(table)).scalar():
            raise UsageError(
                f"database {name} is not empty: restore into a new one, named with PNYX_DATABASE"
            )
    with copy.connect() as source:
        rows = _copy(source, connection)
    underway = runs.c.status == "running"
    connection.execute(update(runs).where(underway).values(status="paused", worker=None))
    return rows


def _copy(source: Connection, target: Connection) -> Mapping[str, int]:
    counts = dict.fromkeys((table.name for table in KEPT), 0)
    for table in KEPT:
        ordered = select(table).order_by(*table.primary_key.columns)
        for page in source.execution_options(stream_results=True).execute(ordered).partitions(AT_ONCE):
            target.execute(insert(table), [dict(row._mapping) for row in page])
            counts[table.name] += len(page)
    search.add_all(target)
    return counts
