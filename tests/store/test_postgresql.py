"""PostgreSQL that is away for a while: writes wait, and nothing is written twice."""

from __future__ import annotations

import asyncio
import random
import socket
import time
from pathlib import Path
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url
from sqlalchemy.util import await_only

import pnyx
from pnyx.errors import StoreError
from pnyx.run.leases.lease import LEASE_S
from pnyx.store import Database, postgresql
from pnyx.store.money import ledger
from pnyx.store.queue import Queue
from tests.support.breaking_proxy import WAYS, BreakingProxy
from tests.support.postgres import PostgresServer


def at_port(url: str, port: int) -> str:
    return make_url(url).set(port=port).render_as_string(hide_password=False)


async def spent(database: Database) -> int:
    return (await database.read(lambda c: ledger.read_account(c, "run:x"))).spent_nusd


async def marks(database: Database) -> int:
    return await database.read(lambda c: c.execute(text("SELECT count(*) FROM writers")).scalar_one())


def settle_one(connection: Connection) -> str:
    ledger.settle(connection, ["run:x"], 0, 1)
    return "its result"


@pytest.mark.parametrize("way", WAYS)
async def test_a_commit_whose_response_is_lost_is_applied_once(
    postgres_url: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "SILENT_S", 1.0)
    await (await Database.open(postgres_url)).close()
    async with BreakingProxy(make_url(postgres_url).port or 0, b"COMMIT", ["", way]) as cutting:
        database = await Database.open(at_port(postgres_url, cutting.port))
        await database.write(lambda c: ledger.open_account(c, "run:x", None))
        result = await database.write(settle_one)
        assert (result, cutting.cut, await spent(database)) == ("its result", 1, 1)
        await database.close()


async def test_writes_are_applied_once_despite_many_lost_connections(postgres_url: str) -> None:
    await (await Database.open(postgres_url)).close()
    draw = random.Random(7)
    ways = [draw.choice(["", "before", "after", "late"]) for _ in range(24)]
    async with BreakingProxy(make_url(postgres_url).port or 0, b"COMMIT", ways, late_s=0.05) as cutting:
        database = await Database.open(at_port(postgres_url, cutting.port))
        await database.write(lambda c: ledger.open_account(c, "run:x", None))
        for n in range(10):
            await database.write(lambda c: ledger.settle(c, ["run:x"], 0, 1))
            assert await spent(database) == n + 1
        assert cutting.cut >= 8
        await database.close()


async def test_an_interrupted_statement_is_tried_again(postgres_url: str) -> None:
    await (await Database.open(postgres_url)).close()
    async with BreakingProxy(make_url(postgres_url).port or 0, b"pg_sleep", ["before", "after"]) as cutting:
        database = await Database.open(at_port(postgres_url, cutting.port))
        assert await database.read(lambda c: c.execute(text("SELECT 7, pg_sleep(0)")).scalar()) == 7
        assert cutting.cut == 2
        await database.close()


async def test_a_server_that_restarts_is_waited_for(postgres: PostgresServer, postgres_url: str) -> None:
    database = await Database.open(postgres_url)
    await database.write(lambda c: ledger.open_account(c, "run:x", None))
    postgres.stop(at_once=True)
    written = database.submit(lambda c: ledger.settle(c, ["run:x"], 0, 1))
    read = asyncio.create_task(spent(database))
    try:
        await asyncio.sleep(0.3)
        assert not written.done()
        assert not read.done()
    finally:
        await asyncio.to_thread(postgres.start)
    await written
    assert await read in (0, 1)
    assert await spent(database) == 1
    await database.close()


