"""Which process writes a run: taken, renewed, released, and left to workers, as functions of a connection.

Times are those of the database's clock, see `clock`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, func, select, true, update

from ...errors import Running
from ..clock import clock
from ..schema import runs
from .run_row import RunRow, read_rows
from .runs import COLUMNS, WORKER

__all__ = [
    "Load",
    "beat",
    "count_lost",
    "decline",
    "held_back",
    "loads",
    "queue_length",
    "release",
    "stop_requests",
    "take",
    "unattended",
]


@dataclass(frozen=True, slots=True)
class Load:
    """Running runs of one owner: waiting if `worker` is None, else those that this process has."""

    owner: str
    worker: str | None
    heartbeat_at: float | None
    read_at: float
    runs: int


def take(
    connection: Connection,
    run_id: str,
    worker: str | None,
    now: str,
    seen: RunRow | None = None,
    *,
    by_owner: bool = True,
) -> int:
    """Make `worker` the only writer of the run and return the new epoch, which refuses earlier writers.

    worker: None leaves the run to the first worker that takes it.
    seen: the row as it was read. Raises `Running` if the run has changed since: another process took it, its
    process continued, or it was asked to stop. by_owner: whether its owner starts or resumes it; False:
    a worker takes what waits, and the run keeps its first start and the count of workers that it lost.
    """
    unchanged: tuple[ColumnElement[bool], ...] = ()
    if seen is not None:
        stop = runs.c.stop.is_not_distinct_from(seen.stop)
        unchanged = (runs.c.epoch == seen.epoch, runs.c.seq == seen.seq, stop)
    lost, first = 0, None
    if seen is not None and not by_owner:
        lost, first = seen.lost_workers + (seen.worker is not None), seen.first_taken_at
    statement = (
        update(runs)
        .where(runs.c.id == run_id, *unchanged)
        .values(
            epoch=runs.c.epoch + 1,
            worker=worker,
            heartbeat_at=clock(),
            updated_at=now,
            stop=None,
            status="running",
            lost_workers=lost,
            first_taken_at=clock() if first is None and worker is not None else first,
            held_back=None,
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
    """Release a run that its process could not finish, unless another process has taken it.

    worker: release it only if this process has it; None: whichever process has it.
    """
    is_held = (runs.c.id == run_id) & (runs.c.epoch == epoch) & (runs.c.status == "running")
    if worker is not None:
        is_held &= runs.c.worker == worker
    connection.execute(update(runs).where(is_held).values(status=status, worker=None))


def beat(connection: Connection, worker: str) -> None:
    """Renew the leases of all runs of `worker`."""
    is_held = (runs.c.worker == worker) & (runs.c.status == "running")
    connection.execute(update(runs).where(is_held).values(heartbeat_at=clock()))


def stop_requests(connection: Connection, worker: str) -> dict[str, str]:
    """Return the runs of `worker` that another process wants to stop -> "cancel" or "pause"."""
    is_held = (runs.c.worker == worker) & (runs.c.status == "running")
    query = select(runs.c.id, runs.c.stop).where(is_held, runs.c.stop.is_not(None))
    return {row.id: row.stop for row in connection.execute(query)}


def count_lost(connection: Connection, run_id: str) -> None:
    """Count a lost worker for a waiting run: one that ran out of memory and left it to others."""
    waits = (runs.c.id == run_id) & (runs.c.status == "running") & runs.c.worker.is_(None)
    connection.execute(update(runs).where(waits).values(lost_workers=runs.c.lost_workers + 1))


def queue_length(connection: Connection) -> tuple[int, str | None, int]:
    """Return how many runs no process has, since when the first of them waits (UTC, ISO 8601), and how many
    are held back."""
    nobody = (runs.c.status == "running") & runs.c.worker.is_(None)
    waiting = select(func.count(), func.min(runs.c.updated_at)).where(nobody)
    count, oldest = connection.execute(waiting).one()
    held = select(func.count()).where(runs.c.status == "paused", runs.c.held_back.is_not(None))
    return int(count), oldest, int(connection.execute(held).scalar_one())


def unattended(connection: Connection, limit: int) -> list[RunRow]:
    """Return running runs that have no process or a `pnyx worker`, oldest first."""
    for_workers = runs.c.worker.is_(None) | runs.c.worker.startswith(WORKER)
    query = select(*COLUMNS).where(runs.c.status == "running", for_workers)
    return list(read_rows(connection, connection.execute(query.order_by(runs.c.created_at).limit(limit))))


def decline(connection: Connection, row: RunRow, why: str) -> None:
    """Note on a waiting run why a worker could not take it, unless the run has changed since."""
    same = (runs.c.id == row.id) & (runs.c.epoch == row.epoch) & (runs.c.status == "running")
    connection.execute(update(runs).where(same).values(held_back=why))


def held_back(connection: Connection) -> list[RunRow]:
    """Return the paused runs that no worker starts again, oldest first."""
    query = select(*COLUMNS).where(runs.c.status == "paused", runs.c.held_back.is_not(None))
    return list(read_rows(connection, connection.execute(query.order_by(runs.c.created_at))))


def loads(connection: Connection, owner: str | None = None) -> Sequence[Load]:
    """Return the running runs, counted by owner and process. owner: only those of this one; None: all."""
    query = select(runs.c.owner, runs.c.worker, func.max(runs.c.heartbeat_at), clock(), func.count())
    chosen = (runs.c.owner == owner) if owner is not None else true()
    groups = query.where(runs.c.status == "running", chosen).group_by(runs.c.owner, runs.c.worker)
    return [Load(*row) for row in connection.execute(groups.order_by(runs.c.owner, runs.c.worker))]
