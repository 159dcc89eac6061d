"""A run by name: started once, resumed, returned; also for simultaneous callers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from pnyx.errors import Running, Taken
from pnyx.store.records import runs as store
from tests.support.panels import Host
from tests.support.processes import Node, account_of, fixed_reply, spec
from tests.support.waiting import STALL_S


async def test_a_named_run_starts_once_and_is_then_returned(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply))
    first = await node.runner.get_or_start(spec(options={"rounds": 2}), "line 7")
    decided = await first.result()
    sent = len(node.host.sent)
    second = await node.another_process(node.host).runner.get_or_start(spec(), "line 7")
    with pytest.raises(Taken, match="and another request; use a new one"):
        await node.runner.get_or_start(spec(question="Another?"), "line 7")
    assert second.run_id == first.run_id
    assert (await second.result()).to_json() == decided.to_json()
    assert len(node.host.sent) == sent
    assert (await node.runner.get_or_start(spec(options={"rounds": 2}), "line 8")).run_id != first.run_id
    assert (await node.runner.get_or_start(spec(owner="other"), "line 7")).run_id != first.run_id
    await node.stop()


async def test_a_named_run_that_was_stopped_is_resumed(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply))
    handle = await node.runner.get_or_start(spec(options={"rounds": 2}), "line 7")
    async for event in handle.events():
        if event.type == "call_finished":
            break
    await node.stop()
    other = node.another_process(Host(fixed_reply))
    resumed = await other.runner.get_or_start(spec(options={"rounds": 2}), "line 7")
    assert resumed.run_id == handle.run_id
    assert (await resumed.result()).status == "decided"
    assert len(node.host.sent) + len(other.host.sent) <= 8 + 2


async def test_a_resumed_named_run_has_the_new_deadline(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply, pause=0.2))
    short = spec(options={"rounds": 2}, deadline_s=0.3)
    late = await (await node.runner.get_or_start(short, "line 7")).result()
    assert (late.status, late.stop_reason) == ("paused", "deadline")
    done = await (
        await node.runner.get_or_start(spec(options={"rounds": 2}, deadline_s=60), "line 7")
    ).result()
    assert (done.run_id, done.status) == (late.run_id, "decided")


@pytest.mark.parametrize(
    ("first_cap", "second_cap", "cap"), [(1e-9, 1.0, 1.0), (1e-9, None, 1e9), (1.0, 1e-9, 1.0)]
)
async def test_a_resumed_named_run_has_the_larger_cap(
    make: Callable[[Host], Node], first_cap: float, second_cap: float | None, cap: float
) -> None:
    """A second start without a cap removes it; a smaller one does not lower a cap that was raised since."""
    node = make(Host(fixed_reply))
    paused = await node.runner.get_or_start(spec(options={"rounds": 2}, budget_usd=1e-9), "line 7")
    assert (await paused.result()).stop_reason == "budget"
    if first_cap > 1e-9:
        paused = await node.runner.resume(paused.run_id, budget_usd=first_cap)
        paused.kill()
        await paused.wait()
    resumed = await node.runner.get_or_start(spec(options={"rounds": 2}, budget_usd=second_cap), "line 7")
    assert ((await resumed.result()).status, resumed.run_id) == ("decided", paused.run_id)
    assert (await account_of(node, resumed.run_id)).cap_nusd == cap * 1e9


async def test_a_queued_named_run_has_the_larger_cap(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply))
    run_id = await node.runner.enqueue(spec(budget_usd=0.5), "line 7")
    assert await node.runner.enqueue(spec(budget_usd=2.0), "line 7") == run_id
    assert await node.runner.enqueue(spec(budget_usd=1.0), "line 7") == run_id
    row = await node.database.read(lambda c: store.find(c, run_id))
    assert (row.spec["budget_usd"], (await account_of(node, run_id)).cap_nusd) == (2.0, 2e9)


async def test_of_two_simultaneous_starts_of_a_name_one_runs_and_the_other_raises(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply))
    runners = (node.runner, node.another_process(node.host).runner)
    request = spec(options={"rounds": 2})
    both = await asyncio.gather(*(r.get_or_start(request, "line 7") for r in runners), return_exceptions=True)
    handles = [one for one in both if not isinstance(one, BaseException)]
    # The second caller gets the result if the run has ended by then.
    for refused in both:
        assert not isinstance(refused, BaseException) or isinstance(refused, Running)
    decided = [await handle.result() for handle in handles]
    assert len({result.run_id for result in decided}) == 1
    assert len(node.host.sent) == 8
    row = await node.database.read(lambda c: store.find(c, decided[0].run_id))
    assert row.epoch == 1


async def test_a_running_named_run_is_shared_by_all_callers(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply, pause=0.05))
    first = await node.runner.get_or_start(spec(options={"rounds": 1}), "line 7")
    assert await node.runner.get_or_start(spec(options={"rounds": 1}), "line 7") is first
    assert (await first.result()).status == "decided"
    assert node.runner.active == 0


async def test_of_two_simultaneous_resumes_one_continues_and_nothing_is_paid_twice(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply))
    handle = await node.start(options={"rounds": 1})
    handle.kill()
    await handle.result()
    sent = len(node.host.sent)
    both = await asyncio.gather(
        *(node.runner.resume(handle.run_id) for _ in range(2)), return_exceptions=True
    )
    assert sum(isinstance(one, Running) for one in both) == 1
    (resumed,) = [one for one in both if not isinstance(one, BaseException)]
    async with asyncio.timeout(STALL_S):
        assert [event async for event in resumed.events()][-1].type == "run_finished"
    assert len(node.host.sent) - sent <= 5
    assert (node.runner.active, (await resumed.result()).status) == (0, "decided")
