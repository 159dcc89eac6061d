"""Which thread writes to SQLite: quick writes on that of the event loop, unless they would hold it up."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from pnyx.errors import StoreError
from pnyx.store import Database
from pnyx.store import sqlite as sqlite_module
from pnyx.store.money import ledger
from tests.support.waiting import STALL_S


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = await Database.open(tmp_path / "a.db")
    await database.write(lambda c: ledger.open_account(c, "day:1", None))
    yield database
    await database.close()


def _spend(connection: Connection) -> bool:
    """Spend one nano-dollar, and return whether the event loop's own thread does so."""
    ledger.settle(connection, ["day:1"], 0, 1)
    return threading.current_thread() is threading.main_thread()


async def _spent(database: Database) -> int:
    return await database.read(lambda c: ledger.read_account(c, "day:1").spent_nusd)


async def test_the_loop_carries_out_a_few_quick_writes_and_no_others(database: Database) -> None:
    assert await database.submit(_spend, quick=True)
    assert not await database.submit(_spend)
    assert not any(await asyncio.gather(*(database.submit(_spend, quick=True) for _ in range(20))))
    with_another = database.submit(_spend, quick=True), database.submit(_spend)
    assert not any(await asyncio.gather(*with_another))
    assert await _spent(database) == 24


async def test_a_lock_of_another_process_never_holds_up_the_loop(database: Database) -> None:
    other = sqlite3.connect(database.name, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = database.submit(_spend, quick=True)
    _, late = await asyncio.wait([waiting], timeout=0.3)  # the loop is free, or this would be past the lock
    assert late
    other.execute("COMMIT")
    other.close()
    assert not await asyncio.wait_for(waiting, STALL_S)
    assert await database.submit(_spend, quick=True)
    assert await _spent(database) == 2


async def test_a_lock_that_lasts_is_waited_for_as_long_as_by_any_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_module, "BUSY_S", 0.4)
    database = await Database.open(tmp_path / "a.db")
    await database.write(lambda c: ledger.open_account(c, "day:1", None))
    other = sqlite3.connect(database.name, isolation_level=None)
    for quick in (True, False):  # the second one shows that the first one left the patience as it was
        other.execute("BEGIN IMMEDIATE")
        start = time.monotonic()
        with pytest.raises(StoreError, match="locked"):
            await database.submit(_spend, quick=quick)
        assert time.monotonic() - start >= 0.4
        other.execute("COMMIT")
    other.close()
    assert await database.submit(_spend, quick=True)
    await database.close()


async def test_behind_a_slow_write_the_thread_writes_for_a_while(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_module, "SLOW_S", 0.05)
    monkeypatch.setattr(sqlite_module, "REST", 5)

    def slow(connection: Connection) -> bool:
        time.sleep(0.1)
        return _spend(connection)

    start = time.monotonic()
    assert await database.submit(slow, quick=True)
    where: list[bool] = []
    while not (where and where[-1]):
        assert time.monotonic() - start < STALL_S
        where.append(await database.submit(_spend, quick=True))
    assert len(where) > 1
    assert time.monotonic() - start >= 0.5


async def test_the_loop_and_the_thread_never_use_the_connection_together(database: Database) -> None:
    begun, let_go = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def long(connection: Connection) -> bool:
        loop.call_soon_threadsafe(begun.set)
        assert let_go.wait(STALL_S)
        return _spend(connection)

    apart = asyncio.ensure_future(database.apart(long))
    await asyncio.wait_for(begun.wait(), STALL_S)
    behind = database.submit(_spend, quick=True)
    await asyncio.wait([behind], timeout=0.05)
    assert not behind.done()
    let_go.set()
    assert not any(await asyncio.gather(apart, behind))
    assert await database.submit(_spend, quick=True)


def _refused(connection: Connection) -> bool:
    ledger.settle(connection, ["day:1"], 0, 1)
    raise ValueError("refused")


KINDS: dict[str, Callable[[Database], Any]] = {
    "quick": lambda database: database.submit(_spend, quick=True),
    "refused": lambda database: database.submit(_refused, quick=True),
    "usual": lambda database: database.submit(_spend),
    "apart": lambda database: database.apart(_spend),
    "turn": lambda database: asyncio.sleep(0),
}


@given(st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.booleans()), max_size=30))
@settings(max_examples=25)
def test_whatever_is_written_by_either_thread_is_written_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, bool]]
) -> None:
    async def write() -> None:
        database = await Database.open(tmp_path_factory.mktemp("mixed") / "a.db")
        await database.write(lambda c: ledger.open_account(c, "day:1", None))
        pending = []
        for kind, waits in steps:
            pending.append(asyncio.ensure_future(KINDS[kind](database)))
            if waits:
                await asyncio.wait(pending)
        done = await asyncio.gather(*pending, return_exceptions=True)
        refused = [isinstance(one, ValueError) for one in done]
        assert refused == [kind == "refused" for kind, _ in steps]
        assert await _spent(database) == sum(kind in ("quick", "usual", "apart") for kind, _ in steps)
        await database.close()

    asyncio.run(write())
