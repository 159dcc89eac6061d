"""Events of several runs that share a transaction are appended together, and each as if it were alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, event, select

from pnyx.core.events import CallFinished, CallStarted, Event, PhaseEntered
from pnyx.core.models import Payer
from pnyx.errors import Fenced
from pnyx.store import Database
from pnyx.store.documents.contents import RunContents
from pnyx.store.money.costs import costs_of
from pnyx.store.records import appending
from pnyx.store.records import runs as store
from pnyx.store.records.appending import Append, append_all
from pnyx.store.schema import contents

TIME = "2026-01-01T00:00:00.000Z"
LONG = "Evidence decides. " * 20
RUNS = ("one", "two", "three")


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    """A database with the runs of `RUNS`."""
    database = await Database.open(url)
    for run_id in RUNS:
        row = store.RunRow.new(run_id, "local", TIME, "single", "Why?", {"question": "Why?"})
        await database.write(lambda c, row=row: store.create(c, row))  # type: ignore[misc]
    yield database
    await database.close()


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    async with opened(database_url) as database:
        yield database


def call(n: int, prompt: str) -> list[Event]:
    """The two events of a call of seat A, which costs a dollar."""
    more: dict[str, Any] = {"time": TIME, "seat": "A", "key": f"/{n}", "attempt": 1, "model": "lab:m"}
    started = CallStarted(prompt=prompt, prompt_id="p", prompt_sha256="s", fingerprint="f", **more)
    return [started, CallFinished(text=prompt, fingerprint="f", cost_usd=1.0, **more)]


def unit(run_id: str, n: int, epoch: int = 1, used: RunContents | None = None) -> Append:
    payer = Payer("local", "single", "", {"A": "lab:m"})
    return Append(run_id, epoch, call(n, f"{LONG}{n}"), {"status": f"s{n}"}, payer, used)


async def submit(database: Database, units: Sequence[Append]) -> list[Any]:
    """Write the units in one transaction, unless one of them is refused; return their results or errors."""
    sent = [database.submit(lambda c, one=one: one, finish=append_all) for one in units]  # type: ignore[misc]
    return await asyncio.gather(*sent, return_exceptions=True)


async def state(database: Database, run_id: str) -> Any:
    def read(connection: Connection) -> Any:
        row, log = store.find(connection, run_id), store.log(connection, run_id)
        costs = [(one.calls, one.cost_usd) for one in costs_of(connection, run_id)]
        return row.seq, row.status, costs, [(one.seq, getattr(one, "key", "")) for one in log]

    return await database.read(read)


@pytest.mark.parametrize("packed", [1, 4, appending.PACKED])
async def test_units_of_several_runs_are_appended_in_their_order(
    database: Database, packed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(appending, "PACKED", packed)
    used = {run_id: RunContents() for run_id in RUNS}
    order = ("one", "two", "one", "three", "two", "one")
    results = await submit(database, [unit(run, n, used=used[run]) for n, run in enumerate(order)])
    assert results == [(2, None), (2, None), (4, None), (2, None), (4, None), (6, None)]
    for run_id in RUNS:
        places = [n for n, run in enumerate(order) if run == run_id]
        keys = [f"/{n}" for n in places for _ in range(2)]
        assert await state(database, run_id) == (
            len(keys),
            f"s{places[-1]}",
            [(len(places), float(len(places)))],
            list(enumerate(keys, 1)),
        )
    stored = await database.read(lambda c: c.execute(select(contents.c.id)).all())
    assert len(stored) == len(order)


async def test_a_unit_of_an_old_epoch_is_refused_alone(database: Database) -> None:
    await submit(database, [unit("one", 0)])
    results = await submit(
        database, [unit("two", 1), unit("one", 2, epoch=2), unit("one", 3), unit("three", 4)]
    )
    assert isinstance(results[1], Fenced)
    assert [results[0], *results[2:]] == [(2, None), (4, None), (2, None)]
    assert (await state(database, "one"))[3] == list(enumerate(("/0", "/0", "/3", "/3"), 1))


async def test_writes_between_units_see_what_came_before(database: Database) -> None:
    def count(connection: Connection) -> int:
        return len(store.log(connection, "one"))

    first = database.submit(lambda c: unit("one", 1), finish=append_all)
    between = database.submit(count)
    last = database.submit(lambda c: unit("one", 2), finish=append_all)
    assert list(await asyncio.gather(first, between, last)) == [(2, None), 2, (4, None)]


async def test_a_unit_without_events_reads_the_request_to_stop(database: Database) -> None:
    await database.write(lambda c: store.patch(c, "two", {"stop": "pause"}))
    assert await submit(database, [Append("one", 1, []), Append("two", 1, [])]) == [(0, None), (0, "pause")]
    assert await database.write(lambda c: append_all(c, [])) == []
    phase = PhaseEntered(time=TIME, key="/p", protocol="single")
    assert await submit(database, [Append("two", 1, [phase])]) == [(1, "pause")]


async def test_statements_do_not_grow_with_the_runs_of_a_transaction(postgres_url: str) -> None:
    async with opened(postgres_url) as database:
        engine = database._backend._engine  # type: ignore[attr-defined]
        seen: list[str] = []

        @event.listens_for(engine, "before_cursor_execute")
        def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
            seen.append(statement)

        payer = Payer("local", "single", "", {"A": "lab:m"})
        units = [Append(run, 1, call(n, f"{LONG}{n}"), None, payer) for n, run in enumerate(RUNS * 4)]
        assert await submit(database, units[:1]) == [(2, None)]
        of_one, seen[:] = len(seen), []
        assert len(await submit(database, units[1:])) == 11
        assert len(seen) == of_one == 4, seen
