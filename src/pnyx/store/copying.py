"""Backup and restore. A backup is one file: an SQLite database with the same tables.

So a backup of PostgreSQL can be restored into SQLite, and the other way round.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Connection,
    Engine,
    NullPool,
    Row,
    Table,
    create_engine,
    event,
    func,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, IntegrityError

from ..errors import PnyxError, StoreError, UsageError
from .backup_values import check_values
from .checksum import add_checksum, is_intact
from .engine import Database
from .postgresql import allow_any_time
from .prepared import driver_of
from .records import word_index
from .schema import key_uses, keys, metadata, rates, runs, shares, writers
from .store_errors import lacks_space

__all__ = ["backup", "check_backup", "damage", "keys_in", "restore"]

TABLES = tuple(table for table in metadata.sorted_tables if table not in (key_uses, rates, writers))
"""The tables of a backup: all but the marks and turns of processes, which mean nothing in another one, and
the log of keys."""
BATCH_ROWS = 500
"""Rows in memory at a time."""
SECRETS = (keys, shares)
"""The tables by which others read runs: a restore puts them in force only on request."""


async def backup(database: Database, file: Path) -> Mapping[str, int]:
    """Write a snapshot of the database to the new file `file`. Return the number of rows of each table.

    Other processes may write meanwhile. Raises `UsageError` if the file exists or its path cannot be
    written, and `StoreError` if the database or the disk fails; no file is left then.
    """
    _check_new(file)
    try:
        with tempfile.TemporaryDirectory(prefix=".pnyx-", dir=file.parent) as folder:
            part = Path(folder) / file.name
            if await database.read(lambda connection: connection.dialect.name == "sqlite"):
                part.touch(0o600)
                rows = await database.read(lambda connection: _copy_pages(driver_of(connection), part, file))
            else:
                await (await Database.open(part)).close()
                with closing(_File(part)) as copy:
                    rows = await database.read(
                        lambda connection: _write_out(connection, copy.engine), snapshot=True
                    )
            await asyncio.to_thread(add_checksum, part)
            part.replace(file)
    except OSError as exc:
        raise _file_error(exc, f"{file} cannot be written") from exc
    return rows


def _check_new(file: Path) -> None:
    if os.path.lexists(file):
        raise UsageError(f"{file} already exists; name a new file for the backup")


def _file_error(exc: OSError, message: str) -> PnyxError:
    """Return a `UsageError` if another path would work, or a `StoreError` if the disk fails."""
    path_errors = (
        FileNotFoundError,
        NotADirectoryError,
        IsADirectoryError,
        PermissionError,
        shutil.SpecialFileError,
    )
    error = UsageError if isinstance(exc, path_errors) else StoreError
    return error(f"{message}: {exc.strerror or exc}")


async def restore(database: Database, file: Path, *, with_keys: bool = False) -> Mapping[str, int]:
    """Load the backup `file` into the empty `database`, in one transaction. Return the rows of each table.

    with_keys: put the server's API keys and the links to runs of the backup in force too.

    Runs that were running are paused there, since no process runs them. Raises `UsageError` if `database`
    is not empty or `file` cannot be read, and `StoreError` if `file` is not a backup, or one of a newer
    pnyx; nothing is changed then.
    """
    with tempfile.TemporaryDirectory(prefix="pnyx-") as folder:
        copied = Path(folder) / "backup.db"
        # Before it is copied: a sparse file of a terabyte would fill the disk.
        check_backup(file)
        try:
            # The backup of an older pnyx is migrated: in a copy, so that the file stays unchanged.
            _copy_file(file, copied)
        except OSError as exc:
            if exc.errno in (errno.ENOSPC, errno.EDQUOT):
                raise _no_room(file, folder) from exc
            raise _file_error(exc, f"{file} cannot be read") from exc
        try:
            if not await asyncio.to_thread(is_intact, copied):
                raise StoreError("the backup is damaged: its checksum is wrong; restore an earlier backup")
            await asyncio.to_thread(_check_values, copied)
            await (await Database.open(copied)).close()
        except StoreError as exc:
            if lacks_space(copied):
                raise _no_room(file, folder) from exc
            raise StoreError(str(exc).replace(str(copied), str(file))) from exc
        with closing(_File(copied)) as copy:
            return await database.write(
                lambda connection: _read_in(copy.engine, connection, database.name, with_keys)
            )


def _no_room(file: Path, folder: str) -> StoreError:
    return StoreError(
        f"{Path(folder).parent} has no room for a copy of {file}; free some space there, or set TMPDIR to "
        "another folder"
    )


def _copy_file(file: Path, copied: Path) -> None:
    """Copy a file. Raises `OSError`, before the first byte if there is no room: others need it too."""
    if file.stat().st_size > shutil.disk_usage(copied.parent).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    shutil.copyfile(file, copied)


def _check_regular(file: Path) -> None:
    """Raise `OSError` for a device or a pipe: /dev/zero never ends."""
    if file.exists() and not file.is_file() and not file.is_dir():
        raise shutil.SpecialFileError("it is no regular file")


def check_backup(file: Path) -> None:
    """Raise `UsageError` if the file cannot be read, and `StoreError` if it is not a backup of pnyx.

    A backup has the tables of pnyx, and nothing that runs code when it is read: plain tables and indexes.
    """
    try:
        _check_regular(file)
        file.open("rb").close()
        _check_complete(file)
    except OSError as exc:
        raise _file_error(exc, f"{file} cannot be read") from exc
    address = f"{file.resolve().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema=OFF")
            found = next(filter(None, (connection.execute(query).fetchone() for query in _FOREIGN)), None)
            created = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
            pages = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            (size,) = connection.execute(pages).fetchone()
    except sqlite3.Error as exc:
        raise StoreError(f"{file} is not a backup of pnyx: {exc}") from exc
    if found is not None:
        kind, name = found
        raise StoreError(f"{file} is not a backup of pnyx: it has the {kind} {str(name)[:80]!r}")
    for kind, name, sql in created:
        if _EXPRESSION.search(sql or ""):
            raise StoreError(
                f"{file} is not a backup of pnyx: it has an expression in the {kind} {str(name)[:80]!r}"
            )
    if file.stat().st_size != size:
        raise StoreError(
            f"{file} is not a backup of pnyx: it is longer than the database that it begins with"
        )
    if missing := sorted({"runs", "events"} - {name for _, name, _ in created}):
        raise StoreError(f"{file} is not a backup of pnyx: it has no table {missing[0]!r}")


def _check_complete(file: Path) -> None:
    """Raise `StoreError` for a database in use: SQLite keeps changes that it lacks in files beside it."""
    named = file.resolve()
    for log in (named.with_name(named.name + ending) for ending in ("-wal", "-journal")):
        if log.exists() and log.stat().st_size:
            raise StoreError(
                f"{file} is no backup but a database in use, or a copy of one: {log.name} beside it has "
                "changes that the file lacks; write a backup with pnyx backup"
            )


def _check_values(file: Path) -> None:
    """Raise `StoreError` if a value in a backup is not possible; its tables are plain ones."""
    try:
        with closing(sqlite3.connect(file)) as connection:
            check_values(connection)
    except sqlite3.Error as exc:
        raise StoreError(f"the backup is damaged: {exc}; restore an earlier backup") from exc


_FOREIGN = (
    "SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index') OR (sql LIKE 'CREATE VIRTUAL%'"
    " AND sql NOT LIKE 'CREATE VIRTUAL TABLE recall USING fts5(%') LIMIT 1",
    "SELECT 'generated column', m.name || '.' || c.name"
    " FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS c"
    " WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND c.hidden IN (2, 3) LIMIT 1",
    "SELECT 'index over an expression', m.name FROM sqlite_master AS m, pragma_index_xinfo(m.name) AS c"
    " WHERE m.type = 'index' AND c.cid = -2 LIMIT 1",
)
"""Queries for the kind and name of something in a file that no backup has."""
_EXPRESSION = re.compile(r"\bcheck\b|\bwhere\b|\bdefault\b(?! '\w*')", re.IGNORECASE)
"""What each write computes, such as the migration of an earlier version's backup: up to a gigabyte a row."""


