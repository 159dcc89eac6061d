"""Rows of the server's keys: only their hashes, so that nobody can use what is stored."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.exc import IntegrityError

from ..errors import NotFound, Taken
from .schema import keys

__all__ = ["add", "hashes", "remove"]


def add(connection: Connection, name: str, hash: str, time: str) -> None:
    """Keep a new key. Raises `Taken` where the name has one."""
    try:
        with connection.begin_nested():
            connection.execute(insert(keys), {"name": name, "hash": hash, "created_at": time})
    except IntegrityError:
        raise Taken(f"{name} has a key already; revoke it first: pnyx serve --revoke-key {name}") from None


def hashes(connection: Connection) -> Mapping[str, str]:
    """name -> hash of every key that opens the server, in the order of their names."""
    return {row.name: row.hash for row in connection.execute(select(keys).order_by(keys.c.name))}


def remove(connection: Connection, name: str) -> None:
    """Forget a key. Raises `NotFound`."""
    if not connection.execute(delete(keys).where(keys.c.name == name)).rowcount:
        raise NotFound(f"there is no key {name!r}; pnyx serve --keys lists them")
