"""The ledger: spent + reserved never exceeds a cap, whatever runs in parallel."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, text

from pnyx.core.models import Price, Usage
from pnyx.errors import OutOfBudget
from pnyx.run.calls.admission import Refusal, Request, admit
from pnyx.run.spending.budget import audit
from pnyx.store import Database
from pnyx.store.money import ledger


def reserve(connection: Connection, caps: Mapping[str, int | None], amount: int) -> None:
    """Reserve the amount, or raise why it does not fit."""
    admitted = admit(connection, caps, "run:x", Request(amount, amount, amount))
    if isinstance(admitted, Refusal):
        raise admitted.error


async def test_reservations_from_two_processes_never_pass_the_cap(database_url: str) -> None:
    processes = [await Database.open(database_url) for _ in range(2)]
    await processes[0].write(lambda c: ledger.open_account(c, "day:1", 1000))

    async def spend(database: Database, i: int) -> int:
        caps = {"day:1": 1000, f"run:{i}": None}
        try:
            await database.write(lambda c: reserve(c, caps, 90))
        except OutOfBudget:
            return 0
        await database.write(lambda c: ledger.settle(c, list(caps), 90, 60))
        return 60

    spent = sum(await asyncio.gather(*(spend(processes[i % 2], i) for i in range(40))))
    account = await processes[1].read(lambda c: ledger.read_account(c, "day:1"))
    assert account.spent_nusd == spent <= 1000
    assert account.reserved_nusd == 0
    for database in processes:
        await database.close()


async def test_a_reservation_is_made_in_all_scopes_or_in_none(database_url: str) -> None:
    database = await Database.open(database_url)
    caps = {"run:a": 100, "day:1": 50}
    with pytest.raises(OutOfBudget, match="day:1"):
        await database.write(lambda c: reserve(c, caps, 60))
    assert (await database.read(lambda c: ledger.read_account(c, "run:a"))).reserved_nusd == 0
    await database.write(lambda c: reserve(c, caps, 50))
    assert (await database.read(lambda c: ledger.read_account(c, "run:a"))).reserved_nusd == 50
    await database.close()


async def test_the_account_of_a_new_day_has_the_daily_cap(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "a.db")
    with pytest.raises(OutOfBudget):
        await database.write(lambda c: reserve(c, {"day:2030-01-01": 10}, 11))
    await database.write(lambda c: reserve(c, {"day:2030-01-01": 10}, 10))
    await database.close()


@pytest.mark.parametrize(
    ("usage", "flag"),
    [
        (None, "missing"),
        (Usage(), "missing"),
        (Usage(-1, 0, 5, 0), "negative"),
        (Usage(0, 0, 5, 0), "zero"),
        (Usage(100, 0, 0, 0), "zero"),
        (Usage(100, 200, 5, 0), "inconsistent"),
        (Usage(100, 0, 5, 6), "inconsistent"),
        (Usage(10**18, 0, 5, 0), "absurd"),
        (Usage(100, 0, 10**18, 0), "absurd"),
        (Usage(math.nan, 0, 5, 0), "malformed"),  # type: ignore[arg-type]
        (Usage(100, 0, math.inf, 0), "malformed"),  # type: ignore[arg-type]
        (Usage(100, 0, None, 0), "malformed"),  # type: ignore[arg-type]
        (Usage(100.5, 0, 5, 0), "malformed"),  # type: ignore[arg-type]
        (Usage(100, 0, True, 0), "malformed"),
        ({"input_tokens": 100}, "malformed"),
        (Usage(100, 50, 5, 2), None),
        (Usage(900, 0, 5000, 0), None),
    ],
)
def test_impossible_usage_is_flagged(usage: Usage | None, flag: str | None) -> None:
    assert audit(usage, 100, 1000, has_text=True) == flag


@given(
    st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**5), st.integers(0, 10**5),
    st.floats(0, 100), st.floats(0, 100), st.none() | st.floats(0, 100), st.none() | st.floats(0, 100),
)  # fmt: skip
def test_a_reservation_covers_any_call_of_its_size(
    new: int, cached: int, plain: int, reasoning: int, i: float, o: float, c: float | None, r: float | None
) -> None:
    price = Price(i, o, c, r)
    usage = Usage(new + cached, cached, plain + reasoning, reasoning)
    assert 0 <= price.cost(usage) <= price.ceiling(usage.input_tokens, usage.output_tokens)


def test_prices_are_in_usd_per_million_tokens_with_own_rates_for_cached_and_reasoning() -> None:
    price = Price(1.0, 4.0, cached=0.1, reasoning=8.0)
    assert price.cost(Usage(1_000_000, 0, 0, 0)) == 1_000_000_000
    assert price.cost(Usage(1_000_000, 1_000_000, 0, 0)) == 100_000_000
    assert price.cost(Usage(0, 0, 1_000_000, 500_000)) == 6_000_000_000
    assert price.cost(Usage(3, 0, 0, 0)) == 3_000


async def test_transactions_that_share_two_accounts_do_not_deadlock(postgres_url: str) -> None:
    """Each transaction locks the accounts of many calls, like a group commit."""
    processes = [await Database.open(postgres_url) for _ in range(4)]

    async def spend(database: Database, run: str) -> None:
        shared = ("key:local", "day:1") if len(run) % 2 else ("day:1", "key:local")
        scopes: dict[str, int | None] = dict.fromkeys((run, *shared))
        for _ in range(8):
            await database.write(lambda c: reserve(c, scopes, 5))
            await database.write(lambda c: ledger.settle(c, list(scopes), 5, 3))

    def deadlocks(connection: Connection) -> int:
        return int(connection.execute(text("SELECT sum(deadlocks) FROM pg_stat_database")).scalar_one())

    before = await processes[0].read(deadlocks)
    await asyncio.gather(*(spend(db, f"run:{n}-{i}") for n, db in enumerate(processes) for i in range(25)))
    for database in processes:
        await database.close()  # which reports its statistics
    reopened = await Database.open(postgres_url)
    assert (await reopened.read(lambda c: ledger.read_account(c, "day:1"))).spent_nusd == 4 * 25 * 8 * 3
    assert await reopened.read(deadlocks) == before
    await reopened.close()
