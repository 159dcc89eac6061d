"""The SQLite back end: one thread that writes, and a few that read.

Why it uses no async driver: design/store.md.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, StaticPool, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from .clock import add_clock
from .postgresql import Work
from .prepared import driver_of

__all__ = ["BUSY_S", "INCREMENTAL", "SQLite", "prepare_file"]

BUSY_S = 30.0
"""Seconds that a write waits for another process's transaction."""
NO_ROOM = ("SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR_WRITE", "SQLITE_FULL")
"""Names of the errors of SQLite on a disk without room for its files."""
INCREMENTAL = 2
"""`auto_vacuum` of files that give pages back one by one, see `space`."""


class SQLite:
    """The back end for an SQLite file that exists.

    alone: use the file in one connection, which others wait for, and without an index beside its log."""

    def __init__(self, file: Path, *, alone: bool = False) -> None:
        read_only = _is_read_only(file)
        url = _read_only_url(file) if read_only else URL.create("sqlite", database=str(file))
        self._engine = create_engine(
            url,
            poolclass=StaticPool if alone else None,
            connect_args={"timeout": BUSY_S, "check_same_thread": False},
        )
        event.listen(self._engine, "connect", add_clock)
        if not read_only:
            event.listen(self._engine, "connect", partial(_configure, alone=alone))
        elif "vfs" in url.query:
            event.listen(self._engine, "connect", _keep_index)
        self._writer = ThreadPoolExecutor(1, "pnyx-write")
        self._readers = self._writer if alone else ThreadPoolExecutor(4, "pnyx-read")
        # Long reads take all readers for seconds, in which the database works.
        self._checker = self._writer if alone else ThreadPoolExecutor(1, "pnyx-check")
        self._connection: Connection | None = None

    async def write(self, works: Sequence[Work], *, repeatable: bool = False) -> list[Any]:
        loop = asyncio.get_running_loop()
        written, waiter = self._writer.submit(self._write, works), loop.create_future()
        # In place of a shielded future, which takes one more turn of the loop.
        written.add_done_callback(lambda _: _wake(loop, waiter))
        try:
            await waiter
        except asyncio.CancelledError:
            # The thread commits anyway, and other tasks may wait for the result.
            await asyncio.wait([asyncio.wrap_future(written)])
        return written.result()

    def _write(self, works: Sequence[Work]) -> list[Any]:
        if self._connection is None:
            self._connection = self._engine.connect()
        with self._connection.begin():
            driver_of(self._connection).execute("BEGIN IMMEDIATE")
            return [work(self._connection) for work in works]

    async def read(self, work: Work, *, snapshot: bool = True) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    async def check(self) -> None:
        """Read nothing, without waiting for other reads."""
        nothing = partial(self._read, lambda connection: None)
        await asyncio.get_running_loop().run_in_executor(self._checker, nothing)

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
        for threads in (self._writer, self._readers, self._checker):
            threads.shutdown()


def _wake(loop: asyncio.AbstractEventLoop, waiter: asyncio.Future[None]) -> None:
    """Let the task go on that waits in the loop for this thread."""

    def wake() -> None:
        if not waiter.done():
            waiter.set_result(None)

    with suppress(RuntimeError):  # the loop was closed meanwhile
        loop.call_soon_threadsafe(wake)


def prepare_file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        # Questions are private: only the owner can read the file.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def _is_read_only(path: Path) -> bool:
    """Whether the file, or its folder, in which SQLite keeps files of its own, cannot be written."""
    return not all(os.access(place, os.W_OK) for place in (path, path.parent))


def _read_only_url(path: Path) -> URL:
    """Of a database that is only read. Writing raises an error that says what is read only."""
    # Nobody has it open if it has no log of writes, or no index of the log; SQLite would create both, even to
    # read. Without locks it keeps the index in memory, see `_keep_index`.
    how = {"vfs": "unix-none"}
    if not path.with_name(f"{path.name}-wal").exists():
        how = {"immutable": "1"}
    elif path.with_name(f"{path.name}-shm").exists():
        how = {}
    return URL.create(
        "sqlite", database=f"file:{quote(str(path))}", query={"uri": "true", "mode": "ro", **how}
    )


def _keep_index(connection: Any, _: object) -> None:
    """Let a connection keep the index of the log in memory, for itself."""
    connection.execute("PRAGMA locking_mode=EXCLUSIVE")


def _configure(connection: Any, _: object, *, alone: bool) -> None:
    # The driver's own transactions start too late for BEGIN IMMEDIATE; `_read` and `_write` start them.
    connection.isolation_level = None
    cursor = connection.cursor()
    if alone:
        _keep_index(connection, None)
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
