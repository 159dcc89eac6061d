"""Slots for runs: never more than there are, no owner starves, and nothing is lost when one gives up."""

from __future__ import annotations

import asyncio
from collections import Counter, deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.interfaces.service.fair_slots import FairSlots
from tests.support.properties import examples


class Process:
    """Runs that start when they have a slot, and end when the test says so. started: owners, in order."""

    def __init__(self, most: int) -> None:
        self.running: Counter[str] = Counter()
        self.slots = FairSlots(most, self.running)
        self.started: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    def ask(self, owner: str, within_s: float = 60.0) -> asyncio.Task[None]:
        task = asyncio.create_task(self._start(owner, within_s))
        self.tasks.append(task)
        return task

    async def _start(self, owner: str, within_s: float) -> None:
        await self.slots.acquire(owner, within_s)
        self.running[owner] += 1
        self.started.append(owner)
        self.slots.release(owner)

    def end(self, owner: str) -> None:
        self.running[owner] -= 1
        if not self.running[owner]:
            del self.running[owner]
        self.slots.pass_on()

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def turn() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_second_key_starts_at_once_and_its_next_run_with_the_next_free_slot() -> None:
    process = Process(most=30)
    for _ in range(130):
        process.ask("ada")
    await turn()
    process.ask("bob")
    process.ask("bob")
    await turn()
    assert process.started == ["ada"] * 30 + ["bob"]
    process.end("ada")
    await turn()
    assert process.started == ["ada"] * 30 + ["bob"]
    process.end("ada")
    await turn()
    assert process.started == ["ada"] * 30 + ["bob"] * 2
    await process.close()


async def test_a_key_whose_only_run_has_ended_starts_the_next_at_once() -> None:
    process = Process(most=1)
    process.ask("ada")
    for _ in range(3):
        process.ask("bob")
    await turn()
    assert process.started == ["ada", "bob"]
    process.end("bob")
    await turn()
    assert process.started == ["ada", "bob", "bob"]
    await process.close()


async def test_keys_with_as_many_runs_take_turns() -> None:
    process = Process(most=3)
    for owner in ("ada", "bob", "eve"):
        for _ in range(10):
            process.ask(owner)
    await turn()
    for n in range(12):
        process.end(process.started[n])
        await turn()
    assert Counter(process.started[3:]) == {"ada": 4, "bob": 4, "eve": 4}
    await process.close()


async def test_one_that_gives_up_leaves_its_turn_to_the_next() -> None:
    process = Process(most=1)
    process.ask("ada")
    await turn()
    late = process.ask("ada", within_s=0.01)
    with pytest.raises(TimeoutError):
        await late
    assert process.slots.waiting("ada") == 0
    process.ask("eve")
    process.end("ada")
    await turn()
    assert process.started == ["ada", "eve"]
    await process.close()


OWNERS = ("ada", "bob", "eve")
STEPS = st.lists(st.tuples(st.sampled_from(("ask", "end", "leave")), st.sampled_from(OWNERS)), max_size=60)


@given(STEPS, st.integers(1, 4))
@examples(60)
def test_there_are_never_too_many_runs_and_never_a_free_slot_while_one_waits(
    steps: list[tuple[str, str]], most: int
) -> None:
    async def trial() -> None:
        process = Process(most)
        waiting: dict[str, deque[asyncio.Task[None]]] = {owner: deque() for owner in OWNERS}
        for step, owner in steps:
            if step == "ask":
                waiting[owner].append(process.ask(owner))
            elif step == "end" and process.running[owner]:
                process.end(owner)
            elif step == "leave" and (unfinished := [t for t in waiting[owner] if not t.done()]):
                unfinished[-1].cancel()
            await turn()
            held = sum(process.running.values())
            left = sum(process.slots.waiting(one) for one in OWNERS)
            # One more for each owner, its first.
            assert sum(process.running.values()) <= most + len(process.running)
            assert held >= most or left == 0
            assert all(process.running[one] for one in OWNERS if process.slots.waiting(one))
            assert all(process.slots.held(one) == process.running[one] for one in OWNERS)
        await process.close()

    asyncio.run(trial())
