"""Statements of the hot path, compiled once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, cast
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Select, TextClause, UpdateBase

__all__ = ["Prepared", "driver_of"]


def driver_of(connection: Connection) -> sqlite3.Connection:
    """Return the `sqlite3` connection below `connection`."""
    driver = _DRIVERS.get(connection)
    if driver is None:
        # SQLAlchemy finds it through five properties, which take as long as a short statement.
        driver = _DRIVERS[connection] = cast(sqlite3.Connection, connection.connection.driver_connection)
    return driver


_DRIVERS: WeakKeyDictionary[Connection, sqlite3.Connection] = WeakKeyDictionary()


class Prepared:
    """A statement that is built and compiled once, since both cost more than running it.

    A call runs it and returns its rows. SQLite gets it without SQLAlchemy, whose overhead is several times
    SQLite's own time (benchmarks/README.md); PostgreSQL gets it through SQLAlchemy, which classifies errors.
    """

    def __init__(self, statement: UpdateBase | Select[Any] | TextClause) -> None:
        self._statement = statement
        self._compiled: dict[str, tuple[str, Callable[[Mapping[str, Any]], tuple[Any, ...]]]] = {}

    def __call__(self, connection: Connection, *rows: Mapping[str, Any]) -> Sequence[Any]:
        database = connection.dialect.name
        if database not in self._compiled:
            compiled = self._statement.compile(dialect=connection.dialect)
            self._compiled[database] = str(compiled), _in_order(compiled.positiontup or ())
        sql, in_order = self._compiled[database]
        values = list(map(in_order, rows))
        if database == "sqlite":
            driver = driver_of(connection)
            done = driver.execute(sql, values[0]) if len(values) == 1 else driver.executemany(sql, values)
            return done.fetchall()
        result = connection.exec_driver_sql(sql, values if len(values) > 1 else values[0])
        return result.all() if result.returns_rows else ()


def _in_order(names: Sequence[str]) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """Return what gives the values of a row in the order of the parameters `names`."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda row: tuple(map(row.__getitem__, names))
