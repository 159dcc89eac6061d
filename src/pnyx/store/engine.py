"""The database: one interface, two back ends, and group commit.

Work is a plain function of a SQLAlchemy `Connection`. Writes are queued, and all that wait are
committed together, so that calls that finish together share one fsync. On SQLite one thread owns
the writing connection (`store.sqlite`); on PostgreSQL the same functions run through
`AsyncConnection.run_sync`.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, SQLAlchemyError

from ..config.database_url import parse_database_url
from ..errors import ConfigError, PnyxError, StoreError
from .documents.conversion import convert
from .migrating import State, migrate, read_state
from .postgresql import PostgreSQL, Work, is_refusal
from .schema import REVISION
from .sqlite import SQLite, prepare_file

__all__ = ["Database"]

logger = logging.getLogger(__name__)
T = TypeVar("T")
GATHER_TURNS = 4
CONVERT_S = 2.0
"""Seconds for which the command that migrates a database converts its rows before it does its work."""


class _Backend(Protocol):
    async def write(self, works: Sequence[Work], *, repeatable: bool = False) -> list[Any]: ...

    async def read(self, work: Work) -> Any: ...

    async def close(self) -> None: ...


class _Item(NamedTuple):
    """A queued write; see `Database.submit`."""

    work: Work
    future: asyncio.Future[Any]
    done: Callable[[Any], None] | None = None
    failed: Callable[[Exception], None] | None = None


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
                prepare_file(where)
            backend = SQLite(where)
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

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction shared with all waiting writes. Return its result after the commit.

        Work that raises, or that the database refuses, is rolled back alone. Queued work is carried out even
        if the waiting task is cancelled.
        """
        return await self.submit(work)

    def submit(
        self,
        work: Callable[[Connection], T],
        done: Callable[[T], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
    ) -> asyncio.Future[T]:
        """Append a write to the queue and return the future of its result; to cancel it changes nothing else.

        done: called with the result right after the commit, in the order of the writes, before any waiting
        task resumes. failed: called in its place, with the reason, if nothing is written.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Item(work, future, done, failed))
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
                results = await self._backend.write([item.work for item in group])
        except asyncio.CancelledError:
            _fail(group, StoreError(f"database {self.name}: a write was interrupted"))
            raise
        for item, result in zip(group, results, strict=True):
            if item.done is not None:
                item.done(result)
            if not item.future.done():
                item.future.set_result(result)


class _WorkError(StoreError):
    """The database works, but refuses this work because of its data or statements."""


def _is_outage(exc: Exception) -> bool:
    """Whether the database itself fails, so that nothing else can be written either."""
    return isinstance(exc, StoreError) and not isinstance(exc, _WorkError)


def _fail(group: Sequence[_Item], exc: Exception) -> None:
    for item in group:
        if item.failed is not None:
            item.failed(exc)
        if not item.future.done():
            item.future.set_exception(exc)
            # Marked as retrieved: the waiting task may be cancelled before it sees it.
            item.future.exception()


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
