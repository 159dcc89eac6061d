"""What calls cost, summed from events: the same on both databases, and what the runs say themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import text

from pnyx.core.events import CallFinished
from pnyx.errors import ProviderError
from pnyx.providers.base import Call
from pnyx.run.result import Result
from pnyx.store import Database
from pnyx.store.costs import Spent, spending
from tests.support.panels import Host, seats
from tests.support.processes import Node, said


def flaky(call: Call) -> str | Exception:
    """The small model's answers are lost on the way, and may be billed all the same."""
    return ProviderError("timeout", "no answer", billed=True) if call.model == "small" else said(call)


@asynccontextmanager
async def opened(url: str, rule: Callable[[Call], str | Exception]) -> AsyncIterator[Node]:
    node = Node(await Database.open(url), Host(rule))
    try:
        yield node
    finally:
        await node.runner.close()


async def spent(database: Database, since: str = "") -> list[Spent]:
    return await database.read(lambda connection: spending(connection, since))


def of(found: list[Spent], run_id: str) -> dict[str, float]:
    mine = [one for one in found if one.run_id == run_id]
    names = ("calls", "input_tokens", "cached_tokens", "output_tokens", "cost_usd")
    return {name: round(sum(getattr(one, name) for one in mine), 9) for name in names}


def told(result: Result) -> dict[str, float]:
    return {name: round(value or 0.0, 9) for name, value in result.usage.items()}


async def test_the_sums_are_those_of_the_runs(database_url: str) -> None:
    async with opened(database_url, flaky) as node:
        first = await (await node.start(options={"rounds": 2})).result()
        second = await (await node.start(owner="phone", question="And now?")).result()
        found = await spent(node.database)
        assert of(found, first.run_id) == told(first)
        assert of(found, second.run_id) == told(second)
        assert told(first)["cost_usd"] > 0
        lost = [one for one in found if one.model == "h:small" and not one.calls]
        assert all(one.cost_usd > 0 == one.output_tokens for one in lost)
        assert len(lost) == 2
        assert {(one.run_id, one.owner) for one in found} == {
            (first.run_id, "local"),
            (second.run_id, "phone"),
        }
        assert {one.protocol for one in found} == {"consensus"}
        assert sum(one.unpriced for one in found) == 0


async def test_a_reply_copied_into_a_fork_is_paid_once(database_url: str) -> None:
    async with opened(database_url, said) as node:
        first = await (await node.start(options={"rounds": 1})).result()
        fork = await (await node.runner.resume(first.run_id, fork=True)).result()
        assert fork.run_id != first.run_id
        assert of(await spent(node.database), fork.run_id)["cost_usd"] == 0
        assert of(await spent(node.database), first.run_id) == told(first)


async def test_an_unknown_price_is_counted_and_not_taken_for_nothing(database_url: str) -> None:
    async with opened(database_url, said) as node:
        unknown = seats("h:large", "h:mid", "h:small", price=None)
        await (await node.start(seats=unknown, options={"rounds": 1})).result()
        found = await spent(node.database)
        assert sum(one.unpriced for one in found) == sum(one.calls for one in found) > 0
        assert sum(one.cost_usd for one in found) == 0


async def test_days_before_are_left_out(database_url: str) -> None:
    async with opened(database_url, said) as node:
        await (await node.start(options={"rounds": 1})).result()
        (day,) = {one.day for one in await spent(node.database)}
        assert await spent(node.database, day)
        assert await spent(node.database, "9999-01-01") == []


@pytest.mark.parametrize(
    "words", ["NUL \0", "half a character \ud83d", "whole \U0001f600", "NaN", "Infinity"]
)
async def test_whatever_models_write_is_counted(database_url: str, words: str) -> None:
    async with opened(database_url, lambda call: f"{call.model}: four {words}. Final answer: 4") as node:
        result = await (await node.start(options={"rounds": 1})).result()
        found = await spent(node.database)
        assert of(found, result.run_id) == told(result)
        assert told(result)["cost_usd"] > 0
        assert sum(one.unpriced for one in found) == 0
        (day,) = {one.day for one in found}
        assert of(await spent(node.database, day), result.run_id) == told(result)
        assert await spent(node.database, "9999-01-01") == []
        fork = await (await node.runner.resume(result.run_id, fork=True)).result()
        assert of(await spent(node.database), fork.run_id)["cost_usd"] == 0


async def test_events_that_are_no_json_are_counted(database_url: str) -> None:
    """As they were stored while arguments of tools could hold an infinite number."""
    async with opened(database_url, said) as node:
        result = await (await node.start(options={"rounds": 1})).result()
        set_body = "UPDATE events SET body = replace(body, :none, :calls) WHERE type = 'call_finished'"
        none = '"tool_calls": []'
        calls = '"tool_calls": [{"id": "c", "name": "f", "arguments": {"a": NaN, "b": -Infinity}}]'
        await node.database.write(
            lambda c: c.execute(text(set_body), {"none": none, "calls": calls}).rowcount
        )
        assert any(e.tool_calls for e in await node.log(result.run_id) if isinstance(e, CallFinished))
        assert of(await spent(node.database), result.run_id) == told(result)
