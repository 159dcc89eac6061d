"""Rows of runs and events, as functions of a connection.

A write that is refused, such as one under an epoch that is over, raises; the engine rolls it back alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
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
from ..core.regex import regex
from ..core.text import is_text
from ..errors import Fenced, NotFound, Running, Taken, Unreadable
from . import search
from .prepared import Prepared
from .schema import events, runs

__all__ = [
    "WORKER",
    "RunRow",
    "append",
    "beat",
    "conversation",
    "create",
    "find",
    "listing",
    "log",
    "patch",
    "rows",
    "specs",
    "stopped",
    "take",
    "unattended",
]

WORKER = "worker@"
"""How the name of a process begins that is a `pnyx worker`, where a run says who writes it."""

_ID = regex("[a-z0-9]+")
"""What ids are made of, and what is sorted alike by every index of them."""
_OWNER = runs.c.owner.concat("")
"""Not by its index, which SQLite takes to be the best there is, though most runs are of one owner."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run's row. spec and result are the parsed JSON; heartbeat_at is in seconds since 1970.

    problem: why spec or result cannot be read, and are empty; see `check`.

    worker: who writes it. None where the status is "running": whichever worker takes it up.
    conversation: the id of the conversation it is a turn of, as its spec says.
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
        """A run that nobody has worked on: its first epoch, no events."""
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
    """Raises `Taken`."""
    values = {name: getattr(row, name) for name in RunRow.__slots__ if name != "problem"}
    values |= {"spec": json.dumps(stamp(row.spec)), "result": row.result and json.dumps(stamp(row.result))}
    try:
        connection.execute(insert(runs), values)
    except IntegrityError as exc:
        raise Taken(f"there is a run {row.id} already") from exc
    search.add(connection, (row.id, row.question, row.result))


def find(connection: Connection, prefix: str, owner: str | None = None) -> RunRow:
    """The run whose id begins with `prefix`. Raises `NotFound`, also when several do."""
    found: Sequence[Any] = ()
    if _ID.fullmatch(prefix):
        mine = () if owner is None else (owner == _OWNER,)
        query = select(runs).where(*mine)
        found = connection.execute(query.where(runs.c.id == prefix)).all()
        if not found:
            beginning, order = _begins(connection, runs.c.id, prefix)
            found = connection.execute(query.where(beginning).order_by(order).limit(4)).all()
    if not found:
        raise NotFound(f"no run {prefix!r}; `pnyx runs` lists them")
    if len(found) > 1:
        raise NotFound(f"run {prefix!r} is not unique: {_some([r.id for r in found])}; give more of it")
    return _row(found[0])


def _some(ids: Sequence[str]) -> str:
    """Three of them, with a sign of it where there are more."""
    return ", ".join(ids[:3]) + (" …" if len(ids) > 3 else "")


def _begins(
    connection: Connection, column: ColumnElement[Any], prefix: str
) -> tuple[ColumnElement[bool], ColumnElement[Any]]:
    """Whether the column begins with `prefix`, and an order in which all that does stands together.

    A range, which an index finds: LIKE has SQLite read every row.
    """
    ordered = column.collate("BINARY" if connection.dialect.name == "sqlite" else "C")
    return (ordered >= prefix) & (ordered < prefix + "~"), ordered


def listing(
    connection: Connection,
    *,
    status: str | None = None,
    limit: int = 20,
    owner: str | None = None,
    but: str | None = None,
    taken: bool | None = None,
) -> list[RunRow]:
    """Runs, newest first. owner: only theirs; but: not theirs. taken: whether a process has taken it up."""
    query = select(runs).order_by(runs.c.created_at.desc(), runs.c.id).limit(limit)
    if status is not None:
        query = query.where(runs.c.status == status)
    if owner is not None:
        query = query.where(runs.c.owner == owner)
    if but is not None:
        query = query.where(runs.c.owner != but)
    if taken is not None:
        query = query.where(runs.c.worker.is_not(None) if taken else runs.c.worker.is_(None))
    return [_row(row) for row in connection.execute(query)]


def specs(connection: Connection, owner: str, protocol: str) -> list[dict[str, Any]]:
    """The specs of an owner's runs of a protocol, oldest first, without those that cannot be read."""
    query = select(runs).where(runs.c.owner == owner, runs.c.protocol == protocol)
    found = map(_row, connection.execute(query.order_by(runs.c.created_at, runs.c.id)))
    return [dict(row.spec) for row in found if row.problem is None]


def rows(connection: Connection, ids: Sequence[str]) -> list[RunRow]:
    """The runs of these ids, in their order."""
    found = {row.id: _row(row) for row in connection.execute(select(runs).where(runs.c.id.in_(ids)))}
    return [found[id] for id in ids]


def conversation(connection: Connection, prefix: str, owner: str | None = None) -> list[RunRow]:
    """The runs of one conversation, in order; `prefix` begins its id or that of one of its runs.

    Raises `NotFound`, also when several conversations fit.
    """
    mine = () if owner is None else (owner == _OWNER,)

    def turns(name: str) -> list[RunRow]:
        query = select(runs).where(runs.c.conversation == name, *mine).order_by(runs.c.created_at, runs.c.id)
        return [_row(row) for row in connection.execute(query)]

    if is_text(prefix) and (whole := turns(prefix)):
        return whole
    fits = or_(*(_begins(connection, c, prefix)[0] for c in (runs.c.conversation, runs.c.id)))
    query = select(runs.c.conversation, runs.c.id).where(runs.c.conversation.is_not(None), fits, *mine)
    found = connection.execute(query).all() if _ID.fullmatch(prefix) else []
    names = {row.conversation for row in found if row.id == prefix} or {row.conversation for row in found}
    if not names:
        hint = "the id of any of its runs names it, and `pnyx runs` lists those"
        raise NotFound(f"no conversation {prefix!r}; {hint}")
    if len(names) > 1:
        told = _some(sorted(names))
        raise NotFound(f"conversation {prefix!r} is not unique: {told}; give more of it")
    return turns(names.pop())


