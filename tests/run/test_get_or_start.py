"""A run by name: begun once, taken up again, shown; whoever asks, and however many at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from pnyx.errors import Running, Taken
from pnyx.store import runs as store
from tests.support.panels import Host
from tests.support.processes import Node, account_of, said, spec


async def test_a_named_run_starts_once_and_is_then_returned(make: Callable[[Host], Node]) -> None:
    node = make(Host(said))
    first = await node.runner.get_or_start(spec(options={"rounds": 2}), "line 7")
    decided = await first.result()
    sent = len(node.host.sent)
    again = await node.again(node.host).runner.get_or_start(spec(), "line 7")
    with pytest.raises(Taken, match="with a different request"):
        await node.runner.get_or_start(spec(question="Another?"), "line 7")
    assert again.run_id == first.run_id
    assert (await again.result()).to_json() == decided.to_json()
    assert len(node.host.sent) == sent
    assert (await node.runner.get_or_start(spec(options={"rounds": 2}), "line 8")).run_id != first.run_id
    assert (await node.runner.get_or_start(spec(owner="other"), "line 7")).run_id != first.run_id
    await node.stop()


async def test_a_named_run_that_was_stopped_is_resumed(make: Callable[[Host], Node]) -> None:
    node = make(Host(said))
    handle = await node.runner.get_or_start(spec(options={"rounds": 2}), "line 7")
    async for event in handle.events():
        if event.type == "call_finished":
            break
    await node.stop()
    later = node.again(Host(said))
    taken = await later.runner.get_or_start(spec(options={"rounds": 2}), "line 7")
    assert taken.run_id == handle.run_id
    assert (await taken.result()).status == "decided"
    assert len(node.host.sent) + len(later.host.sent) <= 8 + 2


async def test_a_resumed_named_run_has_the_new_deadline(make: Callable[[Host], Node]) -> None:
    node = make(Host(said, pause=0.2))
    short = spec(options={"rounds": 2}, deadline_s=0.3)
    late = await (await node.runner.get_or_start(short, "line 7")).result()
    assert (late.status, late.stop_reason) == ("paused", "deadline")
    done = await (
        await node.runner.get_or_start(spec(options={"rounds": 2}, deadline_s=60), "line 7")
    ).result()
    assert (done.run_id, done.status) == (late.run_id, "decided")


@pytest.mark.parametrize(("begun", "again", "cap"), [(1e-9, 1.0, 1.0), (1e-9, None, 1e9), (1.0, 1e-9, 1.0)])
async def test_a_resumed_named_run_has_the_larger_cap(
    make: Callable[[Host], Node], begun: float, again: float | None, cap: float
) -> None:
    """Beginning again without a cap lifts it; a smaller one does not take back what was granted since."""
    node = make(Host(said))
    paused = await node.runner.get_or_start(spec(options={"rounds": 2}, budget_usd=1e-9), "line 7")
    assert (await paused.result()).stop_reason == "budget"
    if begun > 1e-9:
        paused = await node.runner.resume(paused.run_id, budget_usd=begun)
        paused.kill()
        await paused.wait()
    taken = await node.runner.get_or_start(spec(options={"rounds": 2}, budget_usd=again), "line 7")
    assert ((await taken.result()).status, taken.run_id) == ("decided", paused.run_id)
    assert (await account_of(node, taken.run_id)).cap_nusd == cap * 1e9


async def test_a_queued_named_run_has_the_larger_cap(make: Callable[[Host], Node]) -> None:
    node = make(Host(said))
    run_id = await node.runner.enqueue(spec(budget_usd=0.5), "line 7")
    assert await node.runner.enqueue(spec(budget_usd=2.0), "line 7") == run_id
    assert await node.runner.enqueue(spec(budget_usd=1.0), "line 7") == run_id
    row = await node.database.read(lambda c: store.find(c, run_id))
    assert (row.spec["budget_usd"], (await account_of(node, run_id)).cap_nusd) == (2.0, 2e9)


async def test_of_two_simultaneous_starts_of_a_name_one_runs_and_the_other_raises(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(said))
    runners = (node.runner, node.again(node.host).runner)
    wanted = spec(options={"rounds": 2})
    both = await asyncio.gather(*(r.get_or_start(wanted, "line 7") for r in runners), return_exceptions=True)
    handles = [one for one in both if not isinstance(one, BaseException)]
    # Who comes second is shown the run if it is over by then.
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
    node = make(Host(said, pause=0.05))
    first = await node.runner.get_or_start(spec(options={"rounds": 1}), "line 7")
    assert await node.runner.get_or_start(spec(options={"rounds": 1}), "line 7") is first
    assert (await first.result()).status == "decided"
    assert node.runner.active == 0


async def test_of_two_simultaneous_resumes_one_continues_and_nothing_is_paid_twice(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(said))
    handle = await node.start(options={"rounds": 1})
    handle.kill()
    await handle.result()
    sent = len(node.host.sent)
    both = await asyncio.gather(
        *(node.runner.resume(handle.run_id) for _ in range(2)), return_exceptions=True
    )
    assert sum(isinstance(one, Running) for one in both) == 1
    (taken,) = [one for one in both if not isinstance(one, BaseException)]
    async with asyncio.timeout(10):
        assert [event async for event in taken.events()][-1].type == "run_finished"
    assert len(node.host.sent) - sent <= 5
    assert (node.runner.active, (await taken.result()).status) == (0, "decided")
