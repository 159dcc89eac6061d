"""Turns of calls that the processes of one database share: one row for each host and key.

A row has the time at which the next turn is free, by the database's clock. A process reserves several turns
with one short statement, and uses each at its time.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

__all__ = ["forget_idle", "give_back", "reserve"]

_RESERVE = text(
    "INSERT INTO rates (name, next_at) "
    "VALUES (:name, extract(epoch FROM clock_timestamp()) + :length) "
    # Evaluated once the row is locked, so after every earlier reservation.
    "ON CONFLICT (name) DO UPDATE SET "
    "next_at = GREATEST(rates.next_at, extract(epoch FROM clock_timestamp())) + :length "
    "RETURNING next_at, next_at - :length - extract(epoch FROM clock_timestamp())"
)
_GIVE_BACK = text("UPDATE rates SET next_at = next_at - :length WHERE name = :name AND next_at = :end")
_FORGET = text("DELETE FROM rates WHERE next_at < extract(epoch FROM clock_timestamp()) - :idle_s")


def reserve(connection: Connection, name: str, length: float) -> tuple[float, float]:
    """Reserve the next `length` seconds of turns. Return their end and the seconds until they start.

    The end is a time of the database; for PostgreSQL, in a transaction of its own, since it locks the row.
    """
    # A crash of the server may forget the last half second: its restart takes longer.
    connection.execute(text("SET LOCAL synchronous_commit = off"))
    row = connection.execute(_RESERVE, {"name": name, "length": length}).one()
    return float(row[0]), float(row[1])


def give_back(connection: Connection, name: str, length: float, end: float) -> None:
    """Give back the last `length` seconds of turns, which end at `end`, unless others were reserved since."""
    connection.execute(text("SET LOCAL synchronous_commit = off"))
    connection.execute(_GIVE_BACK, {"name": name, "length": length, "end": end})


def forget_idle(connection: Connection, idle_s: float = 86_400.0) -> None:
    """Delete the rows of hosts and keys that nobody called for so long: without a row, turns are free too."""
    connection.execute(_FORGET, {"idle_s": idle_s})
