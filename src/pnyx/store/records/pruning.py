"""The deletion of old runs, a few in each transaction, so that others work meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, exists, func, or_, select, text

from ..schema import labels, outcomes, runs
from . import runs as store
from .deletion import delete_runs
from .labels import PINNED, TAG

__all__ = ["Prunable", "Pruned", "Rule", "prunable", "prune_some"]


IsActive = Callable[[store.RunRow], bool]
BATCH = 500
"""Runs that one statement names: SQLite allows 999 parameters in old versions."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Which runs are old: those that began and last changed before this time (ISO 8601, UTC).

    keep: what old runs are kept for, of "tagged", "pinned" and "feedback".
    """

    before: str
    keep: Collection[str] = ()


class Prunable(NamedTuple):
    """What a rule deletes. size: bytes, estimated. first, last: when its runs began."""

    runs: int
    events: int
    size: int
    first: str | None
    last: str | None


class Pruned(NamedTuple):
    """What was deleted, and the `created_at` and id after which to go on; None at the end."""

    runs: int
    after: tuple[str, str] | None


def prunable(connection: Connection, rule: Rule, is_active: IsActive) -> Prunable:
    """Return what the rule deletes now. is_active: as for `prune_some`."""
    counts = (func.count(), func.coalesce(func.sum(runs.c.seq), 0))
    times = (func.min(runs.c.created_at), func.max(runs.c.created_at))
    is_old, is_running = _conditions(rule), runs.c.status == "running"
    found, old, first, last = connection.execute(select(*counts, *times).where(*is_old, ~is_running)).one()
    left = _left_behind(
        connection, list(connection.scalars(select(runs.c.id).where(*is_old, is_running))), is_active
    )
    found, old = int(found) + len(left), int(old) + sum(row.seq for row in left)
    began = [*filter(None, (first, last)), *(row.created_at for row in left)]
    every, events = connection.execute(select(*counts)).one()
    size = connection.execute(text(_SIZES[connection.dialect.name])).one()
    freed = size.of_runs * found // max(every, 1) + size.of_events * old // max(int(events), 1)
    return Prunable(found, old, freed, min(began, default=None), max(began, default=None))


def prune_some(
    connection: Connection,
    rule: Rule,
    limit: int,
    is_active: IsActive,
    after: tuple[str, str] | None = None,
) -> Pruned:
    """Delete the oldest runs of the rule, looking at `limit` of them. after: where an earlier call ended.

    is_active: whether a process runs it, or a worker will.
    """
    query = select(runs.c.id, runs.c.created_at, runs.c.status).where(*_conditions(rule))
    if after is not None:
        created_at, id = after
        later = or_(runs.c.created_at > created_at, runs.c.id > id)
        query = query.where(runs.c.created_at >= created_at, later)
    # On PostgreSQL, a run that another process changes just now is left for the next time.
    query = query.order_by(runs.c.created_at, runs.c.id).limit(limit).with_for_update(skip_locked=True)
    found = connection.execute(query).all()
    left = _left_behind(connection, [row.id for row in found if row.status == "running"], is_active)
    ids = [row.id for row in found if row.status != "running"] + [row.id for row in left]
    delete_runs(connection, ids)
    return Pruned(len(ids), (found[-1].created_at, found[-1].id) if len(found) == limit else None)


def _left_behind(connection: Connection, running: Sequence[str], is_active: IsActive) -> list[store.RunRow]:
    """Those of the runs with the status "running" that nothing runs any longer."""
    batches = (running[start : start + BATCH] for start in range(0, len(running), BATCH))
    return [row for ids in batches for row in store.rows(connection, ids) if not is_active(row)]


def _conditions(rule: Rule) -> list[ColumnElement[bool]]:
    found = [runs.c.created_at < rule.before, runs.c.updated_at < rule.before]
    for name, kind in (("tagged", TAG), ("pinned", PINNED)):
        if name in rule.keep:
            found.append(~exists().where(labels.c.run_id == runs.c.id, labels.c.kind == kind))
    if "feedback" in rule.keep:
        # Not the grades of an evaluation, which another owner learns from.
        judged = (outcomes.c.run_id == runs.c.id) & (outcomes.c.owner == outcomes.c.run_owner)
        found.append(~exists().where(judged))
    return found


_SIZES = {
    "sqlite": """
        SELECT 0 AS of_runs, (page_count - freelist_count) * page_size AS of_events
        FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()
        """,
    "postgresql": """
        SELECT pg_total_relation_size('runs') + pg_total_relation_size('recall') AS of_runs,
               pg_total_relation_size('events') + pg_total_relation_size('contents')
               + pg_total_relation_size('content_uses') AS of_events
        """,
}
"""The bytes of what goes with runs, indexes included, by what it grows with. SQLite does not say what a table
takes; a database of PostgreSQL may have tables of others too."""
