"""The database: one interface, two back ends, and group commit.

Work is a plain function of a SQLAlchemy `Connection`. Writes are queued, and all that wait are
committed together, so that calls that finish together share one fsync. On SQLite one thread owns
the writing connection; on PostgreSQL the same functions run through `AsyncConnection.run_sync`.
Why SQLite is not used through an async driver: design/store.md.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from sqlalchemy import Connection, StaticPool, create_engine, delete, event, insert
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from ..config.database_url import parse_database_url
from ..errors import ConfigError, StoreError
from .documents.conversion import convert
from .migrating import State, migrate, read_state
from .postgresql import PostgreSQL, Work
from .prepared import driver_of
from .schema import REVISION, rates
from .store_errors import FREE_SPACE, StoreErrors, WorkError, lacks_space

__all__ = ["Database"]

logger = logging.getLogger(__name__)
T = TypeVar("T")
_Item = tuple[Work, Callable[[Any], None] | None, asyncio.Future[Any]]
GATHER_TURNS = 4
CONVERT_S = 2.0
"""Seconds for which the command that migrates a database converts its rows before it does its work."""
NO_ROOM = ("SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR_WRITE", "SQLITE_FULL")
"""Names of the errors of SQLite on a disk without room for its files."""
PROBE = "probe"
"""The name of a row that is written and deleted, to see whether writing works again."""
INCREMENTAL = 2
"""`auto_vacuum` of files that give pages back one by one, see `space`."""
BUSY_S = 30.0
"""Seconds that a write waits for another process's transaction."""


class _Backend(Protocol):
    async def write(self, works: Sequence[Work], *, repeatable: bool = False) -> list[Any]: ...

    async def read(self, work: Work) -> Any: ...

    async def close(self) -> None: ...


