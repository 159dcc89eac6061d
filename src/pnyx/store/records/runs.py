"""The rows of runs, as functions of a connection; `entries` has those of events, `appending` appends them.

A refused write, such as one under an old epoch, raises; the engine rolls back that write alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from math import inf
from typing import Any

from sqlalchemy import Connection, bindparam, insert, or_, select, tuple_, update
from sqlalchemy.exc import IntegrityError

from ...core.caching.regex import regex
from ...core.text import is_text
from ...errors import NotFound, Taken
from ..clock import clock
from ..prepared import Prepared
from ..schema import runs
from . import word_index
from .appending import append, patch
from .entries import log, logs
from .run_filters import COLUMNS, LISTED, Filters, page_query, prefix_range
from .run_row import RunRow, pack_columns, read_rows

__all__ = [
    "COLUMNS",
    "LIST_CHARS",
    "WORKER",
    "Rows",
    "RunRow",
    "append",
    "begin_conversation",
    "conversation",
    "create",
    "find",
    "ids",
    "listing",
    "log",
    "logs",
    "patch",
    "rows",
    "specs",
]

WORKER = "worker@"
"""Prefix of `RunRow.worker` if the process that writes the run is a `pnyx worker`."""

LIST_CHARS = 16_000_000
"""Characters of the texts of a list: the question of each of 1,000 runs may have 4 MB."""

_ID = regex("[a-z0-9]+")
"""The characters of ids; every index sorts these alike."""
_NAMES = tuple(column.name for column in runs.columns)
_OWNER = runs.c.owner.concat("")
"""The owner without its index, which SQLite prefers although most runs have the same owner."""


class Rows(list[RunRow]):
    """The rows of a list, in order. has_more: whether others were left out, for the length of its texts."""

    has_more = False


def create(connection: Connection, row: RunRow) -> None:
    """Insert a run. Raises `Taken` if its id exists."""
    values = {name: getattr(row, name) for name in _NAMES}
    texts = {"question": row.question, "spec": row.spec, "result": row.result}
    values |= pack_columns(connection, row.id, texts)
    try:
        (_CREATE if row.worker is None or row.heartbeat_at is not None else _CREATE_NOW)(connection, values)
    except (IntegrityError, sqlite3.IntegrityError) as exc:
        raise Taken(f"run {row.id} already exists") from exc
    word_index.add(connection, (row.id, row.question, row.result))


def find(connection: Connection, prefix: str, owner: str | None = None) -> RunRow:
    """Return the run whose id starts with `prefix`. Raises `NotFound` for none or several."""
    found: Sequence[Any] = ()
    if _ID.fullmatch(prefix):
        of_owner = () if owner is None else (owner == _OWNER,)
        query = select(*COLUMNS).where(*of_owner)
        found = connection.execute(query.where(runs.c.id == prefix)).all()
        if not found:
            has_prefix, order = prefix_range(connection, runs.c.id, prefix)
            found = connection.execute(query.where(has_prefix).order_by(order).limit(4)).all()
    if not found:
        raise NotFound(f"no run {prefix!r}; `pnyx runs` lists them")
    if len(found) > 1:
        ids = _first_ids([r.id for r in found])
        raise NotFound(f"run {prefix!r} is not unique: {ids}; type more characters of the id")
    return next(read_rows(connection, found))


def _first_ids(ids: Sequence[str]) -> str:
    """Return the first three ids as text, with "…" if there are more."""
    return ", ".join(ids[:3]) + (" …" if len(ids) > 3 else "")


def listing(
    connection: Connection, *, limit: int = 20, after: tuple[str, str] | None = None, **filters: Any
) -> Rows:
    """Return runs, newest first, those that are over without their spec. filters: as in `Filters`.

    limit: at most so many, and at most about `LIST_CHARS` of text. after: only those listed after the run of
    this `created_at` and id.
    """
    query = page_query(connection, Filters(**filters), limit, after)
    return _within(connection, connection.execute(query).all(), LIST_CHARS)


def ids(connection: Connection, owner: str, prefix: str, limit: int) -> Sequence[str]:
    """Return the ids of an owner's runs that start with `prefix`, newest first. Their texts are not read."""
    query = page_query(connection, Filters(owner=owner, prefix=prefix), limit, None)
    return connection.execute(query.with_only_columns(runs.c.id)).scalars().all()


