"""All runs of a batch stop together, those that just start too."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from pnyx.errors import Interrupted
from pnyx.run.batch import Batch
from tests.support.processes import spec
from tests.support.waiting import STALL_S


class Handle:
    """A run that is under way until it is interrupted."""

    def __init__(self) -> None:
        self.past, self.summary = (), SimpleNamespace(exhausted=None)
        self.interrupted = asyncio.Event()
        self.interrupt = self.interrupted.set

    def kill(self) -> None: ...

    async def result(self) -> Any:
        await self.interrupted.wait()
        usage = {"cost_usd": 0.0}
        return SimpleNamespace(status="paused", stop_reason="interrupted", usage=usage, detail={})


async def test_a_run_that_starts_while_its_batch_halts_is_stopped() -> None:
    starting, go = asyncio.Event(), asyncio.Event()

    async def start(_: object) -> Handle:
        starting.set()
        await go.wait()
        return Handle()

    runner: Any = SimpleNamespace(start=start)
    batch = Batch(runner)
    run = asyncio.create_task(batch.run(spec()))
    await starting.wait()
    batch.halt(Interrupted("interrupted"))
    go.set()
    with pytest.raises(Interrupted):
        await asyncio.wait_for(run, STALL_S)


class Decided(Handle):
    async def result(self) -> Any:
        return SimpleNamespace(status="decided", stop_reason="decided", usage={"cost_usd": 0.0}, detail={})


@pytest.mark.parametrize(("name", "most"), [("grading", 1), (None, 2)])
async def test_equal_requests_share_the_run_of_a_named_batch_one_after_the_other(
    name: str | None, most: int
) -> None:
    under_way = {"now": 0, "most": 0}

    async def start(*_: object) -> Handle:
        under_way["now"] += 1
        under_way["most"] = max(under_way.values())
        await asyncio.sleep(0.01)
        under_way["now"] -= 1
        return Decided()

    runner: Any = SimpleNamespace(start=start, get_or_start=start)
    batch = Batch(runner, name)
    await asyncio.gather(*(batch.run(spec()) for _ in range(2)))
    assert under_way["most"] == most
