"""Holds: what runs under a shared cap are still expected to need, as functions of a connection.

A hold is no money. It keeps younger runs from taking the room that older ones need to finish. It counts only
while its run is running and the process of the run is alive, so a crash leaves nothing to clean up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sqlalchemy import Connection, delete, func, not_, or_, select, text

from ..prepared import Prepared
from ..schema import estimates, holds, runs

__all__ = [
    "Hold",
    "IsAlive",
    "Others",
    "by_scope",
    "calls_of",
    "end",
    "factor",
    "keep",
    "learn",
    "others",
    "total",
    "usual_factor",
]

IsAlive: TypeAlias = Callable[[str | None, float | None], bool]
"""Whether the process of a run is alive, by the run's `worker` and `heartbeat_at`."""


@dataclass(frozen=True, slots=True)
class Hold:
    """What one run is expected to need, in nUSD. scopes: scope of an account -> scope of its holds.

    They are the same but for that of a day: runs take their holds with them into the next day.
    """

    run_id: str
    scopes: Mapping[str, str]
    amount: int


@dataclass(frozen=True, slots=True)
class Others:
    """The other live runs with a hold in one scope. first: how many of them go before the run.

    held: nUSD that these need beyond their reservations. reserved: nUSD reserved by all others.
    """

    first: int = 0
    held: int = 0
    reserved: int = 0


def keep(connection: Connection, hold: Hold) -> None:
    """Set the amount of the run's hold, in all its scopes."""
    rows = [{"run": hold.run_id, "scope": s, "amount": hold.amount} for s in hold.scopes.values()]
    _KEEP(connection, *rows)


def end(connection: Connection, run_id: str) -> None:
    """Remove the hold of a run, and those of other runs that ended without doing so."""
    stopped = select(runs.c.id).where(runs.c.id == holds.c.run_id, runs.c.status != "running")
    connection.execute(delete(holds).where(or_(holds.c.run_id == run_id, stopped.exists())))


def total(connection: Connection, scope: str) -> int:
    """Return the sum of all holds in a scope: at least `Others.held`, and faster."""
    return int(_TOTAL(connection, {"scope": scope})[0][0] or 0)


def by_scope(connection: Connection) -> dict[str, tuple[int, int]]:
    """Return scope -> how many running runs have a hold in it, and the sum of their holds in nUSD."""
    query = select(holds.c.scope, func.count(), func.sum(holds.c.amount_nusd)).join(runs)
    rows = connection.execute(query.where(runs.c.status == "running").group_by(holds.c.scope))
    return {scope: (int(count), int(amount or 0)) for scope, count, amount in rows}


def others(connection: Connection, run_id: str, scope: str, begun: bool, is_alive: IsAlive) -> Others:
    """Return the other live runs with a hold in `scope`. begun: whether the run has sent a call.

    Runs that have spent or reserved something go before those that have not; of two alike, the older one. Of
    two of the same time, the one with the lower id is older.
    """
    arguments = {"scope": scope, "run": run_id, "begun": int(begun)}
    rows = [row for row in _OTHERS(connection, arguments) if is_alive(row[0], row[1])]
    first, held, reserved = (sum(int(row[n] or 0) for row in rows) for n in (2, 3, 4))
    return Others(first, held, reserved)


def calls_of(kind: str) -> str:
    """The kind under which `learn` records what the calls of such runs cost, however many they are."""
    return f"{_CALLS}{kind}"


def factor(connection: Connection, kind: str) -> float | None:
    """Return the cost of finished runs of this kind as a share of the expected cost; None without one."""
    query = select(estimates.c.planned_nusd, estimates.c.spent_nusd).where(estimates.c.kind == kind)
    row = connection.execute(query).first()
    return row[1] / row[0] if row and row[0] > 0 else None


def usual_factor(connection: Connection) -> float | None:
    """Return the same of the calls of recorded runs of all kinds together; None without one.

    How many of its usual calls a run has depends on its kind: a debate may end with its first answers.
    """
    calls = estimates.c.kind.like(f"{_CALLS}%")
    for chosen in (calls, not_(calls)):  # version 0.1 and earlier runs of 0.2 have no sums of calls
        sums = select(func.sum(estimates.c.planned_nusd), func.sum(estimates.c.spent_nusd)).where(chosen)
        planned, spent = connection.execute(sums).one()
        if planned:
            return float(spent / planned)
    return None


def learn(connection: Connection, kind: str, planned: int, spent: int) -> None:
    """Record what a run was expected to cost and what it cost, in nUSD. The newest runs count most."""
    _LEARN(connection, {"kind": kind, "planned": planned, "spent": spent})


_CALLS = "calls:"
_KEEP = Prepared(
    text(
        "INSERT INTO holds (run_id, scope, amount_nusd) VALUES (:run, :scope, :amount) "
        "ON CONFLICT (run_id, scope) DO UPDATE SET amount_nusd = excluded.amount_nusd"
    )
)
_TOTAL = Prepared(text("SELECT SUM(amount_nusd) FROM holds WHERE scope = :scope"))
_LEARN = Prepared(
    text(
        "INSERT INTO estimates (kind, planned_nusd, spent_nusd) VALUES (:kind, :planned, :spent) "
        "ON CONFLICT (kind) DO UPDATE SET "
        "planned_nusd = estimates.planned_nusd / 4 * 3 + excluded.planned_nusd, "
        "spent_nusd = estimates.spent_nusd / 4 * 3 + excluded.spent_nusd"
    )
)
_OTHERS = Prepared(
    text(
        "SELECT worker, MAX(heartbeat_at), SUM(precedes), SUM(CASE WHEN needs > reserved AND precedes = 1 "
        "THEN needs - reserved ELSE 0 END), SUM(reserved) FROM ("
        "SELECT r.worker, r.heartbeat_at, h.amount_nusd AS needs, COALESCE(l.reserved_nusd, 0) AS reserved, "
        "CASE WHEN (COALESCE(l.spent_nusd + l.reserved_nusd, 0) > 0) <> (:begun = 1) THEN 1 - :begun "
        "WHEN r.created_at < me.created_at OR (r.created_at = me.created_at AND r.id < me.id) "
        "THEN 1 ELSE 0 END AS precedes FROM holds h "
        "JOIN runs r ON r.id = h.run_id JOIN runs me ON me.id = :run "
        "LEFT JOIN ledger l ON l.scope = 'run:' || h.run_id "
        "WHERE h.scope = :scope AND h.run_id <> me.id AND r.status = 'running' AND r.worker IS NOT NULL"
        ") AS live GROUP BY worker"
    )
)