def _within(connection: Connection, found: Sequence[Any], most_chars: float) -> Rows:
    """The first of the rows that have about `most_chars` of text together, and one at least."""
    read, chars = Rows(), 0
    for row in read_rows(connection, found):
        chars += row.chars
        if read and chars > most_chars:
            read.has_more = True
            break
        read.append(row)
    return read


def specs(connection: Connection, owner: str, protocol: str) -> list[dict[str, Any]]:
    """Return the specs of an owner's runs of a protocol, oldest first, without those that cannot be read."""
    query = select(*COLUMNS).where(runs.c.owner == owner, runs.c.protocol == protocol)
    found = read_rows(connection, connection.execute(query.order_by(runs.c.created_at, runs.c.id)))
    return [dict(row.spec) for row in found if row.problem is None]


def rows(connection: Connection, ids: Sequence[str], most_chars: float = inf) -> Rows:
    """Return the runs with these ids, in the order of the ids; those that are over without their spec.

    most_chars: only the first that have about so many characters of text together.
    """
    query = select(*LISTED).where(runs.c.id.in_(ids))
    found = {row.id: row for row in connection.execute(query)}
    return _within(connection, [found[id] for id in ids], most_chars)


def conversation(
    connection: Connection,
    prefix: str,
    owner: str | None = None,
    limit: int | None = None,
    after: tuple[str, str] | None = None,
) -> Rows:
    """Return the runs of a conversation, in order, those that are over without their spec.

    prefix: start of the id of the conversation, or of the id of one of its runs. limit: at most so many, and
    at most about `LIST_CHARS` of text. after: only those after the run of this `created_at` and id.

    Raises `NotFound` for no or several conversations.
    """
    of_owner = () if owner is None else (owner == _OWNER,)

    def turns(name: str) -> Rows:
        query = select(*LISTED).where(runs.c.conversation == name, *of_owner)
        if after is not None:
            query = query.where(tuple_(runs.c.created_at, runs.c.id) > after)
        query = query.order_by(runs.c.created_at, runs.c.id).limit(None if limit is None else limit + 1)
        found = connection.execute(query).all()
        rows = _within(connection, found[:limit], inf if limit is None else LIST_CHARS)
        rows.has_more = len(rows) < len(found)
        return rows

    if is_text(prefix) and (whole := turns(prefix)):
        return whole
    has_prefix = or_(*(prefix_range(connection, c, prefix)[0] for c in (runs.c.conversation, runs.c.id)))
    query = select(runs.c.conversation, runs.c.id)
    query = query.where(runs.c.conversation.is_not(None), has_prefix, *of_owner)
    found = connection.execute(query).all() if _ID.fullmatch(prefix) else []
    names = {row.conversation for row in found if row.id == prefix} or {row.conversation for row in found}
    if not names:
        hint = "use the id of any of its runs; `pnyx runs` lists them"
        raise NotFound(f"no conversation {prefix!r}; {hint}")
    if len(names) > 1:
        ids = _first_ids(sorted(names))
        raise NotFound(f"conversation {prefix!r} is not unique: {ids}; type more characters of the id")
    return turns(names.pop())


def begin_conversation(connection: Connection, run_id: str) -> str:
    """Make a run the first turn of a conversation, which has the run's id, and return it."""
    first = update(runs).where(runs.c.id == run_id, runs.c.conversation.is_(None))
    connection.execute(first.values(conversation=run_id))
    return run_id


_CREATE = Prepared(insert(runs))
_CREATE_NOW = Prepared(
    insert(runs).values(
        {name: bindparam(name) for name in _NAMES if name != "heartbeat_at"} | {"heartbeat_at": clock()}
    )
)
"""The row of a run whose process is alive now, by the database's clock."""
