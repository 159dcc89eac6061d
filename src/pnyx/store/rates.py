"""Rates that the processes of one database share: of calls to hosts, and of the requests of keys.

Calls have turns: one row for each host and key has the time at which the next turn is free, by the database's
clock. A process reserves several turns with one short statement, and uses each at its time.

Requests have places: as many rows for each key as it may have requests in a window, used in a circle. Each
has the time from which it is free again. One more row counts the requests, and so says which place is next.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

__all__ = ["forget_idle", "give_back", "reserve", "take_place"]

COUNT = "count:"
"""Prefix of the rows that count requests."""
_RESERVE = text(
    "INSERT INTO rates (name, next_at) "
    "VALUES (:name, extract(epoch FROM clock_timestamp()) + :length) "
    # Evaluated once the row is locked, so after every earlier reservation.
    "ON CONFLICT (name) DO UPDATE SET "
    "next_at = GREATEST(rates.next_at, extract(epoch FROM clock_timestamp())) + :length "
    "RETURNING next_at, next_at - :length - extract(epoch FROM clock_timestamp())"
)
_GIVE_BACK = text("UPDATE rates SET next_at = next_at - :length WHERE name = :name AND next_at = :end")
_FORGET = text(
    "DELETE FROM rates WHERE next_at < extract(epoch FROM clock_timestamp()) - :idle_s "
    # Without its count, a key would start at a place that is not its oldest.
    f"AND name NOT LIKE '{COUNT}%'"
)
_TAKE_PLACE = text(
    "WITH count AS ("
    "INSERT INTO rates AS old (name, next_at) VALUES (:count, 1) "
    # Locks the row, so the clock is read after every earlier request.
    "ON CONFLICT (name) DO UPDATE SET next_at = old.next_at + 1 RETURNING next_at AS number) "
    "INSERT INTO rates AS place (name, next_at) "
    "SELECT :place || number::bigint % :most, extract(epoch FROM clock_timestamp()) + :window_s FROM count "
    "ON CONFLICT (name) DO UPDATE SET next_at = excluded.next_at "
    "WHERE place.next_at <= excluded.next_at - :window_s RETURNING name"
)
_LEAVE_PLACE = text(
    "UPDATE rates AS count SET next_at = count.next_at - 1 FROM rates AS place "
    "WHERE count.name = :count AND place.name = :place || count.next_at::bigint % :most "
    "RETURNING place.next_at - extract(epoch FROM clock_timestamp())"
)


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


def take_place(connection: Connection, name: str, most: int, window_s: float) -> float | None:
    """Count a request of `name`, and return None; or the seconds until one is allowed.

    In no window are there more than `most`. For PostgreSQL, in a transaction of its own, since it locks rows.
    """
    connection.execute(text("SET LOCAL synchronous_commit = off"))
    # With another limit, the places are others.
    values = {"count": f"{COUNT}{name}:{most}", "place": f"place:{name}:{most}:", "most": most}
    if connection.execute(_TAKE_PLACE, values | {"window_s": window_s}).first() is not None:
        return None
    return float(connection.execute(_LEAVE_PLACE, values).scalar_one())


def forget_idle(connection: Connection, idle_s: float = 86_400.0) -> None:
    """Delete the rows of hosts and keys that nobody called for so long: without a row, turns are free too."""
    connection.execute(_FORGET, {"idle_s": idle_s})
