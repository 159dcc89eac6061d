"""The rows of runs and events, as functions of a connection.

A refused write, such as one under an old epoch, raises; the engine rolls back that write alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import (
    Connection,
    bindparam,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from ..core.documents import STAMP, read, stamp
from ..core.events import Event, from_json, to_json
from ..core.models import NOBODY, Payer
from ..core.regex import regex
from ..core.text import is_text
from ..errors import Fenced, NotFound, Taken, Unreadable
from . import search
from .clock import clock
from .contents import with_contents, without_contents
from .costs import add_costs
from .prepared import Prepared
from .run_filters import COLUMNS, Filters, page_query, prefix_range
from .schema import events, runs

__all__ = [
    "COLUMNS",
    "WORKER",
    "RunRow",
    "append",
    "conversation",
    "create",
    "find",
    "from_columns",
    "listing",
    "log",
    "patch",
    "rows",
    "specs",
]

WORKER = "worker@"
"""Prefix of `RunRow.worker` if the process that writes the run is a `pnyx worker`."""

_ID = regex("[a-z0-9]+")
"""The characters of ids; every index sorts these alike."""
_NAMES = tuple(column.name for column in runs.columns)
_OWNER = runs.c.owner.concat("")
"""The owner without its index, which SQLite prefers although most runs have the same owner."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run's row. spec and result are the parsed JSON.

    worker: the process that writes it; None with the status "running" means: the next worker takes it.
    heartbeat_at, first_taken_at: of its process, and of the first worker that took it since its owner started
    or resumed it. read_at: when the row was read. All three are seconds since 1970 by the database's clock.
    lost_workers: how many workers ended while they had it, since its owner started or resumed it. held_back:
    of a waiting run, why a worker could not take it; of a paused one, why no worker takes it any more.
    conversation: the id of its conversation, as in its spec. problem: why spec or result cannot be read, and
    are empty; see `check`.
    """

    id: str
    owner: str
    epoch: int
    seq: int
    status: str
    stop: str | None
    worker: str | None
    heartbeat_at: float | None
    created_at: str
    updated_at: str
    protocol: str
    question: str
    spec: Mapping[str, Any]
    result: Mapping[str, Any] | None
    forked_from: str | None
    conversation: str | None = None
    lost_workers: int = 0
    first_taken_at: float | None = None
    held_back: str | None = None
    read_at: float = field(default=0.0, compare=False)
    problem: str | None = None

    def check(self) -> RunRow:
        """The row. Raises `Unreadable` if its spec or result cannot be read."""
        if self.problem is not None:
            raise Unreadable(self.problem)
        return self

    @classmethod
    def new(
        cls,
        id: str,
        owner: str,
        time: str,
        protocol: str,
        question: str,
        spec: Mapping[str, Any],
        *,
        worker: str | None = None,
        heartbeat_at: float | None = None,
        forked_from: str | None = None,
    ) -> RunRow:
        """Return the row of a new run: first epoch, no events."""
        return cls(
            id=id,
            owner=owner,
            epoch=1,
            seq=0,
            status="running",
            stop=None,
            worker=worker,
            heartbeat_at=heartbeat_at,
            created_at=time,
            updated_at=time,
            protocol=protocol,
            question=question,
            spec=spec,
            result=None,
            forked_from=forked_from,
            conversation=spec.get("conversation"),
        )


def create(connection: Connection, row: RunRow) -> None:
    """Insert a run. Raises `Taken` if its id exists."""
    values = {name: getattr(row, name) for name in _NAMES}
    if row.worker is not None and row.heartbeat_at is None:
        values["heartbeat_at"] = clock()
    values |= {"spec": json.dumps(stamp(row.spec)), "result": row.result and json.dumps(stamp(row.result))}
    try:
        connection.execute(insert(runs).values(**values))
    except IntegrityError as exc:
        raise Taken(f"run {row.id} already exists") from exc
    search.add(connection, (row.id, row.question, row.result))


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
    return from_columns(found[0])


def _first_ids(ids: Sequence[str]) -> str:
    """Return the first three ids as text, with "…" if there are more."""
    return ", ".join(ids[:3]) + (" …" if len(ids) > 3 else "")


def listing(
    connection: Connection, *, limit: int = 20, after: tuple[str, str] | None = None, **filters: Any
) -> list[RunRow]:
    """Return runs, newest first. filters: as in `Filters`.

    after: only those listed after the run of this `created_at` and id.
    """
    query = page_query(connection, Filters(**filters), limit, after)
    return [from_columns(row) for row in connection.execute(query)]


def specs(connection: Connection, owner: str, protocol: str) -> list[dict[str, Any]]:
    """Return the specs of an owner's runs of a protocol, oldest first, without those that cannot be read."""
    query = select(*COLUMNS).where(runs.c.owner == owner, runs.c.protocol == protocol)
    found = map(from_columns, connection.execute(query.order_by(runs.c.created_at, runs.c.id)))
    return [dict(row.spec) for row in found if row.problem is None]


