"""PostgreSQL that keeps its connections open and answers nothing: waited for, but not without a limit."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url

from pnyx.errors import StoreError
from pnyx.store import Database, postgresql, queue
from pnyx.store.money import ledger
from pnyx.store.queue import Queue
from tests.store.test_postgresql import at_port, settle_one, spent
from tests.support.breaking_proxy import BreakingProxy
from tests.support.postgres import PostgresServer

LONG_S = 40.0
"""Less than what pnyx waited for, which had no end; more than all limits of these tests together."""


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits, a tenth as long."""
    monkeypatch.setattr(postgresql, "SILENT_S", 1.5)
    monkeypatch.setattr(postgresql, "READ_S", 1.5)
    monkeypatch.setattr(postgresql, "PING_S", 0.5)
    monkeypatch.setattr(postgresql, "AWAY_S", 3.0)
    monkeypatch.setattr(queue, "SILENT_S", 1.5)


async def test_a_server_that_hangs_is_an_error_with_what_to_check_and_works_when_it_wakes(
    postgres: PostgresServer, postgres_url: str
) -> None:
    database, jobs = await Database.open(postgres_url), await Queue.open(postgres_url)
    await database.write(lambda c: ledger.open_account(c, "run:x", None))
    started = time.monotonic()
    with postgres.frozen():
        refused = await asyncio.gather(
            database.write(settle_one),
            spent(database),
            database.check(),
            Database.open(postgres_url),
            jobs.defer("r1", "me"),
            return_exceptions=True,
        )
        for error in refused:
            assert isinstance(error, StoreError), error
            assert re.search(r"no answer within .*; check that the server", str(error))
        assert time.monotonic() - started < LONG_S
    # What was sent to the hanging server may be carried out when it wakes, once.
    before = await spent(database)
    assert before in (0, 1)
    await database.write(settle_one)
    assert await spent(database) == before + 1
    await jobs.defer("r1", "me")
    assert await jobs.queued_runs(["r1"]) == {"r1": True}
    await jobs.close()
    await database.close()


async def test_writes_wait_for_a_server_that_hangs_for_a_moment_and_are_applied_once(
    postgres: PostgresServer, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "AWAY_S", 30.0)
    database = await Database.open(postgres_url)
    await database.write(lambda c: ledger.open_account(c, "run:x", None))
    with postgres.frozen():
        written = [database.submit(settle_one) for _ in range(3)]
        await asyncio.sleep(3 * postgresql.SILENT_S)
        assert not any(one.done() for one in written)
    assert [await one for one in written] == ["its result"] * 3
    assert await spent(database) == 3
    await database.close()


@pytest.mark.parametrize("way", ["silent", "mute"])
@pytest.mark.parametrize("message", [b"INSERT INTO writers", b"UPDATE ledger", b"COMMIT"])
async def test_a_connection_that_carries_nothing_any_longer_is_replaced_and_the_write_applied_once(
    postgres_url: str, way: str, message: bytes
) -> None:
    """As behind a proxy or a firewall that drops it without a word, while the proxy's end stays alive."""
    await (await Database.open(postgres_url)).close()
    async with BreakingProxy(make_url(postgres_url).port or 0, message, [way]) as silent:
        database = await Database.open(at_port(postgres_url, silent.port))
        await database.write(lambda c: ledger.open_account(c, "run:x", None))
        await database.write(settle_one)
        await database.write(settle_one)
        assert (silent.cut, await spent(database)) == (1, 2)
        await database.close()


async def test_the_next_host_of_an_address_is_tried_if_one_hangs(
    postgres: PostgresServer, postgres_url: str
) -> None:
    """asyncpg has one limit for all hosts: the one that hangs used it up."""
    async with BreakingProxy(postgres.port, b"", ["silent"] * 100) as hanging:
        url = make_url(postgres_url)
        hosts = f"host=127.0.0.1,127.0.0.1&port={hanging.port},{postgres.port}"
        address = f"postgresql://{url.username}:{url.password}@/{url.database}?{hosts}"
        database = await Database.open(address)
        assert await database.read(lambda c: c.execute(text("SELECT 7")).scalar()) == 7
        assert hanging.connected == 1  # a slow test may give up before it sends anything
        await database.close()


async def test_a_statement_of_a_migration_may_take_any_time(postgres_url: str) -> None:
    database = await Database.open(postgres_url)

    def slow(connection: Connection) -> Any:
        postgresql.allow_any_time(connection)
        return connection.execute(text("SELECT 7, pg_sleep(2.5)")).scalar()

    assert await database.write(slow) == 7
    await database.close()