def keys_in(file: Path) -> tuple[str, ...]:
    """The names of the server's API keys in a backup, for a message; empty if they cannot be read."""
    address = f"{file.resolve().as_uri()}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(address, uri=True)) as connection:
        return tuple(str(name) for (name,) in connection.execute("SELECT name FROM keys ORDER BY name"))
    return ()


def damage(connection: Connection) -> str:
    """The first fault in the pages of an SQLite file; empty without one, and for other databases."""
    if connection.dialect.name != "sqlite":
        return ""
    found = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar())
    return "" if found == "ok" else first_fault(found)


def first_fault(found: str) -> str:
    """The first fault that a check of SQLite's has found, without the name of the database above it."""
    faults = [line for line in found.splitlines() if not line.startswith("***")]
    return faults[0] if faults else found


class _File:
    """The engine of a backup, usable in any thread; its connections are not pooled."""

    def __init__(self, path: Path) -> None:
        self.engine = create_engine(
            URL.create("sqlite", database=str(path)),
            poolclass=NullPool,
            connect_args={"check_same_thread": False},
        )
        # Everything in one file: a write-ahead log beside it would be left behind.
        event.listen(
            self.engine, "connect", lambda driver, _: driver.execute("PRAGMA journal_mode=DELETE").close()
        )

    def close(self) -> None:
        self.engine.dispose()


