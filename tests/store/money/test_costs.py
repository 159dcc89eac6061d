"""Costs of calls, summed as their events are written: on both databases, and as the results say."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import Connection, text

from pnyx.core.events import to_json
from pnyx.core.models import NUSD
from pnyx.errors import ProviderError
from pnyx.providers.base import Call
from pnyx.run.result import Result
from pnyx.store import Database
from pnyx.store.money import ledger
from pnyx.store.money.costs import CallCosts, costs_of, run_sums
from pnyx.store.records import runs as store
from pnyx.store.schema import run_costs
from tests.store.conftest import migrate, open_empty
from tests.support.panels import Host, seats
from tests.support.processes import Node, fixed_reply


def flaky(call: Call) -> str | Exception:
    """Replies of the small model are lost, but may be billed."""
    return ProviderError("timeout", "no answer", billed=True) if call.model == "small" else fixed_reply(call)


@asynccontextmanager
async def open_node(url: str, rule: Callable[[Call], str | Exception]) -> AsyncIterator[Node]:
    node = Node(await Database.open(url), Host(rule))
    try:
        yield node
    finally:
        await node.runner.close()


async def costs(database: Database, since: str = "") -> list[CallCosts]:
    def read(connection: Connection) -> list[CallCosts]:
        return [cost for one in run_sums(connection, since) for cost in costs_of(connection, one.run_id)]

    return await database.read(read)


def totals(found: list[CallCosts], run_id: str) -> dict[str, float]:
    of_run = [one for one in found if one.run_id == run_id]
    names = ("calls", "input_tokens", "cached_tokens", "output_tokens", "cost_usd")
    return {name: round(sum(getattr(one, name) for one in of_run), 9) for name in names}


def usage(result: Result) -> dict[str, float]:
    return {name: round(value or 0.0, 9) for name, value in result.usage.items()}


async def test_the_sums_equal_the_usage_of_the_results(database_url: str) -> None:
    async with open_node(database_url, flaky) as node:
        first = await (await node.start(options={"rounds": 2})).result()
        second = await (await node.start(owner="phone", question="And now?")).result()
        found = await costs(node.database)
        assert totals(found, first.run_id) == usage(first)
        assert totals(found, second.run_id) == usage(second)
        assert usage(first)["cost_usd"] > 0
        lost = [one for one in found if one.model == "h:small"]
        assert all(one.calls and one.cost_usd > 0 == one.output_tokens for one in lost)
        assert len(lost) == 2
        assert {(one.run_id, one.owner) for one in found} == {
            (first.run_id, "local"),
            (second.run_id, "phone"),
        }
        assert {one.protocol for one in found} == {"consensus"}
        assert sum(one.unpriced for one in found) == 0


@pytest.mark.parametrize("late_by", [timedelta(minutes=2), timedelta(hours=60)])
async def test_a_call_over_midnight_counts_on_the_day_of_its_request(
    database_url: str, monkeypatch: pytest.MonkeyPatch, late_by: timedelta
) -> None:
    """As in the ledger; after days, when the sums of that day may be stored, its cost counts once known."""
    first = datetime(2026, 3, 1, 23, 59, tzinfo=UTC)
    times = [first]
    clock = {**vars(time), "time_ns": lambda: int(times[-1].timestamp()) * 10**9}
    monkeypatch.setattr("pnyx.times.time", SimpleNamespace(**clock))

    def late(call: Call) -> str | Exception:
        times.append(first + late_by)
        return flaky(call)

    async with open_node(database_url, late) as node:
        await (await node.start()).result()
        found = await costs(node.database)
        days = sorted({"2026-03-01", times[-1].date().isoformat()})
        spent = {
            day: (await node.database.read(partial(ledger.read_account, scope=f"day:{day}"))).spent_nusd
            for day in days
        }
    counted = dict.fromkeys(days, 0)
    for one in found:
        counted[one.day] += round(one.cost_usd * NUSD)
    assert min(spent.values()) > 0
    assert sum(counted.values()) == sum(spent.values())
    if late_by < timedelta(days=1):
        assert counted == spent
    else:
        assert counted["2026-03-01"] == 0


async def test_the_dearest_runs_are_those_with_the_highest_sums(database_url: str) -> None:
    row = {"owner": "ann", "protocol": "voting", "panel": "", "unpriced": 0}
    row |= dict.fromkeys(("input_tokens", "cached_tokens", "output_tokens"), 1)
    # run, day, cost, calls; the last run is of another owner, and the first row of another day.
    found = (("a", 1, 90, 1), ("a", 2, 5, 1), ("b", 2, 4, 1), ("b", 3, 3, 1), ("c", 2, 5, 2), ("d", 2, 99, 1))

    def insert(connection: Connection) -> None:
        for run, day, cost, calls in found:
            values = row | {"run_id": run, "day": f"2026-01-0{day}", "cost_nusd": cost, "calls": calls}
            values |= {"owner": "ben"} if run == "d" else {}
            connection.execute(run_costs.insert().values(model="m", **values))

    database = await Database.open(database_url)
    await database.write(insert)
    expected = [("b", 2, 2, 7, 0), ("c", 2, 1, 5, 0), ("a", 1, 1, 5, 0)]
    for most in (None, 0, 1, 2, 3, 4):
        listed = await database.read(partial(run_sums, since="2026-01-02", owner="ann", most=most))
        sums = [(one.run_id, one.calls, one.output_tokens, one.cost_nusd, one.unpriced) for one in listed]
        assert sums == expected[:most]
        assert all(type(number) is int for one in listed for number in one[1:])
    await database.close()


async def test_a_reply_copied_into_a_fork_is_counted_once(database_url: str) -> None:
    async with open_node(database_url, fixed_reply) as node:
        first = await (await node.start(options={"rounds": 1})).result()
        fork = await (await node.runner.resume(first.run_id, fork=True)).result()
        assert fork.run_id != first.run_id
        assert totals(await costs(node.database), fork.run_id)["cost_usd"] == 0
        assert totals(await costs(node.database), first.run_id) == usage(first)


async def test_calls_without_a_price_are_counted_as_unpriced(database_url: str) -> None:
    async with open_node(database_url, fixed_reply) as node:
        unknown = seats("h:large", "h:mid", "h:small", price=None)
        await (await node.start(seats=unknown, options={"rounds": 1})).result()
        found = await costs(node.database)
        assert sum(one.unpriced for one in found) == sum(one.calls for one in found) > 0
        assert sum(one.cost_usd for one in found) == 0


async def test_earlier_days_are_left_out(database_url: str) -> None:
    async with open_node(database_url, fixed_reply) as node:
        await (await node.start(options={"rounds": 1})).result()
        (day,) = {one.day for one in await costs(node.database)}
        assert await costs(node.database, day)
        assert await costs(node.database, "9999-01-01") == []


@pytest.mark.parametrize(
    "words", ["NUL \0", "half a character \ud83d", "whole \U0001f600", "NaN", "Infinity"]
)
async def test_replies_that_the_database_cannot_read_as_json_are_counted(
    database_url: str, words: str
) -> None:
    async with open_node(database_url, lambda call: f"{call.model}: four {words}. Final answer: 4") as node:
        result = await (await node.start(options={"rounds": 1})).result()
        found = await costs(node.database)
        assert totals(found, result.run_id) == usage(result)
        assert usage(result)["cost_usd"] > 0
        assert sum(one.unpriced for one in found) == 0
        (day,) = {one.day for one in found}
        assert totals(await costs(node.database, day), result.run_id) == usage(result)
        assert await costs(node.database, "9999-01-01") == []
        fork = await (await node.runner.resume(result.run_id, fork=True)).result()
        assert totals(await costs(node.database), fork.run_id)["cost_usd"] == 0


@pytest.mark.parametrize("tool_calls", ["[]", '[{"id": "c", "arguments": {"a": NaN, "b": -Infinity}}]'])
async def test_a_database_of_an_earlier_version_has_the_same_costs(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool_calls: str
) -> None:
    """Events that are not valid JSON were stored while tool arguments could hold infinite numbers."""
    async with open_node(sqlite_url, flaky) as node:
        result = await (await node.start(options={"rounds": 2}, owner="phone")).result()
        fork = await (await node.runner.resume(result.run_id, fork=True)).result()
        expected = await costs(node.database)
        runs = [await node.database.read(partial(store.find, prefix=one.run_id)) for one in (result, fork)]
        logs = [await node.log(row.id) for row in runs]

    def fill(connection: Connection) -> None:
        migrate(connection, "0010")
        for row, log in zip(runs, logs, strict=True):
            values = {"id": row.id, "owner": row.owner, "spec": json.dumps(row.spec)}
            connection.execute(text(OLD_RUN), values)
            for event in log:
                body = json.dumps(to_json(event)).replace('"tool_calls": []', f'"tool_calls": {tool_calls}')
                row_of = {"run": row.id, "seq": event.seq, "type": event.type, "body": body}
                connection.execute(text("INSERT INTO events VALUES (:run, :seq, :type, :body)"), row_of)

    database = await open_empty(f"sqlite:///{tmp_path / 'old.db'}", monkeypatch)
    await database._backend.write([fill], repeatable=True)
    await database.close()
    migrated = await Database.open(f"sqlite:///{tmp_path / 'old.db'}")
    assert sorted(await costs(migrated), key=str) == sorted(expected, key=str)
    await migrated.close()


OLD_RUN = """
    INSERT INTO runs (id, owner, epoch, seq, status, created_at, updated_at, protocol, question, spec)
    VALUES (:id, :owner, 1, 1, 'paused', '2026', '2026', 'consensus', 'Why?', :spec)
"""
