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
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError

from ..config.database_url import parse_database_url
from ..errors import ConfigError, PnyxError, StoreError
from .documents.conversion import convert
from .migrating import State, migrate, read_state
from .postgresql import PostgreSQL, Work, is_refusal
from .prepared import driver_of
from .schema import REVISION

__all__ = ["Database"]

logger = logging.getLogger(__name__)
T = TypeVar("T")
_Item = tuple[Work, Callable[[Any], None] | None, asyncio.Future[Any]]
GATHER_TURNS = 4
CONVERT_S = 2.0
"""Seconds for which the command that migrates a database converts its rows before it does its work."""
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

    @classmethod
    async def open(cls, url: str | Path) -> Database:
        """Open the database at a URL or an SQLite path; create or migrate it if necessary.

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
            with _StoreErrors(name):
                _prepare_file(where)
            backend = _SQLite(where)
        else:
            name = where.name
            with _StoreErrors(name, Exception):
                backend = PostgreSQL(where)
        database = cls(name, backend)
        try:
            with _StoreErrors(name, Exception):
                state = await backend.read(read_state)
            if state.revision != REVISION:
                with _StoreErrors(name):
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
        with _StoreErrors(self.name):
            result: T
            (result,) = await self._backend.write([work], repeatable=True)
            return result

    async def read(self, work: Callable[[Connection], T]) -> T:
        with _StoreErrors(self.name):
            result: T = await self._backend.read(work)
            return result

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
            with _StoreErrors(self.name):
                results = await self._backend.write([work for work, _, _ in group])
        except asyncio.CancelledError:
            _fail(group, StoreError(f"database {self.name}: a write was interrupted"))
            raise
        for (_, done, future), result in zip(group, results, strict=True):
            if done is not None:
                done(result)
            if not future.done():
                future.set_result(result)


class _WorkError(StoreError):
    """The database works, but refuses this work because of its data or statements."""


def _is_outage(exc: Exception) -> bool:
    """Whether the database itself fails, so that nothing else can be written either."""
    return isinstance(exc, StoreError) and not isinstance(exc, _WorkError)


def _fail(group: Sequence[_Item], exc: Exception) -> None:
    for _, _, future in group:
        if not future.done():
            future.set_exception(exc)
            # Marked as retrieved: the waiting task may be cancelled before it sees it.
            future.exception()


class _SQLite:
    def __init__(self, file: Path) -> None:
        read_only = _is_read_only(file)
        self._engine = create_engine(
            _read_only_url(file) if read_only else URL.create("sqlite", database=str(file)),
            connect_args={"timeout": BUSY_S, "check_same_thread": False},
        )
        if not read_only:
            event.listen(self._engine, "connect", _configure)
        self._writer = ThreadPoolExecutor(1, "pnyx-write")
        self._readers = ThreadPoolExecutor(4, "pnyx-read")
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

    async def close(self) -> None:
        def close() -> None:
            if self._connection is not None:
                self._connection.close()
            self._engine.dispose()

        await asyncio.get_running_loop().run_in_executor(self._writer, close)
        self._writer.shutdown()
        self._readers.shutdown()


class _StoreErrors:
    """Turns exceptions of the driver into a `StoreError` with the name of the database and a hint.

    more: further exceptions to turn. While a database is opened, libraries read the parts of its URL (host,
    certificate, numbers) and may raise anything.
    """

    def __init__(self, name: str, *more: type[Exception]) -> None:
        self.name = name
        self._raised = (*_DATABASE, *more)

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, exc: BaseException | None, __: object) -> None:
        if exc is None or isinstance(exc, PnyxError) or not isinstance(exc, self._raised):
            return
        cause = exc.orig if isinstance(exc, DBAPIError) else exc
        # A server that never answers raises a TimeoutError without a message.
        # SQLite quotes a text that is not UTF-8, which may be anything.
        reason = str(cause).partition("\n")[0].partition(" with text ")[0] or type(cause).__name__
        hint = next((hint for pattern, hint in _HINTS if pattern in reason.lower()), "")
        error = _WorkError if isinstance(exc, _DATA_ERRORS) or is_refusal(exc) else StoreError
        raise error(f"database {self.name}: {reason}{hint}") from exc


_DATABASE = (SQLAlchemyError, sqlite3.Error, OSError)
_DATA_ERRORS = (DataError, IntegrityError, sqlite3.DataError, sqlite3.IntegrityError)
_HINTS = (
    ("could not decode", "; it is damaged: restore a backup into a new database (pnyx restore)"),
    ("locked", "; another process is using it: wait for it, or stop it"),
    ("disk is full", "; free some space, then resume the run"),
    ("disk i/o", "; the disk failed: check it and its free space, then resume the run"),
    ("no space left", "; free some space, then resume the run"),
    ("readonly", "; make the file and its folder writable, or set another one with PNYX_DATABASE"),
    ("read-only", "; make the file and its folder writable, or set another one with PNYX_DATABASE"),
    (
        "permission denied for schema",
        "; allow its user to create tables (GRANT CREATE ON SCHEMA), or set another database",
    ),
    (
        "permission denied for",
        "; allow its user to read and write all of pnyx's tables (GRANT), or set another database",
    ),
    ("must be owner", "; this pnyx must change the tables: start it once as the user who created them"),
    ("permission denied", "; make the file and its folder writable, or set another one with PNYX_DATABASE"),
    ("disk image is malformed", "; it is damaged and was not changed: restore a backup, or move it away"),
    ("not a database", "; it was not changed: set another one with PNYX_DATABASE, or move it away"),
    ("unable to open", "; check that the folder exists and is writable"),
    ("no such file", "; check the files that its URL names"),
    ("connect", "; check that the server runs and that the address is right"),
    ("timeouterror", "; check that the server runs, that the address is right, and that it allows this host"),
)


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


def _configure(connection: Any, _: object) -> None:
    # The driver's own transactions start too late for BEGIN IMMEDIATE; `_read` and `_write` start them.
    connection.isolation_level = None
    cursor = connection.cursor()
    # For a new file: it can give the space of deleted runs back step by step, see `space`.
    cursor.execute("PRAGMA auto_vacuum=INCREMENTAL")
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
