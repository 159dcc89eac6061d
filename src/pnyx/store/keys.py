"""The server's keys. Only their hashes are stored, so a copy of the database opens nothing."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.exc import IntegrityError

from ..errors import NotFound, Taken
from .schema import keys

__all__ = ["add", "hashes", "remove"]


def add(connection: Connection, name: str, hash: str, time: str) -> None:
    """Store a new key. Raises `Taken` if the name has one."""
    try:
        with connection.begin_nested():
            connection.execute(insert(keys), {"name": name, "hash": hash, "created_at": time})
    except IntegrityError:
        raise Taken(f"{name} already has a key; revoke it first: pnyx serve --revoke-key {name}") from None


def hashes(connection: Connection) -> Mapping[str, str]:
    """Return name -> hash of every key of the server, ordered by name."""
    return {row.name: row.hash for row in connection.execute(select(keys).order_by(keys.c.name))}


def remove(connection: Connection, name: str) -> None:
    """Delete a key. Raises `NotFound`."""
    if not connection.execute(delete(keys).where(keys.c.name == name)).rowcount:
        raise NotFound(f"there is no key {name!r}; pnyx serve --keys lists them")