async def test_a_process_that_stops_in_a_transaction_loses_its_locks_and_writes_once_when_it_wakes(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It kept them, and every process that shares a row with it waited."""
    monkeypatch.setattr(postgresql, "_END_SILENT", "SET idle_in_transaction_session_timeout = 300")
    stopped, other = await Database.open(postgres_url), await Database.open(postgres_url)
    await other.write(lambda c: ledger.open_account(c, "run:x", None))
    locked, woken, attempts = asyncio.Event(), asyncio.Event(), 0

    def stop_in_between(connection: Connection) -> str:
        nonlocal attempts
        attempts += 1
        settle_one(connection)
        if attempts == 1:
            locked.set()
            await_only(woken.wait())
        return "late"

    late = stopped.submit(stop_in_between)
    await locked.wait()
    await other.write(settle_one)
    assert await spent(other) == 1
    woken.set()
    assert (await late, attempts, await spent(other)) == ("late", 2, 2)
    for each in (stopped, other):
        await each.close()


async def test_a_server_that_takes_no_writes_for_a_while_is_waited_for_with_new_connections(
    postgres_url: str,
) -> None:
    """As after a failover. A server that was never written, such as a standby, is refused at once."""
    database, operator = await Database.open(postgres_url), await Database.open(postgres_url)
    await database.write(lambda c: ledger.open_account(c, "run:x", None))
    name = make_url(postgres_url).database
    switch = f"ALTER DATABASE {name} SET default_transaction_read_only = "
    others = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND datname = current_database()"
    )
    await operator.read(lambda c: c.exec_driver_sql(switch + "on"))
    await operator.read(lambda c: c.exec_driver_sql(others).all())
    written = database.submit(settle_one)
    standby = await Database.open(postgres_url)
    began = time.monotonic()
    with pytest.raises(StoreError, match="takes no writes now"):
        await standby.write(settle_one)
    assert time.monotonic() - began < 25  # AWAY_S of pnyx is 30
    assert not written.done()
    await operator.read(lambda c: c.exec_driver_sql(switch + "off"))
    assert (await written, await spent(database)) == ("its result", 1)
    for each in (database, operator, standby):
        await each.close()


async def test_both_drivers_notice_a_network_that_carries_nothing(postgres_url: str) -> None:
    database, queue = await Database.open(postgres_url), await Queue.open(postgres_url)
    opened: list[Any] = []

    def note(connection: Connection) -> None:
        driver = connection.connection.driver_connection
        opened.append(driver._transport.get_extra_info("socket"))  # type: ignore[union-attr]

    await database.read(note)
    async with queue._connector.pool.connection() as connection:
        with socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as other:
            opened.append(other)
            for each in opened:
                assert each.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
                options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
                idle, interval, count = (each.getsockopt(socket.IPPROTO_TCP, one) for one in options)
                assert idle + interval * count <= LEASE_S / 2
                assert each.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) <= 1000 * LEASE_S / 2
    await queue.close()
    await database.close()


@pytest.mark.parametrize("tested_after_s", [0.0, float("inf")])
async def test_a_pooled_connection_that_was_lost_is_replaced(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, tested_after_s: float
) -> None:
    """Whether it is tested before it is used, or found lost when it is used."""
    monkeypatch.setattr(postgresql, "IDLE_S", tested_after_s)
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    here = " AND datname = current_database()"
    database, other = await Database.open(postgres_url), await Database.open(postgres_url)
    await database.write(lambda c: ledger.open_account(c, "run:x", None))
    for n in range(1, 4):
        assert await spent(database) == n - 1
        await other.read(lambda c: c.execute(text(others + here)).all())
        await database.check()
        await other.read(lambda c: c.execute(text(others + here)).all())
        await database.write(settle_one)
    assert await spent(database) == 3
    for each in (database, other):
        await each.close()


async def test_a_server_that_stays_away_raises_an_error(
    postgres: PostgresServer, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "AWAY_S", 0.5)
    database = await Database.open(postgres_url)
    await database.write(lambda c: ledger.open_account(c, "run:x", None))
    postgres.stop(at_once=True)
    began = time.monotonic()
    try:
        with pytest.raises(StoreError, match="check that the server runs"):
            await database.write(lambda c: ledger.settle(c, ["run:x"], 0, 1))
        assert 0.5 <= time.monotonic() - began < 25  # AWAY_S of pnyx is 30
        await database.close()
    finally:
        await asyncio.to_thread(postgres.start)


async def test_a_wrong_clock_deletes_no_mark_of_a_running_process(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await Database.open(postgres_url)
    other = await Database.open(postgres_url)
    with monkeypatch.context() as wrong:
        wrong.setattr(time, "time", lambda: 0.0)
        await database.write(lambda c: None)
    await other.write(lambda c: None)
    await other.close()
    assert await marks(database) == 1
    await database.close()


async def test_marks_of_finished_processes_are_deleted(postgres_url: str) -> None:
    database, other = await Database.open(postgres_url), await Database.open(postgres_url)
    for each in (database, other):
        await each.write(lambda c: ledger.open_account(c, "run:x", None))
    await other.write(lambda c: c.execute(text("INSERT INTO writers VALUES ('killed', 'long ago', 0)")))

    assert await marks(database) == 3
    await other.close()
    assert await marks(database) == 1
    await database.close()


async def test_sqlite_leaves_no_marks(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "a.db")
    await database.write(lambda c: ledger.open_account(c, "run:x", None))
    assert await marks(database) == 0
    await database.close()


@pytest.mark.parametrize(
    ("scheme", "query"),
    [
        ("postgres", ""),
        ("postgresql", "?sslmode=disable"),
        ("postgres", "?sslmode=prefer&application_name=my%20runs&options=-c%20statement_timeout%3D9s"),
        ("postgresql+psycopg2", "?sslmode=allow"),
    ],
)
async def test_urls_of_common_hosts_open_the_database_and_the_queue(
    postgres_url: str, scheme: str, query: str
) -> None:
    url = f"{scheme}://{postgres_url.partition('://')[2]}{query}"
    database = await Database.open(url)
    await database.write(lambda c: ledger.open_account(c, "run:x", None))
    assert await spent(database) == 0
    statement = "SELECT current_setting('application_name'), current_setting('statement_timeout')"
    options = await database.read(lambda c: tuple(c.execute(text(statement)).one()))
    assert options == (("my runs", "9s") if "options" in query else ("", "0"))
    await database.close()
    queue = await Queue.open(url)
    await queue.defer("r1", "me")
    assert await queue.queued_runs(["r1", "r2"]) == {"r1": True}
    await queue.close()


async def test_a_server_without_tls_is_refused_if_the_url_requires_tls(postgres_url: str) -> None:
    for way in (Database, Queue):
        with pytest.raises(StoreError, match=r"postgresql://pnyx@127\.0\.0\.1:\d+/\w+: .*SSL"):
            await way.open(f"{postgres_url}?sslmode=require")


async def as_guest(url: str, *grants: str) -> str:
    """Return the URL of a new user with only these rights."""
    owner = await asyncpg.connect(make_url(url).set(drivername="postgresql").render_as_string(False))
    name = f"guest_{make_url(url).database}"
    try:
        await owner.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'secret'")
        # Before PostgreSQL 15 every user could create tables there.
        await owner.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        for grant in grants:
            await owner.execute(f"GRANT {grant} TO {name}")
    finally:
        await owner.close()
    return make_url(url).set(username=name, password="secret").render_as_string(hide_password=False)


async def test_a_user_without_the_right_to_create_tables_sees_which_right_is_missing(
    postgres_url: str,
) -> None:
    guest = await as_guest(postgres_url)
    with pytest.raises(StoreError, match=r"permission denied for schema public; .*GRANT CREATE ON SCHEMA"):
        await Database.open(guest)


async def test_a_check_that_writes_notices_a_user_that_may_only_read(postgres_url: str) -> None:
    """Before, `pnyx doctor` was ready with such a user."""
    await (await Database.open(postgres_url)).close()
    guest = await as_guest(postgres_url, "SELECT ON ALL TABLES IN SCHEMA public")
    for url, message in (
        (guest, r"permission denied for table \w+; .*GRANT"),
        (
            f"{postgres_url}?options=-cdefault_transaction_read_only%3Don",
            "read-only transaction; this server",
        ),
    ):
        database = await Database.open(url)
        await database.check()
        with pytest.raises(StoreError, match=message):
            await database.check(writes=True)
        await database.close()
    database = await Database.open(postgres_url)
    await database.check(writes=True)
    await database.close()


async def test_a_user_without_the_right_to_read_tables_sees_which_right_is_missing(postgres_url: str) -> None:
    await (await Database.open(postgres_url)).close()
    guest = await as_guest(postgres_url)
    with pytest.raises(StoreError, match=r"permission denied for table \w+; .*GRANT"):
        await Database.open(guest)


async def test_a_user_with_only_read_and_write_rights_can_run_on_existing_tables(
    postgres_url: str,
) -> None:
    await (await Database.open(postgres_url)).close()
    guest = await as_guest(postgres_url, "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public")
    providers = {"m": pnyx.FakeProvider(lambda call: "Final answer: yes")}
    settings = pnyx.load_settings(overrides={"storage": {"url": guest}})
    done = await pnyx.ask("Why?", panel=["m:a", "m:b"], rounds=1, providers=providers, settings=settings)
    assert (done.status, done.final_answer) == ("consensus", "yes")
    await pnyx.feedback(done.run_id, "success", settings=settings)
    assert await pnyx.resume(done.run_id, settings=settings) == done
