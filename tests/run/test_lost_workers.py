"""Runs whose workers end: a number of tries, the deadline of the first, and what their owners read."""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Callable
from typing import Any, NoReturn, cast

import pytest

from pnyx.config.schema import Settings
from pnyx.errors import ConfigError
from pnyx.interfaces.views.queue import read_queue
from pnyx.interfaces.views.records import Record, read_run
from pnyx.providers.base import Call, Completion
from pnyx.run import handle as handle_module
from pnyx.run.leases.lease import is_held, is_waiting
from pnyx.run.runner import Runner
from pnyx.run.worker import End, Worker
from pnyx.store.queue_shares import Share
from pnyx.store.records import leases
from pnyx.store.records import runs as store
from tests.support.panels import Host
from tests.support.processes import Node, fixed_reply, spec, well_formed
from tests.support.waiting import STALL_S, until

GONE = "worker@elsewhere:7:1"
MAKE = Callable[[Host], Node]


def worker_on(node: Node, **settings: Any) -> Worker:
    """A worker: another process on the same database, which lacks a queue and is given ids of runs."""
    other = node.another_process(node.host)
    changed = Settings.model_validate(other.runner.settings.model_dump() | settings)
    runner = Runner(changed, other.database, other.runner.providers, worker=True)
    return Worker(runner, cast(Any, None), 4, lambda line: None, lambda line: None)


async def lose(node: Node, run_id: str, seconds: float = 60.0) -> None:
    """Let a worker on another host take the run and end without a word, `seconds` ago."""
    row = await node.row(run_id)
    await node.database.write(lambda c: leases.take(c, run_id, GONE, "now", row, by_owner=False))
    await age(node, run_id, seconds)


async def age(node: Node, run_id: str, seconds: float) -> None:
    row = await node.row(run_id)
    times = {
        name: moment - seconds
        for name in ("heartbeat_at", "first_taken_at")
        if (moment := getattr(row, name)) is not None
    }
    await node.database.write(lambda c: store.patch(c, run_id, times))


async def shown(node: Node, run_id: str) -> Record:
    return await node.database.read(lambda c: read_run(c, run_id))


@pytest.mark.parametrize("tries", [1, 2, 3, 5])
async def test_a_run_that_ends_its_workers_is_held_back_after_so_many_tries(make: MAKE, tries: int) -> None:
    node = make(Host(fixed_reply))
    run_id = await node.runner.enqueue(spec(options={"rounds": 1}))
    settings = {"worker": {"tries": tries}}
    for _ in range(tries):
        assert is_waiting(await node.row(run_id))
        await lose(node, run_id)
    assert await worker_on(node, **settings)._run(run_id) == End.DONE
    record = await shown(node, run_id)
    assert (record.result.status, record.result.stop_reason) == ("paused", "workers_lost")
    message = record.result.detail["message"]
    assert "elsewhere" in message
    assert f"pnyx resume {run_id}" in message
    assert f"pnyx cancel {run_id}" in message
    assert node.host.sent == []
    state = await node.database.read(read_queue)
    (held,) = state.to_json()["held_back"]
    assert (held["run_id"], held["reason"], held["lost_workers"]) == (run_id, message, tries)
    # No worker takes it again, and its owner can have it tried again.
    assert await worker_on(node, **settings)._run(run_id) == End.DONE
    assert node.host.sent == []
    assert await node.runner.requeue(run_id) == run_id
    row = await node.row(run_id)
    assert (row.lost_workers, row.first_taken_at, row.held_back) == (0, None, None)
    assert await worker_on(node, **settings)._run(run_id) == End.DONE
    assert (await shown(node, run_id)).result.status == "decided"
    well_formed(await node.log(run_id))


