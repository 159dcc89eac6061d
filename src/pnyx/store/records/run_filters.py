"""Which runs a list has, and in which order: the query of `store.records.runs.listing`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, case, false, or_, select

from ...core.decision import FINAL
from ...core.text import is_text
from ..clock import clock
from ..schema import labels, runs
from .labels import PINNED, TAG

__all__ = ["COLUMNS", "LISTED", "Filters", "page_query", "prefix_range"]

COLUMNS = (runs, clock().label("read_at"))
"""What a `RunRow` is made of, by `store.records.run_row.read_rows`."""
_OVER = runs.c.status.in_(sorted(FINAL)) & runs.c.result.is_not(None)
LISTED = (
    *(column for column in runs.columns if column.name != "spec"),
    case((_OVER, None), else_=runs.c.spec).label("spec"),
    COLUMNS[-1],
)
"""The same for lists, which show the spec of no run that is over: to unpack it was a third of their time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What the runs of a list have in common; None and "" match all runs.

    has_worker: whether a process has them. prefix: of their ids. tag, pinned: see `store.records.labels`.
    since: the time or day from which on they were created.
    """

    status: str | None = None
    owner: str | None = None
    except_owner: str | None = None
    has_worker: bool | None = None
    prefix: str = ""
    tag: str | None = None
    pinned: bool = False
    protocol: str | None = None
    since: str = ""

    @property
    def are_possible(self) -> bool:
        """Whether a run can have these texts. PostgreSQL fails for the others, which clients may send."""
        values = (getattr(self, field.name) for field in fields(self))
        return all(is_text(value) for value in values if isinstance(value, str))


def page_query(
    connection: Connection, filters: Filters, limit: int, after: tuple[str, str] | None
) -> Select[Any]:
    """Return the query of the newest `limit` runs. after: those listed after the run of this time and id."""
    query: Select[Any] = select(*LISTED)
    if not filters.are_possible:
        return query.where(false())
    time: ColumnElement[Any] = runs.c.created_at
    for kind, value in ((TAG, filters.tag), (PINNED, "" if filters.pinned else None)):
        if value is not None:
            # Their rows have the time of the run, so one index finds and orders them.
            has = labels.alias(kind)
            is_label = (has.c.run_id == runs.c.id) & (has.c.kind == kind) & (has.c.value == value)
            query, time = query.join(has, is_label), has.c.created_at
    if filters.since:
        query = query.where(time >= filters.since)
    for condition in _conditions(connection, filters):
        query = query.where(condition)
    if after is not None:
        created_at, id = after
        # The first condition is the range of the index.
        query = query.where(time <= created_at, or_(time < created_at, runs.c.id > id))
    return query.order_by(time.desc(), runs.c.id).limit(limit)


def _conditions(connection: Connection, filters: Filters) -> list[ColumnElement[bool]]:
    found = []
    if filters.status is not None:
        found.append(runs.c.status == filters.status)
    if filters.owner is not None:
        # Few runs have a prefix, but SQLite prefers the index of owners, of which most runs have the same.
        owner = runs.c.owner.concat("") if filters.prefix else runs.c.owner
        found.append(owner == filters.owner)
    if filters.except_owner is not None:
        found.append(runs.c.owner != filters.except_owner)
    if filters.has_worker is not None:
        found.append(runs.c.worker.is_not(None) if filters.has_worker else runs.c.worker.is_(None))
    if filters.protocol is not None:
        found.append(runs.c.protocol == filters.protocol)
    if filters.prefix:
        found.append(prefix_range(connection, runs.c.id, filters.prefix)[0])
    return found


def prefix_range(
    connection: Connection, column: ColumnElement[Any], prefix: str
) -> tuple[ColumnElement[bool], ColumnElement[Any]]:
    """Return the condition that the column starts with `prefix`, and the column in that order.

    A range, which uses an index: with LIKE, SQLite would read every row.
    """
    ordered = column.collate("BINARY" if connection.dialect.name == "sqlite" else "C")
    return (ordered >= prefix) & (ordered < prefix + "~"), ordered
