"""Whether another process is alive, as far as this one can see it."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pnyx.run.leases.lease import LEASE_S, is_alive, this_worker
from pnyx.store import Database
from pnyx.store.clock import read_clock


@contextmanager
def without_descriptors() -> Iterator[None]:
    """This process can open no file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_process_without_descriptors_thinks_of_no_other_that_it_has_ended() -> None:
    """It took over the runs of workers that were alive."""
    name = this_worker()
    assert is_alive(name, 100.0, 100.0)
    with without_descriptors():
        assert is_alive(name, 100.0, 100.0)
    assert not is_alive(name, 100.0, 200.0)


def test_a_process_that_has_ended_or_whose_id_is_another_ones_is_not_alive() -> None:
    host, pid, start = this_worker().rsplit(":", 2)
    assert not is_alive(f"{host}:{pid}:{int(start) - 1}", 100.0, 100.0)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        started = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19]
        name = f"{host}:{process.pid}:{started}"
        assert is_alive(name, 100.0, 100.0)
        process.terminate()
        # It has ended, and its parent has not asked for its exit status yet.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(name, 100.0, 100.0)
    assert not is_alive(name, 100.0, 100.0)


async def test_with_sqlite_leases_are_by_a_clock_that_does_not_jump_when_the_time_is_set(
    tmp_path: Path,
) -> None:
    database = await Database.open(f"sqlite:///{tmp_path}/pnyx.db")
    try:
        before = time.monotonic()
        read = [await database.read(read_clock), await database.write(read_clock)]
        assert before <= min(read) <= max(read) <= time.monotonic()
    finally:
        await database.close()


@pytest.mark.parametrize("age", [0.0, LEASE_S - 5, LEASE_S + 5, -3600.0, 1e8])
def test_a_heartbeat_of_an_earlier_version_is_by_the_time_of_the_machine(age: float) -> None:
    assert is_alive(this_worker(), time.time() - age, time.monotonic()) == (0 <= age < LEASE_S)
