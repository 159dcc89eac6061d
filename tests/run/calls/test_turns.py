"""Rates hold over processes: never above the stated bound, in any order of calls, ends and slow answers."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from pnyx.config.schema import Settings
from pnyx.errors import StoreError
from pnyx.run.calls.limits import Gate
from pnyx.run.calls.turns import BATCH_S, LATE_S, SharedTurns, StoredTurns
from pnyx.run.resources import RunResources
from pnyx.store import Database
from tests.support.panels import Hosts
from tests.support.properties import examples
from tests.support.virtual_time import run

ROUND_TRIP_S = 0.05


class Row:
    """The row of a host and key: as `store.rates`, in memory, with answers that take time."""

    def __init__(self, delays: list[float]) -> None:
        self.next_at, self.delays, self.asked, self.fails = 0.0, delays, 0, False

    async def reserve(self, length: float) -> tuple[float, float]:
        self.asked += 1
        if self.fails:
            raise StoreError("the database is away")
        delay = self.delays[self.asked % len(self.delays)]
        await asyncio.sleep(delay / 2)
        now = asyncio.get_running_loop().time()
        start = max(self.next_at, now)
        self.next_at = start + length
        wait = start - now
        await asyncio.sleep(delay / 2)
        return start + length, wait

    async def give_back(self, length: float, end: float) -> None:
        if end == self.next_at:
            self.next_at -= length


@dataclass(frozen=True)
class Load:
    """Calls of one process: it makes `count`, `gap` seconds apart, each giving up after `patience` seconds,
    and dies after `lives` seconds.
    """

    count: int
    gap: float
    patience: float
    lives: float


async def make_calls(turns: SharedTurns, load: Load, used: list[float]) -> None:
    clock = asyncio.get_running_loop().time

    async def call() -> None:
        async with asyncio.timeout(load.patience):
            await turns.take()
        used.append(clock())

    calls = []
    until = clock() + load.lives
    for _ in range(load.count):
        if clock() >= until:
            break
        calls.append(asyncio.create_task(call()))
        await asyncio.sleep(load.gap)
    await asyncio.wait(calls, timeout=max(until - clock(), 0))
    for one in calls:
        one.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


def most_in_a_window(times: list[float], seconds: float) -> int:
    times = sorted(times)
    return max((bisect_right(times, t + seconds) - n for n, t in enumerate(times)), default=0)


LOADS = st.builds(
    Load,
    count=st.integers(1, 80),
    gap=st.sampled_from([0.0, 0.003, 0.05, 1.0]),
    patience=st.sampled_from([0.02, 1.0, 1e6]),
    lives=st.sampled_from([0.1, 3.0, 1e6]),
)


@given(
    st.lists(LOADS, min_size=1, max_size=4),
    st.sampled_from([6.0, 300.0, 6000.0, 60_000.0]),
    st.lists(st.floats(0, ROUND_TRIP_S), min_size=1, max_size=5),
)
@examples(60)
def test_no_window_has_more_calls_than_the_rate_and_the_stated_bound(
    loads: list[Load], per_minute: float, delays: list[float]
) -> None:
    spacing, used = 60 / per_minute, list[float]()

    async def processes() -> None:
        row = Row(delays)
        await asyncio.gather(*(make_calls(SharedTurns(spacing, row), load, used) for load in loads))

    run(processes())
    for window in (0.0, spacing, 1.0, 60.0):
        most = (window + LATE_S + ROUND_TRIP_S) / spacing + 1
        assert most_in_a_window(used, window) <= most + 1e-6
    patient = sum(load.count for load in loads if load.patience == load.lives == 1e6)
    assert len(used) >= patient


@given(
    st.lists(st.floats(0, 2), min_size=1, max_size=5),
    st.sampled_from([30.0, 600.0]),
    st.sampled_from([None, 1, 3]),
    st.integers(1, 60),
)
@examples(30)
def test_calls_whose_intents_take_long_are_not_sent_together(
    commits: list[float], per_minute: float, processes: int | None, count: int
) -> None:
    """commits: seconds from the turn of a call until it could be sent. processes: None has its own turns."""
    used = list[float]()

    async def calls() -> None:
        clock = asyncio.get_running_loop().time
        row = Row([0.0])
        gates = [Gate(64, per_minute, None if processes is None else row) for _ in range(processes or 1)]

        async def call(n: int) -> None:
            async with gates[n % len(gates)].call() as slot:
                assert slot is not None
                await asyncio.sleep(commits[n % len(commits)])
                await slot.ready()
                used.append(clock())

        await asyncio.gather(*map(call, range(count)))

    run(calls())
    assert len(used) == count
    assert most_in_a_window(used, 60 - 1e-6) <= per_minute
    for window in (1.0, 5.0):
        assert most_in_a_window(used, window) <= (window + LATE_S) * per_minute / 60 + 1


def test_two_processes_that_are_always_busy_use_the_whole_rate_evenly_and_ask_seldom() -> None:
    used: list[float] = []

    async def processes() -> tuple[int, float, float]:
        row, started_at = Row([0.01]), asyncio.get_running_loop().time()
        busy = Load(2000, 0.0, 1e6, 1e6)
        await asyncio.gather(*(make_calls(SharedTurns(0.001, row), busy, used) for _ in range(2)))
        return row.asked, started_at, asyncio.get_running_loop().time()

    asked, began, ended = run(processes())
    assert 3.9 < ended - began < 4.3
    assert most_in_a_window(used, 1.0) <= 1000 * (1 + LATE_S) + 1
    assert asked < 30


def test_turns_of_a_process_that_died_are_lost_for_a_quarter_of_a_second_or_one_turn() -> None:
    async def waits(spacing: float) -> float:
        row = Row([0.0])
        dying = SharedTurns(spacing, row)
        calls = [asyncio.create_task(dying.take()) for _ in range(1000)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert dying._task is not None
        dying._task.cancel()
        for call in calls:
            call.cancel()
        clock = asyncio.get_running_loop().time
        started_at = clock()
        await SharedTurns(spacing, row).take()
        return clock() - started_at

    assert run(waits(0.001)) <= BATCH_S + 0.001
    assert run(waits(10.0)) <= 10.0


def test_a_call_that_gives_up_returns_its_turn() -> None:
    async def waited() -> float:
        row, clock = Row([0.0]), asyncio.get_running_loop().time
        here, there = SharedTurns(10.0, row), SharedTurns(10.0, row)
        await here.take()
        leaving = asyncio.create_task(here.take())
        await asyncio.sleep(1)
        leaving.cancel()
        await asyncio.sleep(0.1)
        started_at = clock()
        await there.take()
        return clock() - started_at

    assert run(waited()) <= 9


def test_without_the_database_every_waiting_call_gets_the_error_and_later_ones_try_again() -> None:
    async def failures() -> list[object]:
        row = Row([0.01])
        gate, row.fails = Gate(2, per_minute=600, source=row), True

        async def call() -> bool:
            async with gate.call() as slot:
                return slot is not None

        found: list[object] = list(await asyncio.gather(*(call() for _ in range(3)), return_exceptions=True))
        row.fails = False
        return [*found, await call(), gate.full]

    *failed, later, full = run(failures())
    assert [type(one) for one in failed] == [StoreError] * 3
    assert (later, full) == (True, False)


async def test_two_processes_on_one_postgresql_share_a_rate(postgres_url: str) -> None:
    databases = [await Database.open(postgres_url) for _ in range(2)]
    used: list[float] = []
    spacing = 60 / 3000
    loads = Load(40, 0.0, 1e6, 1e6)
    await asyncio.gather(
        *(make_calls(SharedTurns(spacing, StoredTurns(one, "host")), loads, used) for one in databases)
    )
    assert len(used) == 80
    assert max(used) - min(used) >= 79 * spacing - LATE_S - 0.1
    for database in databases:
        await database.close()


async def test_rows_of_hosts_that_nobody_calls_are_deleted(postgres_url: str) -> None:
    database = await Database.open(postgres_url)
    now = "extract(epoch FROM now())"
    add = f"INSERT INTO rates VALUES ('old', {now} - 90000), ('new', {now})"
    await database.write(lambda c: c.execute(text(add)).rowcount)
    await StoredTurns(database, "mine").reserve(0.1)
    names = await database.read(lambda c: set(c.execute(text("SELECT name FROM rates")).scalars()))
    assert names == {"new", "mine"}
    await database.close()


async def test_the_same_host_and_key_share_and_others_do_not(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await Database.open(postgres_url)
    urls = {"one": "https://a.example/v1", "again": "https://a.example/v1", "other": "https://b.example/v1"}
    providers = {
        name: {"kind": "openai", "base_url": url, "api_key_env": "LAB_KEY", "requests_per_minute": 60}
        for name, url in urls.items()
    }
    shown = Settings.model_validate({"providers": providers})

    def rows() -> list[str]:
        gates = RunResources(shown, Hosts(), database).gates  # type: ignore[arg-type]
        return [gates._row(name) for name in urls]

    monkeypatch.setenv("LAB_KEY", "a")
    first = rows()
    assert first[0] == first[1] != first[2]
    monkeypatch.setenv("LAB_KEY", "b")
    assert set(rows()).isdisjoint(first)
    await database.close()
