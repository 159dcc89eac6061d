"""Statements of the hot path."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, cast

from sqlalchemy import Connection, Select, TextClause, UpdateBase

__all__ = ["Prepared", "driver_of"]


def driver_of(connection: Connection) -> sqlite3.Connection:
    """SQLite's own connection under `connection`."""
    return cast(sqlite3.Connection, connection.connection.driver_connection)


class Prepared:
    """A statement of the hot path, built and compiled once: both cost more than running it.

    Calling it gives the rows that it returns. To SQLite it goes past SQLAlchemy, whose part of a statement
    costs several times SQLite's own (benchmarks/README.md); PostgreSQL's errors want it.
    """

    def __init__(self, statement: UpdateBase | Select[Any] | TextClause) -> None:
        self._statement = statement
        self._compiled: dict[str, tuple[str, Sequence[str]]] = {}

    def __call__(self, connection: Connection, *rows: Mapping[str, Any]) -> Sequence[Any]:
        database = connection.dialect.name
        if database not in self._compiled:
            compiled = self._statement.compile(dialect=connection.dialect)
            self._compiled[database] = str(compiled), compiled.positiontup or ()
        sql, names = self._compiled[database]
        values = [tuple(row[name] for name in names) for row in rows]
        if database == "sqlite":
            driver = driver_of(connection)
            done = driver.execute(sql, values[0]) if len(values) == 1 else driver.executemany(sql, values)
            return done.fetchall()
        result = connection.exec_driver_sql(sql, values if len(values) > 1 else values[0])
        return result.all() if result.returns_rows else ()
