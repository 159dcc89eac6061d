"""Runs left to workers: recorded and not run, taken up once, put back, paused and cancelled elsewhere."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pnyx.errors import Running
from pnyx.interfaces.views.records import read_run
from pnyx.run.lease import waiting
from pnyx.run.runner import Runner
from pnyx.store import runs as store
from tests.support.panels import Host
from tests.support.processes import House, account_of, die, said, spec, well_formed


def worker_of(house: House) -> House:
    """Another process on the same database, a worker."""
    other = house.again(house.host)
    other.runner = Runner(other.runner.settings, other.database, other.runner.providers, worker=True)
    return other


async def row_of(house: House, run_id: str) -> store.RunRow:
    return await house.database.read(lambda c: store.find(c, run_id))


async def test_an_enqueued_run_is_recorded_as_a_begun_one_and_waits(make: Callable[[Host], House]) -> None:
    house = make(Host(said))
    begun = await house.start(options={"rounds": 2}, budget_usd=1.0)
    await begun.result()
    run_id = await house.runner.enqueue(spec(options={"rounds": 2}, budget_usd=1.0))
    row, log = await row_of(house, run_id), await house.log(run_id)
    assert (waiting(row, time.time()), row.worker, row.status) == (True, None, "running")
    assert [event.type for event in log] == ["run_started"]
    assert (await account_of(house, run_id)).cap_nusd == (await account_of(house, begun.run_id)).cap_nusd
    worker = worker_of(house)
    assert (await (await worker.runner.resume(run_id)).result()).status == "decided"
    well_formed(await house.log(run_id))


async def test_a_worker_that_stops_puts_its_runs_back_and_one_asked_to_pause_does_not(
    make: Callable[[Host], House],
) -> None:
    house = make(Host(said, pause=30.0))
    ids = [await house.runner.enqueue(spec(options={"rounds": 2})) for _ in range(2)]
    worker = worker_of(house)
    handles = [await worker.runner.resume(run_id) for run_id in ids]
    while len(house.host.sent) < 2:  # noqa: ASYNC110 (the host has no event for it)
        await asyncio.sleep(0.01)
    with pytest.raises(Running):
        await house.runner.requeue(ids[0])
    await house.runner.pause(ids[0])
    await asyncio.wait_for(handles[0].wait(), 10)
    await worker.stop()
    rows = [await row_of(house, run_id) for run_id in ids]
    assert [row.status for row in rows] == ["paused", "running"]
    assert [waiting(row, time.time()) for row in rows] == [False, True]
    await house.runner.pause(ids[1])
    assert (await row_of(house, ids[1])).status == "paused"
    assert await house.runner.requeue(ids[0], budget_usd=2.0) == ids[0]
    assert waiting(await row_of(house, ids[0]), time.time())
    assert (await house.log(ids[0]))[-1].type == "budget"
    # Of a run that waits already, its caps may still be changed; nothing is written where they are not.
    await house.runner.requeue(ids[0], deadline_s=77.0)
    row = await row_of(house, ids[0])
    assert row.spec["deadline_s"] == 77.0
    await house.runner.requeue(ids[0], deadline_s=77.0)
    assert await row_of(house, ids[0]) == row
    await house.runner.cancel(ids[0])
    well_formed(await house.log(ids[0]))
    await worker.runner._keeper.close()


async def test_a_fork_left_to_a_worker_takes_its_parents_replies(make: Callable[[Host], House]) -> None:
    house = make(Host(said))
    first = await house.start(options={"rounds": 2})
    decided = await first.result()
    sent = len(house.host.sent)
    fork = await house.runner.requeue(first.run_id, fork=True)
    result = await (await worker_of(house).runner.resume(fork)).result()
    assert (result.answer, len(house.host.sent)) == (decided.answer, sent)


async def test_a_dead_workers_run_waits_and_a_dead_commands_does_not(make: Callable[[Host], House]) -> None:
    house = make(Host(said))
    run_id = await house.runner.enqueue(spec(options={"rounds": 2}))
    for name, waits in (("worker@elsewhere:1:1", True), ("elsewhere:1:1", False)):
        gone = {"worker": name, "heartbeat_at": time.time() - 60}
        await house.database.write(partial(store.patch, run_id=run_id, columns=gone))
        assert waiting(await row_of(house, run_id), time.time()) is waits
        found = await house.database.read(lambda c: store.unattended(c, 10))
        assert [row.id for row in found] == ([run_id] if waits else [])
    fresh = {"worker": "worker@elsewhere:1:1", "heartbeat_at": time.time()}
    await house.database.write(lambda c: store.patch(c, run_id, fresh))
    assert not waiting(await row_of(house, run_id), time.time())


@pytest.mark.parametrize("again", ["resume", "requeue", "once", "fork"])
async def test_a_cancel_holds_though_the_process_died_before_it_heard_of_it(
    make: Callable[[Host], House], again: str
) -> None:
    house = make(Host(said, die_before=2))
    handle = await house.runner.once(asked := spec(options={"rounds": 1}), "line 7")
    await die(house, handle)
    await house.database.write(lambda c: store.patch(c, handle.run_id, {"stop": "cancel"}))
    assert (
        "cancelled"
        in (await house.database.read(lambda c: read_run(c, handle.run_id))).result.detail["message"]
    )
    runner, host = house.again(later := Host(said)).runner, later
    if again == "once":
        assert (await (await runner.once(asked, "line 7")).result()).status == "cancelled"
    elif again == "requeue":
        assert await runner.requeue(handle.run_id) == handle.run_id
    else:
        shown = await (await runner.resume(handle.run_id, fork=again == "fork")).result()
        assert shown.status == ("decided" if again == "fork" else "cancelled")
    row = await house.database.read(lambda c: store.find(c, handle.run_id))
    assert (row.status, bool(host.sent)) == ("cancelled", again == "fork")
    well_formed(await house.log(handle.run_id))
    await runner._keeper.close()


async def test_a_cancel_that_comes_while_a_run_is_taken_up_is_not_lost(make: Callable[[Host], House]) -> None:
    house = make(Host(said))
    handle = await house.start(options={"rounds": 1}, budget_usd=1e-9)
    await handle.result()
    prepare = house.runner.resources.prepare

    async def meanwhile(spec: Any) -> Any:
        await house.database.write(lambda c: store.patch(c, handle.run_id, {"stop": "cancel"}))
        return await prepare(spec)

    house.runner.resources.prepare = meanwhile  # type: ignore[method-assign]
    with pytest.raises(Running):
        await house.runner.resume(handle.run_id, budget_usd=1.0)
    assert (await (await house.runner.resume(handle.run_id)).result()).status == "cancelled"
