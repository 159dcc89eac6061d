"""The database: one interface, two back ends, and group commit.

Work is a plain function of a SQLAlchemy `Connection`. Writes are queued, and all that wait are
committed together, so that calls that finish together share one fsync. On SQLite one thread owns
the writing connection (`store.sqlite`); on PostgreSQL the same functions run in greenlets
(`store.postgresql`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from sqlalchemy import Connection, delete, insert

from ..config.database_url import parse_database_url
from ..errors import ConfigError, NoTables, StoreError
from ..times import now
from .clock import read_clock
from .documents.conversion import convert
from .migrating import State, migrate, read_state
from .postgresql import PostgreSQL, Work
from .schema import REVISION, contents
from .sqlite import SQLite, prepare_file
from .store_errors import FREE_SPACE, StoreErrors, WorkError, lacks_space

__all__ = ["Database"]

logger = logging.getLogger(__name__)
T = TypeVar("T")
GATHER_TURNS = 4
CONVERT_S = 2.0
"""Seconds for which the command that migrates a database converts its rows before it does its work."""
SAME_S = 2.0
"""Seconds by which two clocks may differ and count as the same: an answer of the database takes time, too."""
PROBE_BYTES = 1 << 18
"""What is written and deleted to see whether writing works again: as much as the replies of some calls."""


class _Backend(Protocol):
    async def write(self, works: Sequence[Work], *, repeatable: bool = False) -> list[Any]: ...

    async def read(self, work: Work, *, snapshot: bool = False) -> Any: ...

    async def check(self) -> None: ...

    async def close(self) -> None: ...


Finish: TypeAlias = Callable[[Connection, Sequence[Any]], Sequence[Any]]
"""What writes that follow each other in a transaction do together at their end.

