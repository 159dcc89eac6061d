"""The order of calls that wait for room under a cap."""

from __future__ import annotations

import asyncio

from pnyx.run.spending.waiting import Waiting


async def test_the_calls_of_a_run_that_has_begun_go_before_those_of_older_runs_that_have_not() -> None:
    waiting, woken = Waiting(), list[str]()

    async def call(run_id: str, created_at: str) -> None:
        await waiting.wait("day", (True, created_at, run_id))
        woken.append(run_id)

    calls = [asyncio.create_task(call(*run)) for run in (("older", "1"), ("younger", "2"), ("younger", "2"))]
    await asyncio.sleep(0)
    waiting.begun("younger")
    for task in calls[1:]:
        waiting.wake()
        await task
    assert woken == ["younger", "younger"]
    waiting.wake()
    await calls[0]
    assert waiting.counts() == {}
