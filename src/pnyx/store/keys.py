"""The server's keys, and what they were used for.

Only hashes of keys are stored, so a copy of the database opens nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from ..errors import NotFound, Taken
from .schema import key_uses, keys, runs

__all__ = ["KeyUse", "StoredKey", "add", "add_uses", "change", "find", "remove", "rotate", "stored", "uses"]

MOST_USES = 100_000
"""Rows about uses that are kept, the newest."""


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key. limits: JSON of a `KeyLimits`, None for none. Times are ISO 8601 in UTC.

    expires_at: when it ends; None: never. old_hash: of the key before it, which is valid until `old_until`.
    """

    name: str
    hash: str
    created_at: str
    expires_at: str | None = None
    limits: str | None = None
    old_hash: str | None = None
    old_until: str | None = None

    def hashes(self, now: str) -> tuple[str, ...]:
        """The hashes of the keys that are valid at a time."""
        if self.expires_at is not None and self.expires_at <= now:
            return ()
        old = self.old_hash if self.old_until is not None and self.old_until > now else None
        return (self.hash,) if old is None else (self.hash, old)


@dataclass(frozen=True, slots=True)
class KeyUse:
    """Requests with a key that were alike, within a few seconds. name: "" for a wrong key.

    at: of the first. client: the address that the connection came from. run_id: of the run that they began,
    or None. requests: how many they were.
    """

    at: str
    name: str
    client: str
    method: str
    route: str
    status: int
    run_id: str | None = None
    requests: int = 1


def add(connection: Connection, key: StoredKey) -> None:
    """Store a new key. Raises `Taken` if the name has one."""
    try:
        with connection.begin_nested():
            connection.execute(insert(keys), asdict(key))
    except IntegrityError:
        raise Taken(
            f"{key.name} already has a key; replace it with: pnyx serve --rotate-key {key.name}, "
            f"or revoke it first: pnyx serve --revoke-key {key.name}"
        ) from None


def stored(connection: Connection) -> Sequence[StoredKey]:
    """Return every key of the server, ordered by name."""
    return [StoredKey(**row._mapping) for row in connection.execute(select(keys).order_by(keys.c.name))]


def find(connection: Connection, name: str) -> StoredKey | None:
    """Return the key of a name, or None."""
    row = connection.execute(select(keys).where(keys.c.name == name)).first()
    return StoredKey(**row._mapping) if row else None


def change(connection: Connection, name: str, columns: Mapping[str, Any]) -> None:
    """Set columns of a key. Raises `NotFound`."""
    if not connection.execute(update(keys).where(keys.c.name == name).values(**columns)).rowcount:
        raise _missing(name)


def rotate(connection: Connection, name: str, hash: str, old_until: str) -> None:
    """Replace a key; the one before is valid until `old_until`. Raises `NotFound`."""
    row = find(connection, name)
    if row is None:
        raise _missing(name)
    change(connection, name, {"hash": hash, "old_hash": row.hash, "old_until": old_until})


def remove(connection: Connection, name: str) -> int:
    """Delete a key, and pause its runs that wait for a worker. Return how many. Raises `NotFound`."""
    if not connection.execute(delete(keys).where(keys.c.name == name)).rowcount:
        raise _missing(name)
    waits = (runs.c.owner == name) & (runs.c.status == "running") & runs.c.worker.is_(None)
    return connection.execute(update(runs).where(waits).values(status="paused")).rowcount


def _missing(name: str) -> NotFound:
    return NotFound(f"there is no key {name!r}; pnyx serve --keys lists them")


def add_uses(connection: Connection, found: Sequence[KeyUse]) -> None:
    """Store uses of keys, and delete the oldest beyond `MOST_USES`."""
    # The id sorts by time, and two servers of one database make different ones.
    rows = [asdict(use) | {"id": f"{use.at}-{secrets.token_hex(6)}"} for use in found]
    connection.execute(insert(key_uses), rows)
    oldest = select(key_uses.c.id).order_by(key_uses.c.id.desc()).offset(MOST_USES).limit(1)
    if (last := connection.execute(oldest).scalar_one_or_none()) is not None:
        connection.execute(delete(key_uses).where(key_uses.c.id <= last))


def uses(connection: Connection, limit: int) -> list[KeyUse]:
    """Return the newest uses of keys, oldest first."""
    query = select(key_uses).order_by(key_uses.c.id.desc()).limit(limit)
    found = [{k: v for k, v in row._mapping.items() if k != "id"} for row in connection.execute(query)]
    return [KeyUse(**values) for values in reversed(found)]