def _copy_pages(source: sqlite3.Connection, part: Path, file: Path) -> Mapping[str, int]:
    """Copy an SQLite database page by page, from one snapshot, by SQLite's online backup.

    file: the name of the copy for messages. Raises `StoreError` if it cannot be written.
    """
    with closing(sqlite3.connect(part, isolation_level=None)) as copy:
        try:
            source.backup(copy)
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorname in ("SQLITE_FULL", "SQLITE_IOERR_WRITE"):
                raise StoreError(f"{file} cannot be written: {exc}; free some space there") from exc
            raise
        # Everything in one file: a write-ahead log beside it would be left behind.
        copy.execute("PRAGMA journal_mode=DELETE").fetchall()
        # Rows that are read would show it; pages do not.
        found = str(copy.execute("PRAGMA quick_check(1)").fetchone()[0])
        if found != "ok":
            raise StoreError(f"the database is damaged: {first_fault(found)}; see pnyx doctor")
        for table in (rates, writers):
            copy.execute(f"DELETE FROM {table.name}")
        counts = ((table.name, f"SELECT count(*) FROM {table.name}") for table in TABLES)
        return {name: int(copy.execute(query).fetchone()[0]) for name, query in counts}


def _write_out(connection: Connection, copy: Engine) -> Mapping[str, int]:
    allow_any_time(connection)
    with copy.begin() as target:
        return _copy(connection, target, TABLES)


def _read_in(copy: Engine, connection: Connection, name: str, with_keys: bool) -> Mapping[str, int]:
    allow_any_time(connection)
    for table in TABLES:
        if connection.execute(select(func.count()).select_from(table)).scalar():
            raise UsageError(f"database {name} is not empty: restore into a new one, set with PNYX_DATABASE")
    with copy.connect() as source:
        _check_columns(source)
        try:
            _check_references(source)
        except DBAPIError as exc:
            raise StoreError(f"the backup is damaged: {exc.orig}; restore an earlier backup") from exc
        rows = _copy(
            source, connection, TABLES if with_keys else tuple(t for t in TABLES if t not in SECRETS)
        )
    running = runs.c.status == "running"
    connection.execute(update(runs).where(running).values(status="paused", worker=None))
    return rows


def _check_columns(source: Connection) -> None:
    """Raise `StoreError` if a table or a column is missing in a backup."""
    there = inspect(source)
    tables = set(there.get_table_names())
    for table in TABLES:
        if table.name not in tables:
            raise StoreError(f"the backup is damaged: it has no table {table.name!r}")
        columns = {column["name"] for column in there.get_columns(table.name)}
        if missing := sorted({column.name for column in table.columns} - columns):
            raise StoreError(f"the backup is damaged: its table {table.name!r} has no column {missing[0]!r}")


def _check_references(source: Connection) -> None:
    """Raise `StoreError` if a row of a backup belongs to one that is not there."""
    found = source.exec_driver_sql("PRAGMA foreign_key_check").first()
    if found is not None:
        table, _, parent, _ = found
        raise StoreError(
            f"the backup is damaged in its table {table!r}: a row there belongs to one that {parent!r} "
            "lacks; restore an earlier backup"
        )


def _batches(source: Connection, table: Table) -> Iterator[Sequence[Row[Any]]]:
    """Yield the rows of a table. Raises `StoreError` if the file of a backup is damaged there."""
    ordered = select(table).order_by(*table.primary_key.columns)
    try:
        yield from source.execution_options(stream_results=True).execute(ordered).partitions(BATCH_ROWS)
    except (DBAPIError, sqlite3.Error) as exc:
        if source.dialect.name != "sqlite":  # a server, which may be away for a while
            raise
        # SQLite quotes a text that is not UTF-8.
        why = str(exc.orig if isinstance(exc, DBAPIError) else exc).partition(" with text ")[0]
        raise _damaged(table, why) from exc


def _damaged(table: Table, why: str) -> StoreError:
    return StoreError(f"the backup is damaged in its table {table.name!r}: {why}; restore an earlier backup")


def _copy(source: Connection, target: Connection, tables: Sequence[Table]) -> Mapping[str, int]:
    counts = dict.fromkeys((table.name for table in TABLES), 0)
    for table in tables:
        for batch in _batches(source, table):
            try:
                target.execute(insert(table), [dict(row._mapping) for row in batch])
            except IntegrityError as exc:
                raise _damaged(table, str(exc.orig).partition("\n")[0]) from exc
            counts[table.name] += len(batch)
    if target.dialect.name == "postgresql":
        # New contents are numbered after those that came with their numbers.
        target.exec_driver_sql(
            "SELECT setval(pg_get_serial_sequence('contents', 'id'), max(id))"
            " FROM contents HAVING count(*) > 0"
        )
    word_index.add_missing(target)
    return counts