def rows(connection: Connection, ids: Sequence[str]) -> list[RunRow]:
    """Return the runs with these ids, in the order of the ids."""
    found = {
        row.id: from_columns(row) for row in connection.execute(select(*COLUMNS).where(runs.c.id.in_(ids)))
    }
    return [found[id] for id in ids]


def conversation(connection: Connection, prefix: str, owner: str | None = None) -> list[RunRow]:
    """Return the runs of a conversation, in order. prefix: start of its id, or of the id of one of its runs.

    Raises `NotFound` for no or several conversations.
    """
    of_owner = () if owner is None else (owner == _OWNER,)

    def turns(name: str) -> list[RunRow]:
        query = select(*COLUMNS).where(runs.c.conversation == name, *of_owner)
        return [from_columns(row) for row in connection.execute(query.order_by(runs.c.created_at, runs.c.id))]

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


def log(connection: Connection, run_id: str, after: int = 0) -> list[Event]:
    """Return the stored events of a run with a `seq` greater than `after`, in order. Raises `Unreadable`."""
    query = (
        select(events.c.seq, events.c.body)
        .where(events.c.run_id == run_id, events.c.seq > after)
        .order_by(events.c.seq)
    )
    found = connection.execute(query)
    documents = [read(body, f"event {seq} of run {run_id}") for seq, body in found]
    with_contents(connection, run_id, documents)
    return [_event(run_id, document) for document in documents]


def _event(run_id: str, document: Mapping[str, Any]) -> Event:
    try:
        return from_json(document)
    except Unreadable as exc:
        raise Unreadable(f"run {run_id}: {exc}") from exc


def append(
    connection: Connection,
    run_id: str,
    epoch: int,
    batch: Sequence[Event],
    columns: Mapping[str, Any] | None = None,
    contents: Mapping[str, str] | None = None,
    payer: Payer = NOBODY,
) -> tuple[int, str | None]:
    """Append events as one unit. Return the seq of the last one, and the run's `stop` column.

    columns: columns of the run's row to set with them. contents: of the run's files, which are stored once,
    see `store.contents`. payer: who pays for the calls among them. Raises `Fenced` if the run has another
    epoch.
    """
    advanced = _ADVANCE(connection, {"n": len(batch), "run": run_id, "at": epoch})
    if not advanced:
        raise Fenced(f"run {run_id} was taken over by another process; this one stops")
    last, stop = advanced[0]
    rows = []
    for seq, item in enumerate(batch, last - len(batch) + 1):
        document = without_contents(to_json(item) | {"run_id": run_id, "seq": seq}, contents or {})
        rows.append({"run_id": run_id, "seq": seq, "type": item.type, "body": json.dumps(stamp(document))})
    if rows:
        _APPEND(connection, *rows)
        add_costs(connection, run_id, payer, batch)
    if columns:
        patch(connection, run_id, columns)
    return last, stop


def patch(connection: Connection, run_id: str, columns: Mapping[str, Any]) -> None:
    """Set columns of a run's row; `result` and `spec` are objects."""
    values = {k: json.dumps(stamp(v)) if k in ("result", "spec") else v for k, v in columns.items()}
    connection.execute(update(runs).where(runs.c.id == run_id).values(**values))
    if "result" in columns:
        search.update(connection, run_id, columns["result"])


_ADVANCE = Prepared(
    update(runs)
    .where(runs.c.id == bindparam("run"), runs.c.epoch == bindparam("at"))
    .values(seq=runs.c.seq + bindparam("n"))
    .returning(runs.c.seq, runs.c.stop)
)
_APPEND = Prepared(insert(events))


def from_columns(row: Any) -> RunRow:
    """Return the row of a run from its `COLUMNS`."""
    values = dict(row._mapping)
    spec, result = values["spec"], values["result"]
    try:
        values["spec"] = read(spec, f"run {row.id}")
        found = read(result, f"the result of run {row.id}") if result else None
        # It is the object of the contract, which has no stamp.
        values["result"] = found and {name: value for name, value in found.items() if name not in STAMP}
    except Unreadable as exc:
        # One row does not keep the others from being listed.
        values |= {"spec": {}, "result": None, "problem": str(exc)}
    return RunRow(**values)