It is called with what each of them returned, and returns their results."""


class _Item(NamedTuple):
    """A queued write; see `Database.submit`."""

    work: Work
    future: asyncio.Future[Any]
    done: Callable[[Any], None] | None = None
    failed: Callable[[Exception], None] | None = None
    finish: Finish | None = None


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
        self._ahead_s = 0.0
        """Seconds that the clock of the database is ahead of this machine's."""
        self._lacked_space = False
        """Whether the disk was full, since when nothing as large as `PROBE_BYTES` was written."""

    @classmethod
    async def open(cls, url: str | Path, *, short: bool = False, create: bool = True) -> Database:
        """Open the database at a URL or an SQLite path; create or migrate it if necessary.

        short: whether it is closed again within seconds, so that other processes may wait for that. Then it
        can be read on a full disk too: the index that SQLite keeps beside its log is in memory.
        Raises `StoreError`, with the name of the database, if it is damaged, newer than this pnyx, not a
        pnyx database, or cannot be reached. Nothing is overwritten. Raises `ConfigError` for a bad URL, and
        `NoTables` if `create` is off and the database of a server is empty.
        """
        try:
            where = parse_database_url(str(url))
        except ValueError as exc:
            raise ConfigError(f"the URL of the database {exc}") from exc
        backend: _Backend
        if isinstance(where, Path):
            name = str(where)
            with StoreErrors(name):
                prepare_file(where)
            backend = SQLite(where)
            if short and await backend.lacks_index():
                await backend.close()
                backend = SQLite(where, alone=True)
        else:
            name = where.name
            with StoreErrors(name, Exception):
                backend = PostgreSQL(where)
        database = cls(name, backend)
        try:
            with StoreErrors(name, Exception):
                state = await backend.read(read_state)
            if state.is_empty and database.is_server and not create:
                raise NoTables(
                    f"database {name} has no tables yet. Check the name; `pnyx ask`, `pnyx serve` and "
                    "`pnyx worker` create them"
                )
            if state.revision != REVISION:
                earlier = ", written by an earlier pnyx, cannot be migrated" if state.revision else ""
                with StoreErrors(f"{name}{earlier}"):
                    await backend.write([lambda connection: migrate(connection, name)], repeatable=True)
                state = await backend.read(read_state)
                if state.is_converting and await convert(database, CONVERT_S):
                    state = State(REVISION, False, False)
            await database.compare_clocks()
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
        result: T = await self.submit(work)
        return result

    def submit(
        self,
        work: Work,
        done: Callable[[Any], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
        finish: Finish | None = None,
    ) -> asyncio.Future[Any]:
        """Append a write to the queue and return the future of its result; to cancel it changes nothing else.

        finish: see `Finish`; writes with the same one share it.
        done: called with the result right after the commit, in the order of the writes, before any waiting
        task resumes. failed: called in its place, with the reason, if nothing is written.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Item(work, future, done, failed, finish))
        if self._writer is None:
            self._writer = asyncio.create_task(self._drain())
        return future

    @property
    def is_server(self) -> bool:
        """Whether it is PostgreSQL, which processes on other machines may use too."""
        return isinstance(self._backend, PostgreSQL)

    def now(self) -> str:
        """Return the time by the clock of the database in UTC, as `times.now`.

        Machines with wrong clocks agree on it, and so on the day whose budget pays for a call.
        """
        return now(self._ahead_s)

    async def compare_clocks(self) -> None:
        """Find out how far the clock of a server is from this machine's. Raises `StoreError`."""
        if self.is_server:
            ahead = await self.read(read_clock) - time.time()
            self._ahead_s = ahead if abs(ahead) > SAME_S else 0.0

    async def apart(self, work: Callable[[Connection], T]) -> T:
        """Run `work` at once in a transaction of its own: for locks that others must not wait for.

        If the connection is lost during the commit, the work may be applied twice.
        """
        with StoreErrors(self.name):
            result: T
            (result,) = await self._backend.write([work], repeatable=True)
            return result

    async def read(self, work: Callable[[Connection], T], *, snapshot: bool = False) -> T:
        """Run `work`, which only reads, and return its result.

        snapshot: whether all its statements see the same rows, as they always do on SQLite.
        """
        with StoreErrors(self.name):
            result: T = await self._backend.read(work, snapshot=snapshot)
            return result

    async def check(self, *, writes: bool = False) -> None:
        """Raise `StoreError` if the database does not answer, or writes failed and still do.

        writes: try to write in every case, and undo it.
        """
        with StoreErrors(self.name):
            await self._backend.check()
        if isinstance(self._backend, SQLite) and lacks_space(Path(self.name)):
            raise StoreError(f"database {self.name}: its disk is full{FREE_SPACE}", disk_full=True)
        if writes or self._fails:
            await self._probe()

    async def check_space(self) -> None:
        """Raise `StoreError` if the disk was full and still is.

        A full disk may take the intent of a call, and not its reply.
        """
        if self._lacked_space:
            await self._probe()

    async def _probe(self) -> None:
        await self.write(_write_and_undo)
        self._lacked_space = False

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
                results = list(chain.from_iterable(await self._backend.write(_works(group))))
        except asyncio.CancelledError:
            _fail(group, StoreError(f"database {self.name}: a write was interrupted"))
            raise
        except StoreError as exc:
            self._fails = _is_outage(exc)
            self._lacked_space |= exc.disk_full
            raise
        self._fails = False
        for item, result in zip(group, results, strict=True):
            if item.done is not None:
                item.done(result)
            if not item.future.done():
                item.future.set_result(result)


def _works(group: Sequence[_Item]) -> list[Work]:
    """Return the works of the group, each of which returns a list of results."""
    works: list[Work] = []
    for finish, items in groupby(group, attrgetter("finish")):
        of_items = [item.work for item in items]
        if finish is None:
            works += [partial(_run, works=[work]) for work in of_items]
        else:
            works.append(partial(_run, works=of_items, finish=finish))
    return works


def _run(connection: Connection, works: Sequence[Work], finish: Finish | None = None) -> Sequence[Any]:
    returned = [work(connection) for work in works]
    return returned if finish is None else finish(connection, returned)


def _is_outage(exc: Exception) -> bool:
    """Whether the database itself fails, so that nothing else can be written either."""
    return isinstance(exc, StoreError) and not isinstance(exc, WorkError)


def _fail(group: Sequence[_Item], exc: Exception) -> None:
    for item in group:
        if item.failed is not None:
            item.failed(exc)
        if not item.future.done():
            item.future.set_exception(exc)
            # Marked as retrieved: the waiting task may be cancelled before it sees it.
            item.future.exception()


def _write_and_undo(connection: Connection) -> None:
    """Write to the disk, which a change without an effect may not."""
    name = os.urandom(32)
    connection.execute(insert(contents).values(sha256=name, content=os.urandom(PROBE_BYTES)))
    connection.execute(delete(contents).where(contents.c.sha256 == name))
