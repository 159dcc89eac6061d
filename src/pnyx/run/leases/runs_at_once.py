"""The runs at once of a key, over all processes of a PostgreSQL database that carry out its runs."""

from __future__ import annotations

from sqlalchemy import Connection, text

from ...config.schema import Settings
from ...errors import OverLimit
from ...store.advisory_locks import AdvisoryLock
from ...store.records import leases
from ..options.key_limits import key_limits
from ..spec import LOCAL
from .lease import is_alive

__all__ = ["check_runs_at_once", "too_many_runs"]

RETRY_S = 5
"""Seconds after which a key that has too many runs is to try again."""
_LOCK = text(f"SELECT pg_advisory_xact_lock({AdvisoryLock.RUNS_AT_ONCE}, hashtext(:owner))")


def check_runs_at_once(connection: Connection, settings: Settings, owner: str, *, alone: bool) -> None:
    """Raise `OverLimit` if processes that are alive have as many runs of a key as it may have.

    alone: whether others that start one wait until this transaction, which starts one, is over. With SQLite
    each server counts its own runs, and so does one for its temporary key.
    """
    if owner == LOCAL or connection.dialect.name != "postgresql":
        return
    if (most := key_limits(connection, settings, owner).runs_at_once) is None:
        return
    if alone:
        connection.execute(_LOCK, {"owner": owner})
    loads = leases.loads(connection, owner)
    running = sum(one.runs for one in loads if is_alive(one.worker, one.heartbeat_at, one.read_at))
    if running >= most:
        raise too_many_runs(owner, running, most)


def too_many_runs(owner: str, running: int, most: int) -> OverLimit:
    """The error for one run too many of a key."""
    return OverLimit(
        f"this key has {running} of at most {most} runs under way: runs_at_once of "
        f"[serve.keys.{owner}]; try again when one has ended",
        RETRY_S,
    )
