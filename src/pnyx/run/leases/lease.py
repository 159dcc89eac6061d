"""Which process holds the lease of a run, whether it is alive, and whether the run waits for a worker."""

from __future__ import annotations

import os
import socket
import time
from functools import cache
from pathlib import Path

from ...store.records.runs import WORKER, RunRow

__all__ = [
    "BEAT_S",
    "LEASE_S",
    "belongs_to_worker",
    "host_of",
    "is_active",
    "is_alive",
    "is_held",
    "is_waiting",
    "this_worker",
]

BEAT_S = 5.0
LEASE_S = 30.0
"""Seconds between heartbeats, and seconds without one after which a process loses its runs."""
SINCE_1970 = 1e9
"""Seconds: a monotonic clock has less, one that counts since 1970 has more."""
NO_START = "0"
"""In place of the time at which a process started, where the system does not say it."""


@cache
def this_worker() -> str:
    """Return host:pid:start, unique to this process even if the system reuses its pid."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid()) or NO_START}"


def is_alive(worker: str | None, heartbeat_at: float | None, now: float) -> bool:
    """Return whether `worker` is presumed alive: its lease is valid and, on this host, its process exists.

    heartbeat_at, now: by the database's clock. A heartbeat of the far future is none: a clock was wrong, and
    waiting for it could take years.
    If its process lives all the same, its writes are refused once another process has taken the run.
    """
    if heartbeat_at is not None and now < SINCE_1970 < heartbeat_at:
        now = time.time()  # a process of an earlier version wrote it, by another clock of this machine
    if worker is None or heartbeat_at is None or abs(now - heartbeat_at) > LEASE_S:
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
    return _started(int(pid)) in (start, None)


def host_of(worker: str | None) -> str:
    """Return the host of a process, as in `this_worker`; "" for none."""
    return (worker or "").removeprefix(WORKER).rsplit(":", 2)[0]


def is_held(row: RunRow) -> bool:
    """Return whether a process was presumed to run it when the row was read."""
    return is_alive(row.worker, row.heartbeat_at, row.read_at)


def belongs_to_worker(row: RunRow) -> bool:
    """Return whether a `pnyx worker` has the run. When that worker is gone, another one takes it."""
    return row.worker is not None and row.worker.startswith(WORKER)


def is_waiting(row: RunRow) -> bool:
    """Return whether a worker may take the run: none has it yet, or the worker that has it is gone."""
    return row.status == "running" and (row.worker is None or (belongs_to_worker(row) and not is_held(row)))


def is_active(row: RunRow) -> bool:
    """Return whether a process runs it, or a worker may take it at any time."""
    return row.status == "running" and (is_held(row) or is_waiting(row))


def _started(pid: int) -> str | None:
    """Return when a process started, or what is no start: without /proc, or of a process that has ended.

    None if it cannot be read now: a process without memory or descriptors must not think that others ended.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return NO_START  # no /proc on this system: the pid alone must be enough
    except (OSError, MemoryError):
        return None
    state, start = (fields := stat.rpartition(")")[2].split())[0], fields[19]
    return "dead" if state == "Z" else start
