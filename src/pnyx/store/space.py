"""Gives the space of deleted rows back to the file system. PostgreSQL does so itself, by autovacuum."""

from __future__ import annotations

import shutil
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy import Connection

from ..errors import StoreError
from .engine import Database
from .prepared import driver_of
from .sqlite import BUSY_S, INCREMENTAL

__all__ = ["give_back", "give_back_meanwhile"]

STEP_PAGES = 512
"""Pages that one transaction moves: 2 MB. Others write in between."""
PAUSE_S = 0.005
LEAST_SHARE = 0.05
"""The least free share of a file for which all of it is rewritten."""


def give_back(file: Path, *, rewrite: bool) -> int:
    """Shrink an SQLite file by its free pages, and return the bytes that it lost; 0 if there is no file.

    rewrite: whether the file of an earlier version may be rewritten, while other writers wait for
    about a second for each 200 MB, and needs as much space again; without that its free pages are used for
    new runs. Raises `StoreError`.
    """
    if not file.is_file():  # the name of a database of PostgreSQL
        return 0
    try:
        with closing(sqlite3.connect(file, timeout=BUSY_S, isolation_level=None)) as connection:
            # What is in the write-ahead log counts as lost by whoever empties it.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            before = _bytes(file)
            if _pragma(connection, "auto_vacuum") == INCREMENTAL:
                _move_pages(connection)
            elif rewrite and _is_worth_it(connection, file, before):
                connection.execute(f"PRAGMA auto_vacuum={INCREMENTAL}")
                connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.Error as exc:
        raise StoreError(
            f"database {file}: {exc}; the runs are deleted, and new runs use their space. "
            "To shrink the file, repeat the command"
        ) from exc
    return max(0, before - _bytes(file))


async def give_back_meanwhile(database: Database) -> None:
    """Shrink an SQLite file by its free pages while the database works, after a run was deleted.

    The file of an earlier version stays as long as it is, and new runs use the pages.
    """
    with suppress(StoreError):  # the run is deleted all the same
        while await database.write(_move_some):
            pass


def _move_some(connection: Connection) -> bool:
    """Move the pages of one step in this transaction, and return whether there are more."""
    if connection.dialect.name != "sqlite":
        return False
    driver = driver_of(connection)
    if _pragma(driver, "auto_vacuum") != INCREMENTAL:
        return False
    free = _pragma(driver, "freelist_count")
    for _ in range(min(free, STEP_PAGES)):
        driver.execute("PRAGMA incremental_vacuum(1)")
    return free > STEP_PAGES


def _move_pages(connection: sqlite3.Connection) -> None:
    free = _pragma(connection, "freelist_count")
    while free:
        # Python's `execute` makes one step of a statement without rows, which moves one page.
        connection.executescript(f"PRAGMA incremental_vacuum({STEP_PAGES});")
        left = _pragma(connection, "freelist_count")
        if left >= free:
            return  # others free pages as fast
        free = left
        time.sleep(PAUSE_S)


def _is_worth_it(connection: sqlite3.Connection, file: Path, size: int) -> bool:
    free, pages = _pragma(connection, "freelist_count"), _pragma(connection, "page_count")
    return free >= pages * LEAST_SHARE and shutil.disk_usage(file.parent).free > size * 1.2


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _bytes(file: Path) -> int:
    files = (file, file.with_name(f"{file.name}-wal"))
    return sum(one.stat().st_size for one in files if one.exists())
