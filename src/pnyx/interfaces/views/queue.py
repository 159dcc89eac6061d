"""The queue of `pnyx worker`: what waits and runs for each key, the workers, and what is held back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from ...run.leases.lease import host_of, is_alive
from ...store.records import leases
from ...store.records.runs import WORKER, RunRow

__all__ = ["QueueState", "read_queue"]


@dataclass(frozen=True, slots=True)
class QueueState:
    """waiting, running: key -> runs. workers: process -> its runs; a worker without a run is not seen.

    held_back: the runs that no worker starts again, oldest first.
    """

    waiting: Mapping[str, int]
    running: Mapping[str, int]
    workers: Mapping[str, int]
    held_back: Sequence[RunRow]

    def to_json(self) -> dict[str, Any]:
        """The state as one JSON object."""
        return {
            "waiting": dict(self.waiting),
            "running": dict(self.running),
            "workers": dict(self.workers),
            "held_back": [
                {
                    "run_id": row.id,
                    "owner": row.owner,
                    "since": row.updated_at,
                    "lost_workers": row.lost_workers,
                    "reason": row.held_back,
                }
                for row in self.held_back
            ],
        }


def read_queue(connection: Connection) -> QueueState:
    """Read the state of the queue from the rows of the runs. The runs of a worker that is gone wait."""
    waiting, running, workers = Counter[str](), Counter[str](), Counter[str]()
    for load in leases.loads(connection):
        if load.worker is None:
            waiting[load.owner] += load.runs
        elif load.worker.startswith(WORKER):
            alive = is_alive(load.worker, load.heartbeat_at, load.read_at)
            (running if alive else waiting)[load.owner] += load.runs
            if alive:
                workers[_short(load.worker)] += load.runs
    return QueueState(waiting, running, workers, leases.held_back(connection))


def _short(worker: str) -> str:
    """Return host:pid of a worker."""
    return f"{host_of(worker)}:{worker.rsplit(':', 2)[1]}"
