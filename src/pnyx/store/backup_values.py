"""Checks the values of a backup, which a stranger may have written, before they are loaded.

SQLite stores any value in any column: an amount of money could be a text, negative, or infinite.
"""

from __future__ import annotations

import sqlite3

from sqlalchemy import Column, Float, Integer, LargeBinary, Table, Text

from ..core.models import MOST, NUSD
from ..errors import StoreError
from .schema import metadata, runs

__all__ = ["check_values"]

_TYPES = {
    Text: ("text",),
    LargeBinary: ("blob",),
    Integer: ("integer",),
    Float: ("real", "integer"),
}
"""Type of a column -> what SQLite calls values of it; `BigInteger` is an `Integer`."""
_ID = (
    '"id" = \'\' OR length(CAST("id" AS BLOB)) <> length("id") OR length("id") > 40 '
    "OR \"id\" GLOB '*[^a-z0-9]*'"
)
"""The condition under which no run can have an id: no command would find the run. A text has a length and a
pattern only up to its first NUL."""
MOST_FLOAT = 1e12
"""Times are in seconds since 1970."""
MOST_LENGTH = 1 << 28
"""The most characters or bytes of a value: it is loaded in one piece, and no model reads a text that long."""


def check_values(connection: sqlite3.Connection) -> None:
    """Raise `StoreError` if a value of an SQLite database is not of its column's type, or not possible.

    Numbers are finite, and amounts, counts and sums at least 0. No value is longer than `MOST_LENGTH`. An
    earlier version lacks some columns.
    """
    # Longer texts are refused by SQLite before they are read; their length would need all of them in memory,
    # and is that of the part before the first NUL.
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_LENGTH)
    for table in metadata.sorted_tables:
        there = {
            name for (name,) in connection.execute(f"SELECT name FROM pragma_table_info('{table.name}')")
        }
        wrong = {column.name: _wrong(column) for column in table.columns if column.name in there}
        try:
            found = connection.execute(_query(table, wrong)).fetchone() if wrong else None
        except sqlite3.DataError:
            found = ("a text", f"longer than {MOST_LENGTH:,}")
        if found is not None:
            name, value = found
            raise StoreError(
                f"the backup is damaged in its table {table.name!r}: {name} is {str(value)[:80]!r}; "
                "restore an earlier backup"
            )


def _query(table: Table, wrong: dict[str, str]) -> str:
    """The name and value of the first column of a row that is wrong."""
    names = " ".join(f"WHEN {test} THEN '{name}'" for name, test in wrong.items())
    values = " ".join(f"WHEN {test} THEN {_shown(name)}" for name, test in wrong.items())
    rows = f"FROM {table.name} WHERE {' OR '.join(wrong.values())} LIMIT 1"
    return f"SELECT CASE {names} END, CASE {values} END {rows}"


def _shown(name: str) -> str:
    """What an error says of a value."""
    return (
        f"CASE WHEN length(\"{name}\") > {MOST_LENGTH} THEN 'longer than {MOST_LENGTH:,}' "
        f'WHEN typeof("{name}") IN (\'text\', \'blob\') THEN substr("{name}", 1, 80) ELSE "{name}" END'
    )


def _wrong(column: Column[object]) -> str:
    """The condition under which a value is wrong. Whether one may be missing is checked by who writes it."""
    kind = next(kind for kind in _TYPES if isinstance(column.type, kind))
    listed = ", ".join(f"'{name}'" for name in (*_TYPES[kind], "null"))
    test = f'typeof("{column.name}") NOT IN ({listed})'
    if column is runs.c.id:
        return f"({test} OR {_ID})"
    bounds = {Integer: (0, round(MOST * NUSD)), Float: (-MOST_FLOAT, MOST_FLOAT)}.get(kind)
    if bounds is None:
        return f'({test} OR length("{column.name}") > {MOST_LENGTH})'
    return f'({test} OR "{column.name}" NOT BETWEEN {bounds[0]} AND {bounds[1]})'