async def test_calls_in_flight_of_a_run_that_is_held_back_are_charged_once(make: MAKE) -> None:
    node = make(Host(fixed_reply, pause=60))
    run_id = await node.runner.enqueue(spec(options={"rounds": 1}))
    handle = await worker_on(node).runner.resume(run_id)
    while not node.host.sent:  # noqa: ASYNC110 (the host has no event for it)
        await asyncio.sleep(0.01)
    await node.database.write(lambda c: store.patch(c, run_id, {"worker": GONE, "lost_workers": 2}))
    await age(node, run_id, 60)
    assert await worker_on(node)._run(run_id) == End.DONE
    usage = (await shown(node, run_id)).result.usage
    failed = [event for event in await node.log(run_id) if event.type == "call_failed"]
    assert len(failed) == usage["calls"] == 1
    assert (await node.row(run_id)).status == "paused"
    handle.kill()
    await handle.wait()


async def test_a_worker_that_stops_in_order_is_not_counted(make: MAKE) -> None:
    node = make(Host(fixed_reply))
    run_id = await node.runner.enqueue(spec(options={"rounds": 1}))
    for _ in range(4):
        row = await node.row(run_id)
        epoch = await node.database.write(
            lambda c, row=row: leases.take(c, run_id, GONE, "now", row, by_owner=False)  # type: ignore[misc]
        )
        await node.database.write(lambda c, epoch=epoch: leases.release(c, run_id, epoch, "running", GONE))  # type: ignore[misc]
    assert (await node.row(run_id)).lost_workers == 0
    assert await worker_on(node)._run(run_id) == End.DONE
    assert (await shown(node, run_id)).result.status == "decided"


