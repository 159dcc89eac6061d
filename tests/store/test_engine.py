"""The database: opening, migration, refusals, group commit; on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from pnyx.errors import ConfigError, OutOfBudget, StoreError
from pnyx.store import Database, store_errors
from pnyx.store import sqlite as sqlite_module
from pnyx.store.money import ledger
from pnyx.store.records import runs as store
from pnyx.store.schema import REVISION
from tests.support.waiting import STALL_S


async def test_a_new_database_opens_without_a_manual_step(database_url: str) -> None:
    database = await Database.open(database_url)
    assert await database.read(lambda c: store.listing(c)) == []
    await database.close()
    reopened = await Database.open(database_url)
    assert await reopened.read(
        lambda c: c.execute(text("SELECT version_num FROM alembic_version")).scalar()
    ) == (REVISION)
    await reopened.close()


async def test_several_processes_can_create_the_same_database(tmp_path: Path) -> None:
    opened = await asyncio.gather(*(Database.open(tmp_path / "a.db") for _ in range(4)))
    for database in opened:
        await database.close()


async def test_sqlite_keeps_a_write_ahead_log_and_syncs_fully(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "a.db")
    mode = await database.read(lambda c: c.exec_driver_sql("PRAGMA journal_mode").scalar())
    full = await database.read(lambda c: c.exec_driver_sql("PRAGMA synchronous").scalar())
    assert (mode, full) == ("wal", 2)
    await database.close()


async def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "deep" / "a.db")
    assert stat.S_IMODE((tmp_path / "deep" / "a.db").stat().st_mode) == 0o600
    await database.close()


async def test_a_file_that_is_not_a_database_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes, not a database, and long enough to be looked at\n" * 20)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"notes\.txt"):
        await Database.open(path)
    assert path.read_bytes() == before


async def test_a_damaged_database_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    await (await Database.open(path)).close()
    raw = bytearray(path.read_bytes())
    raw[100:1100] = b"\xff" * 1000
    path.write_bytes(raw)
    with pytest.raises(StoreError, match="damaged and was not changed"):
        await Database.open(path)
    assert path.read_bytes() == raw


async def test_malformed_json_in_a_database_is_not_reported_as_damage(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "a.db")
    with pytest.raises(StoreError, match=r"malformed JSON$"):
        await database.read(lambda c: c.execute(text("SELECT json_extract('{', '$.a')")).all())
    await database.close()


async def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    await (await Database.open(path)).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(StoreError, match=r"a.db was written by a newer pnyx \(schema 9999\)"):
        await Database.open(path)


async def test_a_database_with_other_tables_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE customers (id)")
    connection.close()
    with pytest.raises(StoreError, match="holds other tables"):
        await Database.open(path)


async def test_a_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        await Database.open(tmp_path / "file" / "a.db")


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///", "sqlite:///:memory:", ":memory:", "sqlite:///x.db?foo=bar"]
)
async def test_a_url_without_a_file_is_refused_and_creates_none(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"the URL of the database must name a file.* sqlite:///runs\.db"):
        await Database.open(url)
    assert not os.listdir(tmp_path)


async def test_an_impossible_path_is_a_config_error() -> None:
    for path in ("~nobody-here/x.db", Path("~nobody-here/x.db"), Path("a\0b")):
        with pytest.raises(ConfigError, match="the URL of the database must"):
            await Database.open(path)


async def test_a_timeout_without_a_message_is_explained() -> None:
    with (
        pytest.raises(StoreError, match="database far: TimeoutError"),
        store_errors.StoreErrors("far"),
    ):
        raise TimeoutError


@pytest.mark.parametrize(
    "rest",
    [
        f"{'a' * 80}/db",
        "127.0.0.1/db?sslmode=verify-full&sslrootcert=/nowhere.pem",
        "127.0.0.1/db?prepared_statement_cache_size=many",
        "127.0.0.1/db?host=127.0.0.1,127.0.0.1&port=1,2,3",
        "127.0.0.1/db?ssl_min_protocol_version=0",
        "127.0.0.1:1/db?password=hunter2",
    ],
)
async def test_a_url_that_fails_to_connect_is_a_store_error_without_the_password(
    rest: str,
) -> None:
    with pytest.raises(StoreError, match=r"^database postgresql://me@\S+/db: .") as refused:
        await Database.open(f"postgresql://me:hunter2@{rest}")
    assert "hunter2" not in str(refused.value)


async def test_an_unreachable_server_is_reported_without_the_password() -> None:
    with pytest.raises(StoreError) as refused:
        await Database.open("postgresql://me:hunter2@127.0.0.1:1/none")
    assert "127.0.0.1:1" in str(refused.value)
    assert "hunter2" not in str(refused.value)


async def test_waiting_writes_share_a_commit(database_url: str) -> None:
    database = await Database.open(database_url)
    sizes: list[int] = []
    write = database._backend.write

    async def counted(works: list[object]) -> list[object]:
        sizes.append(len(works))
        return await write(works)  # type: ignore[arg-type]

    database._backend.write = counted  # type: ignore[method-assign, assignment]
    await asyncio.gather(
        *(database.write(lambda c, i=i: ledger.open_account(c, f"day:{i}", None)) for i in range(50))  # type: ignore[misc]
    )
    assert sum(sizes) == 50
    assert len(sizes) <= 2
    await database.close()


async def test_a_refused_write_fails_alone(database_url: str) -> None:
    def reserve_too_much(connection: Connection) -> None:
        (account,) = ledger.reserve(connection, {"run:x": 10}, 11)
        raise ledger.Exhausted(account, 11)

    database = await Database.open(database_url)
    await database.write(lambda c: ledger.open_account(c, "run:x", 10))
    results = await asyncio.gather(
        database.write(lambda c: ledger.open_account(c, "run:y", None)),
        database.write(reserve_too_much),
        database.write(lambda c: ledger.open_account(c, "run:z", None)),
        return_exceptions=True,
    )
    assert isinstance(results[1], OutOfBudget)
    assert results[0] is results[2] is None
    accounts = [await database.read(lambda c, s=s: ledger.read_account(c, s)) for s in ("run:x", "run:z")]  # type: ignore[misc]
    assert [a.reserved_nusd for a in accounts] == [0, 0]
    await database.close()


@pytest.mark.parametrize(
    ("scope", "why"),
    [("run:y", "UNIQUE|duplicate key"), ("run:\ud83d", "surrogates"), (None, "NOT NULL|not-null")],
    ids=["twice", "surrogate", "null"],
)
async def test_a_write_that_the_database_refuses_fails_alone(
    database_url: str, scope: str | None, why: str
) -> None:
    await check_refused_alone(database_url, scope, why)


async def test_a_write_with_text_that_postgresql_cannot_store_fails_alone(postgres_url: str) -> None:
    await check_refused_alone(postgres_url, "run:\0", "invalid byte sequence")


async def check_refused_alone(url: str, scope: str | None, why: str) -> None:
    database = await Database.open(url)
    open_account = text("INSERT INTO ledger (scope, spent_nusd, reserved_nusd) VALUES (:scope, 0, 0)")
    results = await asyncio.gather(
        *(
            database.write(lambda c, one=one: c.execute(open_account, {"scope": one}).rowcount)  # type: ignore[misc]
            for one in ("run:x", "run:y", scope, "run:z")
        ),
        return_exceptions=True,
    )
    assert results[:2] == [1, 1]
    assert results[3] == 1
    assert isinstance(results[2], Exception)
    assert re.search(why, str(results[2])), results[2]
    await database.close()


async def test_a_database_that_cannot_be_written_is_tried_once_for_all_waiting_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_module, "BUSY_S", 0.2)
    database = await Database.open(tmp_path / "a.db")
    other = sqlite3.connect(tmp_path / "a.db")
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    results = await asyncio.gather(
        *(database.write(lambda c, n=n: ledger.open_account(c, f"run:{n}", None)) for n in range(400)),  # type: ignore[misc]
        return_exceptions=True,
    )
    # Each on its own would wait 80 seconds together.
    assert time.monotonic() - began < STALL_S
    assert all("another process is using it" in str(exc) for exc in results)
    other.close()
    await database.close()


async def test_after_a_write_that_failed_a_check_writes_again(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await Database.open(database_url)
    await database.check()
    write, tries = database._backend.write, 0

    async def fails(works: Any, **options: Any) -> Any:
        nonlocal tries
        tries += 1
        if tries > 2:
            return await write(works, **options)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(database._backend, "write", fails)
    for attempt in (database.write(lambda connection: 1), database.check()):
        with pytest.raises(StoreError, match="No space left on device; free some space") as refused:
            await attempt
        assert refused.value.disk_full
    await database.check()
    await database.check()
    assert tries == 3, "a check of a database that works must not write"
    await database.close()


async def test_a_check_is_answered_while_long_reads_take_all_readers(tmp_path: Path) -> None:
    database, over = await Database.open(tmp_path / "a.db"), threading.Event()
    reads = [asyncio.create_task(database.read(lambda connection: over.wait(STALL_S))) for _ in range(9)]
    await asyncio.sleep(0)
    await database.check()
    assert not any(read.done() for read in reads)
    over.set()
    assert all(await asyncio.gather(*reads))
    await database.close()


async def test_a_read_is_a_snapshot_and_blocks_no_writer(database_url: str) -> None:
    reader, writer = await Database.open(database_url), await Database.open(database_url)
    started, written = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def spent(connection: Connection) -> int:
        return ledger.read_account(connection, "day:1").spent_nusd

    def read(connection: Connection) -> tuple[int, bool, int]:
        before = spent(connection)
        loop.call_soon_threadsafe(started.set)
        # On PostgreSQL the loop writes, and this function blocks it.
        waited = connection.dialect.name == "postgresql" or written.wait(STALL_S)
        return before, waited, spent(connection)

    async def write() -> None:
        await started.wait()
        await writer.write(lambda c: ledger.open_account(c, "day:1", None))
        await writer.write(lambda c: ledger.settle(c, ["day:1"], 0, 7))
        written.set()

    (before, waited, after), _ = await asyncio.gather(reader.read(read), write())
    assert waited, "a write waited for a reader"
    assert (before, after) == (0, 0)
    assert await reader.read(spent) == 7
    await reader.close()
    await writer.close()


async def test_callbacks_run_in_the_order_of_the_writes(database_url: str) -> None:
    database = await Database.open(database_url)
    results: list[int] = []
    await asyncio.gather(*(database.submit(lambda c, i=i: i, results.append) for i in range(20)))  # type: ignore[misc]
    assert results == list(range(20))
    await database.close()


async def test_one_of_two_callbacks_is_called_also_for_a_write_that_nobody_waits_for(
    database_url: str,
) -> None:
    def refuse(connection: Connection) -> None:
        raise OutOfBudget("no room")

    database = await Database.open(database_url)
    done: list[object] = []
    failed: list[Exception] = []
    for work in (lambda c: "written", refuse):
        database.submit(work, done.append, failed.append).cancel()
    await database.write(lambda c: None)  # it is queued behind them
    assert done == ["written"]
    assert [str(exc) for exc in failed] == ["no room"]
    await database.close()


async def test_two_transactions_that_deadlock_both_succeed(postgres_url: str) -> None:
    databases = [await Database.open(postgres_url) for _ in range(2)]
    scopes = ["run:a", "run:b"]
    for scope in scopes:
        await databases[0].write(lambda c, s=scope: ledger.open_account(c, s, None))  # type: ignore[misc]
    seen: set[int] = set()

    def hold(i: int, order: list[str]) -> Callable[[Connection], None]:
        def work(connection: Connection) -> None:
            ledger.settle(connection, order[:1], 0, 1)
            if i not in seen:  # each locks one row before it needs the other
                seen.add(i)
                connection.execute(text("SELECT pg_sleep(0.3)"))
            ledger.settle(connection, order[1:], 0, 1)

        return work

    await asyncio.gather(*(databases[i].write(hold(i, scopes[:: 1 - 2 * i])) for i in range(2)))
    accounts = [await databases[0].read(lambda c, s=s: ledger.read_account(c, s)) for s in scopes]  # type: ignore[misc]
    assert [account.spent_nusd for account in accounts] == [2, 2]
    for database in databases:
        await database.close()


def test_closing_a_loop_with_waiting_writes_ends(database_url: str) -> None:
    """Like a program that leaves `asyncio.run` while runs write their last events after the cancellation."""
    wrote = []

    async def write_last(database: Database, n: int) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await database.write(lambda c: ledger.open_account(c, f"run:{n}", n))
            wrote.append(n)
            if len(wrote) == 3:
                await database.close()

    async def program() -> None:
        database = await Database.open(database_url)
        for n in range(3):
            asyncio.create_task(write_last(database, n))  # noqa: RUF006
        database.submit(lambda c: ledger.open_account(c, "run:x", None))
        await asyncio.sleep(0)

    ended = threading.Thread(target=lambda: asyncio.run(program()), daemon=True)
    ended.start()
    ended.join(30)
    assert not ended.is_alive()
    assert sorted(wrote) == [0, 1, 2]