def log(connection: Connection, run_id: str, after: int = 0) -> list[Event]:
    """The stored events of a run with a `seq` greater than `after`, in order. Raises `Unreadable`."""
    query = (
        select(events.c.seq, events.c.body)
        .where(events.c.run_id == run_id, events.c.seq > after)
        .order_by(events.c.seq)
    )
    return [_event(run_id, seq, body) for seq, body in connection.execute(query)]


def _event(run_id: str, seq: int, body: str) -> Event:
    document = read(body, f"event {seq} of run {run_id}")
    try:
        return from_json(document)
    except Unreadable as exc:
        raise Unreadable(f"run {run_id}: {exc}") from exc


def unattended(connection: Connection, limit: int) -> list[RunRow]:
    """Runs under way that nobody has taken up, or a worker has, oldest first."""
    whose = runs.c.worker.is_(None) | runs.c.worker.startswith(WORKER)
    query = select(runs).where(runs.c.status == "running", whose).order_by(runs.c.created_at).limit(limit)
    return [_row(row) for row in connection.execute(query)]


def take(
    connection: Connection,
    run_id: str,
    worker: str | None,
    now: str,
    beat_at: float,
    seen: RunRow | None = None,
) -> int:
    """Make `worker` the run's only writer: raises its epoch, which refuses every earlier writer.

    worker: None leaves it to the first worker that takes it up.
    seen: the run when it was found to be free. Raises `Running` where another was faster, who had it went on
    after all, or it was to stop: what was read of the run is then no longer all of it.
    """
    unchanged: tuple[ColumnElement[bool], ...] = ()
    if seen is not None:
        stop = runs.c.stop.is_not_distinct_from(seen.stop)
        unchanged = (runs.c.epoch == seen.epoch, runs.c.seq == seen.seq, stop)
    statement = (
        update(runs)
        .where(runs.c.id == run_id, *unchanged)
        .values(
            epoch=runs.c.epoch + 1,
            worker=worker,
            heartbeat_at=beat_at,
            updated_at=now,
            stop=None,
            status="running",
        )
        .returning(runs.c.epoch)
    )
    epoch = connection.execute(statement).scalar_one_or_none()
    if epoch is None:
        raise Running(run_id, f"run {run_id} was taken up by another process just now")
    return int(epoch)


def release(
    connection: Connection,
    run_id: str,
    epoch: int,
    status: str = "paused",
    worker: str | None = None,
) -> None:
    """Let go of a run that its worker could not end, unless another has taken it up.

    worker: let go only what it has; None: whoever has it.
    """
    mine = (runs.c.id == run_id) & (runs.c.epoch == epoch) & (runs.c.status == "running")
    if worker is not None:
        mine &= runs.c.worker == worker
    connection.execute(update(runs).where(mine).values(status=status, worker=None))


def append(
    connection: Connection,
    run_id: str,
    epoch: int,
    batch: Sequence[Event],
    columns: Mapping[str, Any] | None = None,
) -> tuple[int, str | None]:
    """Append events as one unit: (seq of the last one, what `stop` asks for).

    `columns` of the run's row change with them. Raises `Fenced` when the run has another epoch.
    """
    advanced = _ADVANCE(connection, {"n": len(batch), "run": run_id, "at": epoch})
    if not advanced:
        raise Fenced(f"run {run_id} was taken over by another process; this one stops")
    last, stop = advanced[0]
    rows = []
    for seq, item in enumerate(batch, last - len(batch) + 1):
        document = to_json(item) | {"run_id": run_id, "seq": seq}
        rows.append({"run_id": run_id, "seq": seq, "type": item.type, "body": json.dumps(stamp(document))})
    if rows:
        _APPEND(connection, *rows)
    if columns:
        patch(connection, run_id, columns)
    return last, stop


def patch(connection: Connection, run_id: str, columns: Mapping[str, Any]) -> None:
    """Set columns of a run's row; `result` and `spec` are given as objects."""
    values = {k: json.dumps(stamp(v)) if k in ("result", "spec") else v for k, v in columns.items()}
    connection.execute(update(runs).where(runs.c.id == run_id).values(**values))
    if "result" in columns:
        search.update(connection, run_id, columns["result"])


def beat(connection: Connection, worker: str, at: float) -> None:
    """Renew the lease of all runs that `worker` writes; `at` in seconds since 1970."""
    mine = (runs.c.worker == worker) & (runs.c.status == "running")
    connection.execute(update(runs).where(mine).values(heartbeat_at=at))


def stopped(connection: Connection, worker: str) -> dict[str, str]:
    """Runs of `worker` that another process wants stopped, and how: "cancel" or "pause"."""
    mine = (runs.c.worker == worker) & (runs.c.status == "running")
    query = select(runs.c.id, runs.c.stop).where(mine, runs.c.stop.is_not(None))
    return {row.id: row.stop for row in connection.execute(query)}


_ADVANCE = Prepared(
    update(runs)
    .where(runs.c.id == bindparam("run"), runs.c.epoch == bindparam("at"))
    .values(seq=runs.c.seq + bindparam("n"))
    .returning(runs.c.seq, runs.c.stop)
)
_APPEND = Prepared(insert(events))


def _row(row: Any) -> RunRow:
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
