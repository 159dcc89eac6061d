"""The clock of the database, by which leases are written and read.

The machines of workers may have wrong clocks; all of them share that of PostgreSQL. With SQLite all processes
are on one machine, whose monotonic clock they share: it does not jump when the time of the machine is set.
"""

from __future__ import annotations

import sqlite3
import time
from typing import Any

from sqlalchemy import Connection, Float, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from .prepared import Prepared

__all__ = ["add_clock", "clock", "read_clock"]

MONOTONIC = "pnyx_monotonic"
"""The name of `time.monotonic` in the SQL of our connections to SQLite."""


class clock(FunctionElement[float]):  # noqa: N801 (a function of SQL)
    """The time of the database in seconds, as an expression: since 1970, or with SQLite monotonic."""

    type = Float()
    inherit_cache = True


@compiles(clock, "sqlite")
def _sqlite(element: clock, compiler: Any, **options: Any) -> str:
    return f"{MONOTONIC}()"


@compiles(clock, "postgresql")
def _postgresql(element: clock, compiler: Any, **options: Any) -> str:
    return "extract(epoch FROM clock_timestamp())::double precision"


def add_clock(connection: sqlite3.Connection, _: object = None) -> None:
    """Let a connection to SQLite read the clock; a listener of an engine's `connect`."""
    connection.create_function(MONOTONIC, 0, time.monotonic)


_READ = Prepared(select(clock()))


def read_clock(connection: Connection) -> float:
    """Return the time of the database, as `clock`."""
    return float(_READ(connection, {})[0][0])
