"""Links that show one run. Only hashes of their tokens are stored, so a copy of the database opens no run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, exists, insert, select, update

from ...errors import NotFound
from ..schema import keys, runs, shares

__all__ = ["ShareRow", "add", "find", "listing", "revoke"]


@dataclass(frozen=True, slots=True)
class ShareRow:
    """A link. owner: of the run. has_key: whether that owner still has a server key."""

    id: str
    run_id: str
    hash: str
    created_at: str
    expires_at: str
    revoked_at: str | None
    owner: str
    has_key: bool


_ROWS = select(
    shares, runs.c.owner, exists(select(keys.c.name).where(keys.c.name == runs.c.owner)).label("has_key")
).join(runs, runs.c.id == shares.c.run_id)


def add(connection: Connection, id: str, run_id: str, hash: str, time: str, expires_at: str) -> None:
    """Store a new link."""
    connection.execute(
        insert(shares),
        {"id": id, "run_id": run_id, "hash": hash, "created_at": time, "expires_at": expires_at},
    )


def find(connection: Connection, id: str) -> ShareRow | None:
    """Return the link with this id, or None."""
    row = connection.execute(_ROWS.where(shares.c.id == id)).one_or_none()
    return None if row is None else _row(row)


def listing(connection: Connection, run_id: str | None = None, owner: str | None = None) -> list[ShareRow]:
    """Return links, newest first. run_id, owner: only those of this run, or of runs of this owner."""
    query = _ROWS.order_by(shares.c.created_at.desc(), shares.c.id)
    if run_id is not None:
        query = query.where(shares.c.run_id == run_id)
    if owner is not None:
        query = query.where(runs.c.owner == owner)
    return [_row(row) for row in connection.execute(query)]


def revoke(connection: Connection, run_id: str, time: str, prefix: str = "") -> Sequence[str]:
    """Revoke the links of a run whose ids start with `prefix`, and return their ids.

    Links that have expired are revoked too. Raises `NotFound` if a prefix is given and no link has it.
    """
    of_run = (shares.c.run_id == run_id, shares.c.id.startswith(prefix, autoescape=True))
    if prefix and not connection.execute(select(shares.c.id).where(*of_run)).first():
        raise NotFound(f"run {run_id} has no link {prefix[:80]!r}; pnyx share {run_id} --list lists them")
    change = (
        update(shares)
        .where(*of_run, shares.c.revoked_at.is_(None))
        .values(revoked_at=time)
        .returning(shares.c.id)
    )
    return [row.id for row in connection.execute(change)]


def _row(row: Any) -> ShareRow:
    values = dict(row._mapping)
    return ShareRow(**values | {"has_key": bool(values["has_key"])})
