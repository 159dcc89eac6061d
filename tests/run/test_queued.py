"""Queued runs: recorded, taken once by a worker, put back, paused and cancelled by other processes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pnyx.errors import Running
from pnyx.interfaces.views.records import read_run
from pnyx.run.leases.lease import is_waiting
from pnyx.run.runner import Runner
from pnyx.store import keys
from pnyx.store.keys import StoredKey
from pnyx.store.records import leases
from pnyx.store.records import runs as store
from tests.support.panels import Host
from tests.support.processes import Node, account_of, die, fixed_reply, spec, well_formed
from tests.support.waiting import STALL_S


def worker_of(node: Node) -> Node:
    """A worker: another process on the same database."""
    other = node.another_process(node.host)
    other.runner = Runner(other.runner.settings, other.database, other.runner.providers, worker=True)
    return other


async def test_a_queued_run_is_recorded_like_a_started_one_and_waits(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply))
    started = await node.start(options={"rounds": 2}, budget_usd=1.0)
    await started.result()
    run_id = await node.runner.enqueue(spec(options={"rounds": 2}, budget_usd=1.0))
    row, log = await node.row(run_id), await node.log(run_id)
    assert (is_waiting(row), row.worker, row.status) == (True, None, "running")
    assert [event.type for event in log] == ["run_started"]
    assert (await account_of(node, run_id)).cap_nusd == (await account_of(node, started.run_id)).cap_nusd
    worker = worker_of(node)
    assert (await (await worker.runner.resume(run_id)).result()).status == "decided"
    well_formed(await node.log(run_id))


async def test_a_worker_that_stops_requeues_its_runs_except_one_that_is_paused(
    make: Callable[[Host], Node],
) -> None:
    # A paused run waits for its call in flight; the other one has eight, one after another or two at once.
    node = make(Host(fixed_reply, pause=1.0))
    ids = [await node.runner.enqueue(spec(options={"rounds": 2})) for _ in range(2)]
    worker = worker_of(node)
    handles = [await worker.runner.resume(run_id) for run_id in ids]
    while len(node.host.sent) < 2:  # noqa: ASYNC110 (the host has no event for it)
        await asyncio.sleep(0.01)
    with pytest.raises(Running):
        await node.runner.requeue(ids[0])
    await node.runner.pause(ids[0])
    await asyncio.wait_for(handles[0].wait(), 2 * STALL_S)
    await worker.stop()
    rows = [await node.row(run_id) for run_id in ids]
    assert [row.status for row in rows] == ["paused", "running"]
    assert [is_waiting(row) for row in rows] == [False, True]
    await node.runner.pause(ids[1])
    assert (await node.row(ids[1])).status == "paused"
    assert await node.runner.requeue(ids[0], budget_usd=2.0) == ids[0]
    assert is_waiting(await node.row(ids[0]))
    assert (await node.log(ids[0]))[-1].type == "budget"
    # The caps of a waiting run can still change; if they do not, nothing is written.
    await node.runner.requeue(ids[0], deadline_s=77.0)
    row = await node.row(ids[0])
    assert row.spec["deadline_s"] == 77.0
    await node.runner.requeue(ids[0], deadline_s=77.0)
    assert await node.row(ids[0]) == row
    await node.runner.cancel(ids[0])
    well_formed(await node.log(ids[0]))
    await worker.runner.ownership.keeper.close()


async def test_a_queued_fork_reuses_its_parents_replies(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply))
    first = await node.start(options={"rounds": 2})
    decided = await first.result()
    sent = len(node.host.sent)
    fork = await node.runner.requeue(first.run_id, fork=True)
    result = await (await worker_of(node).runner.resume(fork)).result()
    assert (result.answer, len(node.host.sent)) == (decided.answer, sent)


async def test_the_run_of_a_dead_worker_waits_and_that_of_a_dead_command_does_not(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply))
    run_id = await node.runner.enqueue(spec(options={"rounds": 2}))
    for name, waits in (("worker@elsewhere:1:1", True), ("elsewhere:1:1", False)):
        dead = {"worker": name, "heartbeat_at": time.time() - 60}
        await node.database.write(partial(store.patch, run_id=run_id, columns=dead))
        assert is_waiting(await node.row(run_id)) is waits
        matches = await node.database.read(lambda c: leases.unattended(c, 10))
        assert [row.id for row in matches] == ([run_id] if waits else [])
    recent = {"worker": "worker@elsewhere:1:1", "heartbeat_at": time.time()}
    await node.database.write(lambda c: store.patch(c, run_id, recent))
    assert not is_waiting(await node.row(run_id))


@pytest.mark.parametrize("action", ["resume", "requeue", "get_or_start", "fork"])
async def test_a_cancel_applies_even_if_the_process_died_before_it_read_it(
    make: Callable[[Host], Node], action: str
) -> None:
    node = make(Host(fixed_reply, die_before=2))
    handle = await node.runner.get_or_start(request := spec(options={"rounds": 1}), "line 7")
    await die(node, handle)
    await node.database.write(lambda c: store.patch(c, handle.run_id, {"stop": "cancel"}))
    assert (
        "cancelled"
        in (await node.database.read(lambda c: read_run(c, handle.run_id))).result.detail["message"]
    )
    host = Host(fixed_reply)
    runner = node.another_process(host).runner
    if action == "get_or_start":
        assert (await (await runner.get_or_start(request, "line 7")).result()).status == "cancelled"
    elif action == "requeue":
        assert await runner.requeue(handle.run_id) == handle.run_id
    else:
        shown = await (await runner.resume(handle.run_id, fork=action == "fork")).result()
        assert shown.status == ("decided" if action == "fork" else "cancelled")
    row = await node.database.read(lambda c: store.find(c, handle.run_id))
    assert (row.status, bool(host.sent)) == ("cancelled", action == "fork")
    well_formed(await node.log(handle.run_id))
    await runner.ownership.keeper.close()


async def test_a_cancel_during_a_takeover_is_not_lost(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply))
    handle = await node.start(options={"rounds": 1}, budget_usd=1e-9)
    await handle.result()
    prepare = node.runner.resources.prepare

    async def meanwhile(spec: Any) -> Any:
        await node.database.write(lambda c: store.patch(c, handle.run_id, {"stop": "cancel"}))
        return await prepare(spec)

    node.runner.resources.prepare = meanwhile  # type: ignore[method-assign]
    with pytest.raises(Running):
        await node.runner.resume(handle.run_id, budget_usd=1.0)
    assert (await (await node.runner.resume(handle.run_id)).result()).status == "cancelled"


async def test_a_revoked_keys_waiting_runs_are_paused_and_its_running_ones_end(
    make: Callable[[Host], Node],
) -> None:
    """They were carried out and paid for."""
    node = make(Host(fixed_reply))
    key = StoredKey("ada", "1" * 64, "2026-11-26T01:00:00.000Z")
    await node.database.write(partial(keys.add, key=key))
    running = await node.runner.start(spec(owner="ada"))
    waiting = [await node.runner.enqueue(spec(owner=name, seed=n)) for n, name in enumerate(("ada", "bob"))]
    assert await node.database.write(partial(keys.remove, name="ada")) == 1
    rows = [await node.row(run_id) for run_id in waiting]
    assert [(row.status, is_waiting(row)) for row in rows] == [("paused", False), ("running", True)]
    assert (await running.result()).status not in ("paused", "failed")
    result = await (await node.runner.resume(waiting[0])).result()
    assert result.status not in ("paused", "failed")