class Database:
    """An open database. `write` and `read` run a function of a `Connection` and return its result."""

    def __init__(self, name: str, backend: _Backend) -> None:
        self.name = name
        self._backend = backend
        self._waiting: deque[_Item] = deque()
        self._writer: asyncio.Task[None] | None = None
        self._conversion: asyncio.Task[None] | None = None
        self._fails = False
        """Whether the last commit failed."""

    @classmethod
    async def open(cls, url: str | Path, *, short: bool = False) -> Database:
        """Open the database at a URL or an SQLite path; create or migrate it if necessary.

        short: whether it is closed again within seconds, so that other processes may wait for that. Then it
        can be read on a full disk too: the index that SQLite keeps beside its log is in memory.
        Raises `StoreError`, with the name of the database, if it is damaged, newer than this pnyx, not a
        pnyx database, or cannot be reached. Nothing is overwritten. Raises `ConfigError` for a bad URL.
        """
        try:
            where = parse_database_url(str(url))
        except ValueError as exc:
            raise ConfigError(f"the URL of the database {exc}") from exc
        backend: _Backend
        if isinstance(where, Path):
            name = str(where)
            with StoreErrors(name):
                _prepare_file(where)
            backend = _SQLite(where)
            if short and await backend.lacks_index():
                await backend.close()
                backend = _SQLite(where, alone=True)
        else:
            name = where.name
            with StoreErrors(name, Exception):
                backend = PostgreSQL(where)
        database = cls(name, backend)
        try:
            with StoreErrors(name, Exception):
                state = await backend.read(read_state)
            if state.revision != REVISION:
                with StoreErrors(name):
                    await backend.write([lambda connection: migrate(connection, name)], repeatable=True)
                state = await backend.read(read_state)
                if state.is_converting and await convert(database, CONVERT_S):
                    state = State(REVISION, False)
            if state.is_converting:
                database._conversion = asyncio.create_task(database._convert())
        except BaseException:
            await database.close()
            raise
        return database

    async def write(self, work: Callable[[Connection], T], done: Callable[[T], None] | None = None) -> T:
        """Run `work` in a transaction shared with all waiting writes. Return its result after the commit.

        `done` is called with the result right after the commit, in the order of the writes, before
        any waiting task resumes. Work that raises, or that the database refuses, is rolled back alone.
        Queued work is carried out even if the waiting task is cancelled.
        """
        return await self.submit(work, done)

    def submit(
        self, work: Callable[[Connection], T], done: Callable[[T], None] | None = None
    ) -> asyncio.Future[T]:
        """Append a write to the queue and return the future of its result."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, done, future))
        if self._writer is None:
            self._writer = asyncio.create_task(self._drain())
        return future

    @property
    def is_server(self) -> bool:
        """Whether it is PostgreSQL, which processes on other machines may use too."""
        return isinstance(self._backend, PostgreSQL)

    async def apart(self, work: Callable[[Connection], T]) -> T:
        """Run `work` at once in a transaction of its own: for locks that others must not wait for.

        If the connection is lost during the commit, the work may be applied twice.
        """
        with StoreErrors(self.name):
            result: T
            (result,) = await self._backend.write([work], repeatable=True)
            return result

    async def read(self, work: Callable[[Connection], T]) -> T:
        with StoreErrors(self.name):
            result: T = await self._backend.read(work)
            return result

    async def check(self) -> None:
        """Raise `StoreError` if the database does not answer, or cannot be written."""
        await self.read(lambda connection: None)
        if isinstance(self._backend, _SQLite) and lacks_space(Path(self.name)):
            raise StoreError(f"database {self.name}: its disk is full{FREE_SPACE}", disk_full=True)
        if self._fails:
            await self.write(_write_and_undo)

    async def _convert(self) -> None:
        """Convert rows of an earlier version while this process does its work."""
        try:
            await convert(self)
        except StoreError as exc:
            # They can be read as they are; the next process goes on.
            logger.info("rows of an earlier version are not converted yet: %s", exc)

    async def close(self) -> None:
        if self._conversion is not None:
            self._conversion.cancel()
            await asyncio.wait([self._conversion])
        while self._writer is not None:
            await asyncio.wait([self._writer])
        await self._backend.close()

    async def _drain(self) -> None:
        try:
            # What follows from a queued write (the next request of a protocol that got a reply) is queued
            # within a few turns of the loop, and then shares its commit.
            for _ in range(GATHER_TURNS):
                await asyncio.sleep(0)
            while self._waiting:
                group = list(self._waiting)
                self._waiting.clear()
                try:
                    await self._commit(group)
                except Exception as exc:
                    if len(group) == 1 or _is_outage(exc):
                        _fail(group, exc)
                    else:
                        await self._one_by_one(group)
        finally:
            # A loop that is being closed cancels this task while runs still write their last events.
            self._writer = asyncio.create_task(self._drain()) if self._waiting else None

    async def _one_by_one(self, group: Sequence[_Item]) -> None:
        """Commit each write of a refused group by itself, so that only the refused one fails."""
        for n, item in enumerate(group):
            try:
                await self._commit([item])
            except asyncio.CancelledError:
                self._waiting.extendleft(reversed(group[n + 1 :]))
                raise
            except Exception as exc:
                if _is_outage(exc):
                    _fail(group[n:], exc)
                    return
                _fail([item], exc)

    async def _commit(self, group: Sequence[_Item]) -> None:
        try:
            with StoreErrors(self.name):
                results = await self._backend.write([work for work, _, _ in group])
        except asyncio.CancelledError:
            _fail(group, StoreError(f"database {self.name}: a write was interrupted"))
            raise
        except StoreError as exc:
            self._fails = _is_outage(exc)
            raise
        self._fails = False
        for (_, done, future), result in zip(group, results, strict=True):
            if done is not None:
                done(result)
            if not future.done():
                future.set_result(result)


def _is_outage(exc: Exception) -> bool:
    """Whether the database itself fails, so that nothing else can be written either."""
    return isinstance(exc, StoreError) and not isinstance(exc, WorkError)


def _fail(group: Sequence[_Item], exc: Exception) -> None:
    for _, _, future in group:
        if not future.done():
            future.set_exception(exc)
            # Marked as retrieved: the waiting task may be cancelled before it sees it.
            future.exception()


def _write_and_undo(connection: Connection) -> None:
    """Write to the disk, which a change without an effect may not."""
    connection.execute(insert(rates).values(name=PROBE, next_at=0.0))
    connection.execute(delete(rates).where(rates.c.name == PROBE))


class _SQLite:
    """alone: use the file in one connection, which others wait for, and without an index beside its log."""

    def __init__(self, file: Path, *, alone: bool = False) -> None:
        read_only = _is_read_only(file)
        self._engine = create_engine(
            _read_only_url(file) if read_only else URL.create("sqlite", database=str(file)),
            poolclass=StaticPool if alone else None,
            connect_args={"timeout": BUSY_S, "check_same_thread": False},
        )
        if not read_only:
            event.listen(self._engine, "connect", partial(_configure, alone=alone))
        self._writer = ThreadPoolExecutor(1, "pnyx-write")
        self._readers = self._writer if alone else ThreadPoolExecutor(4, "pnyx-read")
        self._connection: Connection | None = None

    async def write(self, works: Sequence[Work], *, repeatable: bool = False) -> list[Any]:
        written = asyncio.get_running_loop().run_in_executor(self._writer, self._write, works)
        try:
            return await asyncio.shield(written)
        except asyncio.CancelledError:
            # The thread commits anyway, and other tasks may wait for the result.
            await asyncio.wait([written])
            return written.result()

    def _write(self, works: Sequence[Work]) -> list[Any]:
        if self._connection is None:
            self._connection = self._engine.connect()
        with self._connection.begin():
            driver_of(self._connection).execute("BEGIN IMMEDIATE")
            return [work(self._connection) for work in works]

    async def read(self, work: Work) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    def _read(self, work: Work) -> Any:
        with self._engine.connect() as connection, connection.begin():
            # One snapshot, which blocks no writer.
            driver_of(connection).execute("BEGIN")
            return work(connection)

    async def lacks_index(self) -> bool:
        """Whether the index that SQLite keeps beside its log, even to read, has no room on the disk."""
        try:
            await self.read(lambda connection: connection.exec_driver_sql("SELECT 1 FROM sqlite_master"))
        except OperationalError as exc:
            return getattr(exc.orig, "sqlite_errorname", "") in NO_ROOM
        except (SQLAlchemyError, sqlite3.Error, OSError):
            pass  # the next read says what is wrong
        return False

    async def close(self) -> None:
        def close() -> None:
            if self._connection is not None:
                self._connection.close()
            self._engine.dispose()

        await asyncio.get_running_loop().run_in_executor(self._writer, close)
        self._writer.shutdown()
        self._readers.shutdown()


def _prepare_file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        # Questions are private: only the owner can read the file.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def _is_read_only(path: Path) -> bool:
    """Whether the file, or its folder, in which SQLite keeps files of its own, cannot be written."""
    return not all(os.access(place, os.W_OK) for place in (path, path.parent))


def _read_only_url(path: Path) -> URL:
    """Of a database that is only read. Writing raises an error that says what is read only."""
    # Nobody has it open if it has no log of writes; SQLite would create one, even to read.
    unchanging = {} if path.with_name(f"{path.name}-wal").exists() else {"immutable": "1"}
    return URL.create(
        "sqlite", database=f"file:{quote(str(path))}", query={"uri": "true", "mode": "ro", **unchanging}
    )


def _configure(connection: Any, _: object, *, alone: bool) -> None:
    # The driver's own transactions start too late for BEGIN IMMEDIATE; `_read` and `_write` start them.
    connection.isolation_level = None
    cursor = connection.cursor()
    if alone:
        cursor.execute("PRAGMA locking_mode=EXCLUSIVE")
    # For a new file: it can give the space of deleted runs back step by step, see `space`.
    if cursor.execute("PRAGMA auto_vacuum").fetchone()[0] != INCREMENTAL:
        cursor.execute(f"PRAGMA auto_vacuum={INCREMENTAL}")  # which writes to the file
    # While another process makes the same change, SQLite raises "locked" at once, whatever the timeout.
    for tries in range(100):
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError as exc:
            if tries == 99 or "locked" not in str(exc):
                raise
            time.sleep(0.02)
    for pragma in ("synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
