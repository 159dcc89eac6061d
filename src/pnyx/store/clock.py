"""The clock of the database, by which leases are written and read.

The machines of workers may have wrong clocks; all of them share that of PostgreSQL. SQLite's is that of the
machine that all its processes are on.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Float, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from .prepared import Prepared

__all__ = ["clock", "read_clock"]


class clock(FunctionElement[float]):  # noqa: N801 (a function of SQL)
    """The time of the database in seconds since 1970, as an expression."""

    type = Float()
    inherit_cache = True


@compiles(clock, "sqlite")
def _sqlite(element: clock, compiler: Any, **options: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(clock, "postgresql")
def _postgresql(element: clock, compiler: Any, **options: Any) -> str:
    return "extract(epoch FROM clock_timestamp())::double precision"


_READ = Prepared(select(clock()))


def read_clock(connection: Connection) -> float:
    """Return the time of the database in seconds since 1970."""
    return float(_READ(connection, {})[0][0])