async def test_a_run_that_used_up_the_open_files_of_its_workers_is_held_back(
    make: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be what needs so many: it would come to the next worker, and the next."""
    node = make(Host(fixed_reply))
    run_id = await node.runner.enqueue(spec(options={"rounds": 1}))

    async def exhausted(*_: object) -> NoReturn:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(handle_module, "drive", exhausted)
    for lost in (1, 2, 3):
        assert await worker_on(node, worker={"tries": 3})._run(run_id) == End.REQUEUE
        assert (await node.row(run_id)).lost_workers == lost
    assert await worker_on(node, worker={"tries": 3})._run(run_id) == End.DONE
    assert (await shown(node, run_id)).result.stop_reason == "workers_lost"


async def test_runs_that_lost_the_same_workers_get_their_last_try_one_by_one(make: MAKE) -> None:
    go = asyncio.Event()

    class Held(Host):
        async def complete(self, call: Call, on_text: Any = None) -> Completion:
            await go.wait()
            return await super().complete(call, on_text)

    node = make(Held(fixed_reply))
    ids = [await node.runner.enqueue(spec(options={"rounds": 1})) for _ in range(3)]
    for run_id in ids[:2]:
        await lose(node, run_id)
        await lose(node, run_id)
    worker = worker_on(node)
    last = asyncio.create_task(worker._run(ids[0]))
    await until(lambda: worker.runner.find(ids[0]))
    assert await worker._run(ids[1]) == End.RETRY
    go.set()
    assert [await worker._run(ids[2]), await last] == [End.DONE] * 2
    assert await worker._run(ids[1]) == End.DONE
    assert [(await shown(node, run_id)).result.status for run_id in ids] == ["decided"] * 3


async def test_a_runs_deadline_counts_from_the_first_worker_and_again_from_its_owners_resume(
    make: MAKE,
) -> None:
    node = make(Host(fixed_reply))
    run_id = await node.runner.enqueue(spec(options={"rounds": 1}, deadline_s=100.0))
    await lose(node, run_id, seconds=60)
    handle = await worker_on(node).runner.resume(run_id)
    assert 0 < handle.context.deadline.left <= 40
    handle.kill()
    await handle.wait()
    await age(node, run_id, 50)
    assert await worker_on(node)._run(run_id) == End.DONE
    record = await shown(node, run_id)
    assert (record.result.status, record.result.stop_reason) == ("paused", "deadline")
    await node.runner.requeue(run_id)
    handle = await worker_on(node).runner.resume(run_id)
    assert handle.context.deadline.left > 99
    assert (await handle.result()).status == "decided"


async def test_the_owner_sees_what_a_worker_lacks_until_another_one_takes_the_run(make: MAKE) -> None:
    node = make(Host(fixed_reply))
    run_id = await node.runner.enqueue(spec(options={"rounds": 1}))
    poor = worker_on(node)

    def check(names: object, beyond_text: object = ()) -> None:
        raise ConfigError("provider h needs a key: set $LAB_KEY")

    poor.runner.providers.check = check  # type: ignore[method-assign]
    assert await poor._run(run_id) == End.DECLINE
    record = await shown(node, run_id)
    assert record.result.status == "waiting"
    assert "set $LAB_KEY" in record.result.detail["message"]
    assert f"pnyx cancel {run_id}" in record.result.detail["message"]
    assert await worker_on(node)._run(run_id) == End.DONE
    record = await shown(node, run_id)
    assert (record.result.status, record.row.held_back) == ("decided", None)


@pytest.mark.parametrize("wrong_s", [-3600.0, 3600.0])
async def test_leases_hold_whatever_the_clocks_of_the_machines_say(
    make: MAKE, monkeypatch: pytest.MonkeyPatch, wrong_s: float
) -> None:
    node = make(Host(fixed_reply, pause=0.1))
    run_id = await node.runner.enqueue(spec(options={"rounds": 1}))
    right = time.time
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: right() + wrong_s)
        handle = await worker_on(node).runner.resume(run_id)
        # Its process name would show that it lives; one of another host has only its heartbeat.
        await node.database.write(lambda c: store.patch(c, run_id, {"worker": GONE}))
        await node.database.write(lambda c: leases.beat(c, GONE))
        assert is_held(await node.row(run_id))
    row = await node.row(run_id)
    assert (is_held(row), is_waiting(row)) == (True, False)
    await handle.wait()


async def test_a_worker_shares_by_the_settings_of_keys(make: MAKE) -> None:
    keys = {"nightly": {"priority": 0.5, "runs_at_once": 8}}
    worker = worker_on(make(Host(fixed_reply)), serve={"keys": keys})
    assert worker._shares == {"nightly": Share(weight=0.5, most=8)}


async def test_the_state_of_the_queue_counts_by_key_and_worker(make: MAKE) -> None:
    node = make(Host(fixed_reply))
    ids = [await node.runner.enqueue(spec(owner=owner)) for owner in ("ann", "ann", "ben")]
    await lose(node, ids[0])
    await lose(node, ids[2], seconds=0)
    state = await node.database.read(read_queue)
    assert state.to_json() == {
        "waiting": {"ann": 2},
        "running": {"ben": 1},
        "workers": {"elsewhere:7": 1},
        "held_back": [],
    }


async def test_a_failure_ends_neither_the_heartbeat_nor_the_search_for_runs(make: MAKE) -> None:
    """Without memory for a moment, a worker went on without a heartbeat, and its jobs went to others."""
    worker, problems, calls = worker_on(make(Host(fixed_reply))), list[str](), 0
    worker._report_problem = problems.append

    async def beat() -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise MemoryError

    task = asyncio.create_task(worker._every(0.0, beat))
    await until(lambda: calls > 2)
    task.cancel()
    assert [line for line in problems if "MemoryError" in line] == problems
    assert len(problems) == 1


async def test_a_worker_ends_though_its_wait_for_jobs_goes_on_when_it_is_cancelled_first(make: MAKE) -> None:
    """As procrastinate's does if a notification arrives at that moment."""
    listening, cancelled = asyncio.Event(), 0

    class Jobs:
        async def listen(self, on_job: Callable[[], None]) -> None:
            nonlocal cancelled
            listening.set()
            while True:
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    cancelled += 1
                    if cancelled > 1:
                        raise

        async def fetch(self, *_: Any) -> None: ...

        async def beat(self, _: float) -> None: ...

        async def put_back_strays(self, _: Any) -> None: ...

    worker = worker_on(make(Host(fixed_reply)))
    worker.queue = cast(Any, Jobs())
    working = asyncio.create_task(worker.work())
    await listening.wait()
    worker.stop(0.0)
    async with asyncio.timeout(STALL_S):
        await working
    assert cancelled == 2
