"""Limits of keys hold over all servers of one PostgreSQL database, which each counted for themselves."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, text

from pnyx.errors import OverLimit
from pnyx.interfaces.http.usage import WINDOW_S, StoredRate
from pnyx.interfaces.records.runs import RunRecords
from pnyx.store import Database, rates
from pnyx.store.records import runs as store
from tests.interfaces.http.test_limits import ask, refused
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle, open_server

Servers = Sequence[ServerHandle]


@pytest.fixture(autouse=True)
def _shared_database(lab: ScriptedHost, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PNYX_DATABASE", postgres_url)


@asynccontextmanager
async def two_servers(**limits: Any) -> AsyncIterator[Servers]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(open_server(keys={"ada": limits})) for _ in range(2)]


async def test_requests_a_minute_are_counted_over_servers(lab: ScriptedHost) -> None:
    async with two_servers(requests_per_minute=5) as servers:
        ada, bob = await servers[0].key("ada"), await servers[0].key("bob")
        found = []
        for n in range(10):
            async with servers[n % 2].client(ada) as client:
                found.append(await client.get("/v1/runs"))
        assert [one.status_code for one in found] == [200] * 5 + [429] * 5
        for one in found[5:]:
            assert 1 <= refused(one, "over_limit", "requests_per_minute", "[serve.keys.ada]") <= 60
        for server in servers:
            async with server.client(bob) as client:
                assert (await client.get("/v1/runs")).status_code == 200


async def test_of_many_requests_to_two_servers_no_more_runs_start_than_the_key_may_have(
    lab: ScriptedHost,
) -> None:
    lab.on("*", hang=True)
    async with two_servers(runs_at_once=3) as servers:
        ada, bob = await servers[0].key("ada"), await servers[0].key("bob")
        answers = await asyncio.gather(*(ask(servers[n % 2], ada) for n in range(12)))
        assert sorted(answer.status_code for answer in answers) == [202] * 3 + [429] * 9
        for answer in answers:
            if answer.status_code == 429:
                assert refused(answer, "over_limit", "runs_at_once", "[serve.keys.ada]") >= 1
        for server in servers:
            assert refused(await ask(server, ada), "over_limit", "3 runs under way") >= 1
            assert (await ask(server, bob)).status_code == 202
        started = [one.json()["run_id"] for one in answers if one.status_code == 202]
        for server in servers:
            if (handle := server.service.handle(started[0])) is not None:
                await server.service.cancel(started[0])
                await handle.wait()
        begun = [(await ask(server, ada)).status_code for server in servers]
        assert begun == [202, 429]


async def test_a_resumed_run_counts_too(lab: ScriptedHost) -> None:
    lab.on("*", hang=True)
    async with two_servers(runs_at_once=1) as servers:
        ada = await servers[0].key("ada")
        first = (await ask(servers[0], ada)).json()["run_id"]
        handle = servers[0].service.handle(first)
        assert handle is not None
        handle.kill()
        await handle.wait()
        assert (await ask(servers[1], ada)).status_code == 202
        async with servers[0].client(ada) as client:
            refused(await client.post(f"/v1/runs/{first}/resume", json={}), "over_limit", "runs_at_once")
        with pytest.raises(OverLimit):
            await servers[0].runner.resume(first, owner="ada")
        row = await servers[0].service.find(first)
        assert row.status == "paused"


async def test_runs_of_a_server_that_was_killed_do_not_count(lab: ScriptedHost) -> None:
    lab.on("*", hang=True)
    async with two_servers(runs_at_once=1) as servers:
        ada = await servers[0].key("ada")
        run_id = (await ask(servers[0], ada)).json()["run_id"]
        assert (await ask(servers[1], ada)).status_code == 429
        left = {"worker": "elsewhere:7:1", "heartbeat_at": 0.0}
        await servers[1].runner.database.write(lambda c: store.patch(c, run_id, left))
        assert (await ask(servers[1], ada)).status_code == 202


@pytest.mark.parametrize("seed", range(3))
async def test_in_no_minute_are_there_more_requests_to_all_servers_than_allowed(
    postgres_url: str, seed: int
) -> None:
    draw, most, now, accepted = random.Random(seed), 4, 0.0, list[float]()
    databases = [await Database.open(postgres_url) for _ in range(2)]
    clocks = [StoredRate(RunRecords(database), lambda: now) for database in databases]
    for _ in range(60):
        gap = draw.choice([0.0, 0.0, 1.5, 9.5, 30.5])
        now += gap
        await databases[0].apart(partial(later, seconds=gap))
        rate = draw.choice(clocks)
        if sum(at + WINDOW_S > now for at in accepted) < most:
            await rate.count("ada", most)
            accepted.append(now)
            continue
        with pytest.raises(OverLimit) as refusal:
            await rate.count("ada", most)
        wait_s = refusal.value.retry_after_s
        assert wait_s - 1 <= accepted[-most] + WINDOW_S - now <= wait_s + 0.5
    assert len(accepted) > 3 * most
    for database in databases:
        await database.close()


def later(connection: Connection, seconds: float) -> None:
    """Let time pass for all places."""
    connection.execute(
        text("UPDATE rates SET next_at = next_at - :s WHERE name LIKE 'place:%'"), {"s": seconds}
    )


async def test_a_count_outlives_a_day_without_requests_and_a_new_limit_has_new_places(
    postgres_url: str,
) -> None:
    database = await Database.open(postgres_url)
    rate = StoredRate(RunRecords(database))
    for _ in range(3):
        await rate.count("ada", 4)
    await database.apart(lambda c: later(c, 100_000.0))
    await database.apart(rates.forget_idle)
    for _ in range(4):
        await rate.count("ada", 4)
    with pytest.raises(OverLimit):
        await rate.count("ada", 4)
    await rate.count("ada", 5)
    names = await database.read(lambda c: c.execute(text("SELECT count(*) FROM rates")).scalar_one())
    assert names == 4 + 1 + 1 + 1
    await database.close()
