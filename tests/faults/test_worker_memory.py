"""Workers short of memory or open files: they take no further runs, and leave those they have to others."""

from __future__ import annotations

import asyncio
import os
import resource
import threading
from pathlib import Path

from tests.faults.site import CALLS, Site, Worker
from tests.faults.test_server import until


def leave(worker: Worker, size: int | None) -> None:
    """Leave the process `size` bytes of address space until its limit (`ulimit -v`); None: all."""
    pages = int(Path(f"/proc/{worker.process.pid}/statm").read_text().split()[0])
    limit = resource.RLIM_INFINITY if size is None else pages * resource.getpagesize() + size
    resource.prlimit(worker.process.pid, resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


async def test_a_worker_short_of_memory_takes_no_run_until_there_is_more(site: Site) -> None:
    worker = await asyncio.to_thread(site.worker)
    leave(worker, 30_000_000)
    await asyncio.to_thread(worker.wait_for, "takes no further runs until there is more")
    run = await site.begin()
    await asyncio.sleep(2.0)  # four times what it needs
    assert await site.status(run) == "waiting"
    assert worker.process.poll() is None
    leave(worker, None)
    (result,) = await site.over(run)
    assert result["status"] == "decided"
    assert "takes runs again" in worker.stderr
    await asyncio.to_thread(site.check, "waited for memory, then decided")


async def test_a_worker_that_runs_out_of_memory_leaves_its_runs_to_another_in_time(site: Site) -> None:
    trial = site.trial
    answered = threading.Event()
    trial.host.on("*", until=answered.is_set)
    first = await asyncio.to_thread(site.worker)
    runs = await asyncio.gather(*(site.begin(seed=n) for n in range(3)))
    await until(lambda: len(trial.host.log) == 3)
    leave(first, 10_000_000)
    await asyncio.to_thread(first.wait_for, "of memory left of")
    answered.set()
    await asyncio.to_thread(first.ended)
    assert first.process.returncode == 1
    assert [await site.status(run) for run in runs] == ["waiting"] * 3
    await asyncio.to_thread(site.worker)
    results = await site.over(*runs)
    assert {one["status"] for one in results} == {"decided"}
    assert {one["degraded"] for one in results} == {False}
    verdict = await asyncio.to_thread(site.check, "3 left to another worker, decided there")
    assert (verdict.uncertain, len(trial.host.log)) == (0, 3 * CALLS)


async def test_a_run_that_uses_up_the_memory_of_worker_after_worker_is_held_back(site: Site) -> None:
    trial = site.trial
    trial.host.latency = 600.0
    run = await site.begin()
    for n in range(1, 3):
        worker = await asyncio.to_thread(site.worker, PNYX_WORKER_TRIES="2")
        await until(lambda: len(trial.host.log) == n)  # noqa: B023 (called before the next)
        leave(worker, 10_000_000)
        await asyncio.to_thread(worker.ended)
        assert worker.process.returncode == 1
    await asyncio.to_thread(site.worker, PNYX_WORKER_TRIES="2")
    (result,) = await site.over(run)
    assert (result["status"], result["stop_reason"]) == ("paused", "workers_lost")
    listed = await asyncio.to_thread(trial.pnyx, "worker", "status")
    assert run in listed.out
    done = await asyncio.to_thread(trial.pnyx, "worker", "drop", run)
    assert f"run {run} is cancelled" in done.err
    assert len(trial.host.log) == 2
    verdict = await asyncio.to_thread(site.check, "held back after 2 workers without memory, then dropped")
    assert verdict.uncertain == 2


async def test_a_worker_that_runs_out_of_open_files_leaves_its_runs_to_another_undamaged(site: Site) -> None:
    """All of its runs failed, since no seat could connect."""
    trial = site.trial
    trial.host.latency = 1.0
    first = await asyncio.to_thread(site.worker, "--concurrency", "8")
    runs = [await site.begin(seed=n) for n in range(2)]
    await until(lambda: len(trial.host.log) >= 2)
    opened = len(os.listdir(f"/proc/{first.process.pid}/fd"))
    resource.prlimit(first.process.pid, resource.RLIMIT_NOFILE, (opened + 1, opened + 1))
    runs += [await site.begin(seed=10 + n) for n in range(4)]
    await asyncio.to_thread(first.ended)
    assert first.process.returncode == 1
    await asyncio.to_thread(site.worker)
    results = await site.over(*runs)
    assert {(one["status"], one["degraded"]) for one in results} == {("decided", False)}
    await asyncio.to_thread(site.check, "6 left to another worker, decided there")


async def test_a_worker_raises_its_soft_limit_of_open_files_for_its_runs(site: Site) -> None:
    worker = await asyncio.to_thread(site.worker, "--concurrency", "500")
    soft, hard = resource.prlimit(worker.process.pid, resource.RLIMIT_NOFILE)
    assert soft >= min(hard, 256 + 500 * 16)
    await asyncio.to_thread(site.check, "a limit for its runs")
