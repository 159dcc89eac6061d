"""Which process writes a run, whether that process still lives, and whether the run waits for one."""

from __future__ import annotations

import os
import socket
import time
from functools import cache
from pathlib import Path

from ..store.runs import WORKER, RunRow

__all__ = ["BEAT_S", "LEASE_S", "alive", "held", "taken_by_worker", "this_worker", "waiting"]

BEAT_S = 5.0
LEASE_S = 30.0
"""Seconds between heartbeats, and how long a silent worker keeps its runs."""


@cache
def this_worker() -> str:
    """host:pid:start, unique to this process even when the system uses its pid again."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def alive(worker: str | None, heartbeat_at: float | None, now: float) -> bool:
    """Whether `worker` can be presumed to go on: its lease holds and, on this host, its process exists."""
    if worker is None or heartbeat_at is None or now - heartbeat_at > LEASE_S:
        return False
    host, pid, start = worker.removeprefix(WORKER).rsplit(":", 2)
    if host != socket.gethostname():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _started(int(pid)) == start


def held(row: RunRow) -> bool:
    """Whether a process can be presumed to go on with the run now."""
    return alive(row.worker, row.heartbeat_at, time.time())


def taken_by_worker(row: RunRow) -> bool:
    """Whether who writes the run is a `pnyx worker`: when it is gone, the run is another worker's."""
    return row.worker is not None and row.worker.startswith(WORKER)


def waiting(row: RunRow, now: float) -> bool:
    """Whether any worker may take the run up: nobody has yet, or a worker had that is gone."""
    if row.status != "running":
        return False
    return row.worker is None or (taken_by_worker(row) and not alive(row.worker, row.heartbeat_at, now))


def _started(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "0"  # no /proc here: the pid alone must do
    state, start = (fields := stat.rpartition(")")[2].split())[0], fields[19]
    return "dead" if state == "Z" else start
