"""What a run that is under way writes: its events, their costs, and columns of its row.

The events of all runs that share a transaction are appended together: in three statements on PostgreSQL,
where each is a round trip, however many runs there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import Connection, bindparam, text, update

from ...core.events import Event
from ...core.models import NO_PAYER, Payer
from ...errors import Fenced
from ..documents.contents import SHARED_LOCK, RunContents, note_lock
from ..money.costs import COST_COLUMNS, ON_COSTS, add_cost_rows, cost_rows
from ..prepared import Prepared
from ..schema import runs
from ..store_errors import WorkError
from . import word_index
from .entries import EVENT_COLUMNS, add_event_rows, event_rows
from .run_row import pack_columns

__all__ = ["Append", "Last", "append", "append_all", "patch"]

PACKED = 32
"""Units that are packed together on SQLite: all of a large group at once would take megabytes."""
Last: TypeAlias = tuple[int, str | None]
"""The `seq` of the last event that was appended to a run, and the `stop` column of the run."""


class Append(NamedTuple):
    """Events of a run that are appended as one unit.

    columns: columns of the run's row to set with them. payer: who pays for the calls among them. used:
    contents that the run is known to use. sent_on: the day of the request that outcomes among them belong to.
    after: events that its process knows to be stored.
    """

    run_id: str
    epoch: int
    batch: Sequence[Event]
    columns: Mapping[str, Any] | None = None
    payer: Payer = NO_PAYER
    used: RunContents | None = None
    sent_on: str = ""
    after: int = 0


def append(
    connection: Connection,
    run_id: str,
    epoch: int,
    batch: Sequence[Event],
    columns: Mapping[str, Any] | None = None,
    payer: Payer = NO_PAYER,
    used: RunContents | None = None,
) -> Last:
    """Append events as one unit; see `Append`. Raises `Fenced` if the run has another epoch."""
    return append_all(connection, [Append(run_id, epoch, batch, columns, payer, used)])[0]


def append_all(connection: Connection, units: Sequence[Append]) -> list[Last]:
    """Append the events of units of any runs, in order.

    Raises `Fenced` if a run has another epoch, and `WorkError` if it has fewer events than its process knows.
    """
    if connection.dialect.name == "postgresql":
        return _append(connection, units) if units else []
    parts = (units[start : start + PACKED] for start in range(0, len(units), PACKED))
    return [last for part in parts for last in _append(connection, part)]


def _append(connection: Connection, units: Sequence[Append]) -> list[Last]:
    for unit in units:
        if unit.used is not None:
            unit.used.begin(connection)
    lasts = _advance(connection, units)
    rows = event_rows(
        connection,
        [
            (unit.run_id, last, unit.batch, unit.used)
            for unit, (last, _) in zip(units, lasts, strict=True)
            if unit.batch
        ],
    )
    costs = cost_rows((unit.run_id, unit.payer, unit.batch, unit.sent_on) for unit in units)
    if connection.dialect.name == "postgresql":
        if rows:
            _ADD(connection, _columns("event", EVENT_COLUMNS, rows) | _columns("cost", COST_COLUMNS, costs))
    else:
        add_event_rows(connection, rows)
        add_cost_rows(connection, costs)
    for unit in units:
        if unit.columns:
            patch(connection, unit.run_id, unit.columns)
    return lasts


def _advance(connection: Connection, units: Sequence[Append]) -> list[Last]:
    """Add the numbers of events to the runs, and return what each unit has then."""
    counts: Counter[tuple[str, int]] = Counter()
    for unit in units:
        counts[unit.run_id, unit.epoch] += len(unit.batch)
    if connection.dialect.name == "postgresql":
        ids, epochs = zip(*counts, strict=True)
        values = {"runs": list(ids), "epochs": list(epochs), "counts": list(counts.values())}
        found = {(row[0], row[1]): (row[2], row[3]) for row in _ADVANCE_ALL(connection, values)}
        note_lock(connection)
    else:
        rows = {one: _ADVANCE(connection, {"run": one[0], "at": one[1], "n": n}) for one, n in counts.items()}
        found = {one: tuple(advanced[0]) for one, advanced in rows.items() if advanced}
    for run_id, _ in counts.keys() - found.keys():
        raise Fenced(f"run {run_id} was taken over by another process; this one stops")
    lasts = []
    for unit in units:
        last, stop = found[unit.run_id, unit.epoch]
        if last - counts[unit.run_id, unit.epoch] < unit.after:
            raise WorkError(
                f"the database has lost the last events of run {unit.run_id}, as after a failover to a "
                "standby that was behind; to continue with those that are left: pnyx resume "
                f"{unit.run_id}, which makes lost calls again"
            )
        counts[unit.run_id, unit.epoch] -= len(unit.batch)
        lasts.append((last - counts[unit.run_id, unit.epoch], stop))
    return lasts


def patch(connection: Connection, run_id: str, columns: Mapping[str, Any]) -> None:
    """Set columns of a run's row; `result` and `spec` are objects."""
    if "result" in columns:
        word_index.update(connection, run_id, columns["result"])
    values = {**columns, **pack_columns(connection, run_id, columns)}
    changed = {f"new_{name}": value for name, value in values.items()}
    _patch(tuple(sorted(values)))(connection, {"run": run_id, **changed})


@cache
def _patch(names: tuple[str, ...]) -> Prepared:
    changed: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
    return Prepared(update(runs).where(runs.c.id == bindparam("run")).values(changed))


def _columns(prefix: str, names: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {f"{prefix}_{name}": [row[name] for row in rows] for name in names}


def _unnest(prefix: str, names: Mapping[str, str]) -> str:
    """Rows of the columns in `names`, name -> type, from a list of values for each."""
    lists = ", ".join(f"CAST(:{prefix}_{name} AS {kind}[])" for name, kind in names.items())
    return f"SELECT * FROM unnest({lists})"


_ADVANCE = Prepared(
    update(runs)
    .where(runs.c.id == bindparam("run"), runs.c.epoch == bindparam("at"))
    .values(seq=runs.c.seq + bindparam("n"))
    .returning(runs.c.seq, runs.c.stop)
)
_ADVANCE_ALL = Prepared(
    text(
        "UPDATE runs SET seq = runs.seq + these.n FROM unnest(CAST(:runs AS TEXT[]), "
        "CAST(:epochs AS INTEGER[]), CAST(:counts AS INTEGER[])) AS these (id, epoch, n) "
        "WHERE runs.id = these.id AND runs.epoch = these.epoch "
        f"RETURNING runs.id, runs.epoch, runs.seq, runs.stop, {SHARED_LOCK}"
    )
)
"""Takes the lock of contents too, which the next statement needs."""
_ADD = Prepared(
    text(
        f"WITH added AS (INSERT INTO events ({', '.join(EVENT_COLUMNS)}) "
        f"{_unnest('event', EVENT_COLUMNS)}) "
        f"INSERT INTO run_costs ({', '.join(COST_COLUMNS)}) {_unnest('cost', COST_COLUMNS)} {ON_COSTS}"
    )
)
