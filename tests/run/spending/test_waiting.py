"""The order of calls that wait for room under a cap."""

from __future__ import annotations

import asyncio

import pytest

from pnyx.run.spending import waiting as module
from pnyx.run.spending.waiting import Waiting


async def test_the_calls_of_a_run_that_has_begun_go_before_those_of_older_runs_that_have_not() -> None:
    waiting, woken = Waiting(), list[str]()

    async def call(run_id: str, created_at: str) -> None:
        await waiting.wait("day", (True, created_at, run_id), wakes=waiting.wakes)
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


async def test_room_that_came_while_a_call_looked_for_it_is_looked_at_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before, it waited until it looked again for what other processes did."""
    monkeypatch.setattr(module, "POLL_S", 3600.0)
    waiting, place = Waiting(), (False, "1", "run")
    looked = waiting.wakes
    waiting.wake()
    async with asyncio.timeout(60):
        await waiting.wait("day", place, wakes=looked)
    first = asyncio.create_task(waiting.wait("day", place, wakes=waiting.wakes))
    await asyncio.sleep(0)
    # The first of its scope is woken by it, and the others have no room before.
    second = asyncio.create_task(waiting.wait("day", place, wakes=looked))
    await asyncio.sleep(0)
    assert not first.done()
    assert not second.done()
    waiting.wake()
    await first
    waiting.wake()
    await second
    assert waiting.counts() == {}
