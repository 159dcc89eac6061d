"""Backups: a snapshot of everything, from either database into either."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select

from pnyx.errors import StoreError, UsageError
from pnyx.reliability.feedback import JudgedRun
from pnyx.store import Database, copying, keys, postgresql
from pnyx.store.copying import TABLES, backup, restore
from pnyx.store.documents.contents import add_contents
from pnyx.store.money import holds
from pnyx.store.money.cost_sums import sum_up
from pnyx.store.records import outcomes, shares, word_index
from pnyx.store.records import runs as store
from pnyx.store.records.labels import LabelChange, change_labels
from pnyx.store.schema import runs
from tests.support.panels import Host
from tests.support.processes import Node, fixed_reply
from tests.support.stored import rows_of_events


def everything(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
    return {
        table.name: [
            tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key.columns))
        ]
        for table in TABLES
    }


def list_files(file: Path) -> tuple[list[str], int]:
    """Return the files with the name of the backup, and its mode."""
    hidden = list(file.parent.glob(".pnyx-*"))
    return [path.name for path in (*file.parent.glob(f"{file.name}*"), *hidden)], file.stat().st_mode


def hold_and_estimate(connection: Connection, run_id: str) -> None:
    """Store what a run under a shared cap leaves while it runs, and when it ends."""
    holds.keep(connection, holds.Hold(run_id, {"day:2026-01-01": "day"}, 1_000))
    holds.learn(connection, "consensus", 2_000, 1_500)


PHONE = keys.StoredKey("phone", "0" * 64, "2026-01-01T00:00:00.000Z", limits='{"runs_at_once": 2}')


async def filled(url: str) -> Node:
    """Return a node with two finished runs, one outcome, key, link, hold, estimate and content of a file."""
    node = Node(await Database.open(url), Host(fixed_reply))
    for question in ("Should we? Ça va, 日本?", "And then?"):
        result = await (await node.start(question=question, options={"rounds": 1}, budget_usd=1.0)).result()
    await node.database.write(lambda c: keys.add(c, PHONE))
    await node.database.write(
        lambda c: shares.add(c, "a" * 12, result.run_id, "0" * 64, "2026-01-01T00:00:00.000Z", "2027-01-01")
    )
    await node.database.write(lambda c: hold_and_estimate(c, result.run_id))
    await node.database.write(lambda c: add_contents(c, result.run_id, {"0" * 64: "1| a file"}))
    judged = JudgedRun("consensus", "success", 0.5, (("h:large", "yes"),), "yes")
    await node.database.write(
        lambda c: outcomes.record(c, result.run_id, "local", "2026-01-01T00:00:00.000Z", judged)
    )
    await node.database.write(lambda c: change_labels(c, result.run_id, LabelChange(title="T", add=["a"])))
    await node.database.write(lambda c: sum_up(c, "9999-01-01"))
    return node


async def test_a_restored_backup_equals_the_database(
    database_url: str, sqlite_url: str, tmp_path: Path
) -> None:
    node = await filled(database_url)
    before = await node.database.read(everything)
    assert [name for name, rows in before.items() if not rows] == ["conversions"]
    counts = await backup(node.database, tmp_path / "all.pnyx")
    assert counts == {name: len(rows) for name, rows in before.items()}
    restored = await Database.open(tmp_path / "restored.db")
    assert await restore(restored, tmp_path / "all.pnyx", with_keys=True) == counts
    assert await restored.read(everything) == before
    beside, mode = await asyncio.to_thread(list_files, tmp_path / "all.pnyx")
    assert (beside, mode & 0o077) == (["all.pnyx"], 0)
    await restored.close()
    await node.runner.close()


async def test_a_restore_leaves_the_keys_and_links_of_the_server_out(tmp_path: Path) -> None:
    node = await filled(str(tmp_path / "here.db"))
    await backup(node.database, tmp_path / "all.pnyx")
    restored = await Database.open(tmp_path / "restored.db")
    assert (await restore(restored, tmp_path / "all.pnyx"))["keys"] == 0
    assert {name for name, rows in (await restored.read(everything)).items() if not rows} == {
        "conversions",
        "keys",
        "shares",
    }
    await restored.close()
    await node.runner.close()


HOSTILE = {
    "view": "CREATE VIEW n AS WITH RECURSIVE m(x) AS (SELECT 1 UNION SELECT x + 1 FROM m) SELECT x FROM m",
    "trigger": "CREATE TRIGGER later AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
    "generated column": "CREATE TABLE t (a, b GENERATED ALWAYS AS (hex(zeroblob(a))))",
    "generated column 't.b'": "CREATE TABLE t (a, b AS (hex(zeroblob(a))) STORED)",
    "index over an expression": "CREATE INDEX slow ON runs (hex(id))",
    "table 'words'": "CREATE VIRTUAL TABLE words USING fts5(a)",
}
"""What no backup has -> a statement that adds one."""


@pytest.mark.parametrize("kind", HOSTILE)
async def test_a_backup_with_more_than_tables_is_refused(kind: str, tmp_path: Path) -> None:
    node = await filled(str(tmp_path / "here.db"))
    await backup(node.database, tmp_path / "all.pnyx")
    with closing(sqlite3.connect(tmp_path / "all.pnyx")) as connection:
        connection.execute(HOSTILE[kind])
        connection.commit()
    target = await Database.open(tmp_path / "restored.db")
    with pytest.raises(StoreError, match=f"is not a backup of pnyx: it has the {kind}"):
        await restore(target, tmp_path / "all.pnyx")
    assert not any((await target.read(everything)).values())
    await target.close()
    await node.runner.close()


async def test_a_backup_of_sqlite_is_restored_into_postgresql(postgres_url: str, tmp_path: Path) -> None:
    node = await filled(str(tmp_path / "here.db"))
    before = await node.database.read(everything)
    await backup(node.database, tmp_path / "all.pnyx")
    target = await Database.open(postgres_url)
    await restore(target, tmp_path / "all.pnyx", with_keys=True)
    assert await target.read(everything) == before
    moved = Node(target, Host(fixed_reply))
    assert (await (await moved.start(options={"rounds": 1})).result()).status == "decided"
    await moved.runner.close()
    await node.runner.close()


async def test_between_the_statements_of_a_copy_postgresql_waits(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended the session after 15 s, and a large backup takes longer to check and to index."""
    monkeypatch.setattr(postgresql, "_END_SILENT", "SET idle_in_transaction_session_timeout = 200")
    node = await filled(str(tmp_path / "here.db"))
    await backup(node.database, tmp_path / "all.pnyx")
    for module, name in ((copying, "_check_references"), (word_index, "add_missing")):
        monkeypatch.setattr(module, name, partial(_slow, getattr(module, name)))
    target = await Database.open(postgres_url)
    await restore(target, tmp_path / "all.pnyx", with_keys=True)
    await backup(target, tmp_path / "again.pnyx")
    assert await target.read(everything) == await node.database.read(everything)
    await target.close()
    await node.runner.close()


def _slow(work: Callable[..., Any], *arguments: Any) -> Any:
    time.sleep(0.5)
    return work(*arguments)


async def test_a_running_run_continues_after_a_restore(database_url: str, tmp_path: Path) -> None:
    node = Node(await Database.open(database_url), Host(fixed_reply, pause=0.05))
    handle = await node.start(options={"rounds": 2})
    async for event in handle.events():
        if event.type == "call_finished":
            break
    await backup(node.database, tmp_path / "all.pnyx")
    whole = await handle.result()
    restored = Node(await Database.open(tmp_path / "restored.db"), Host(fixed_reply))
    await restore(restored.database, tmp_path / "all.pnyx")

    def stored(connection: Connection) -> tuple[int, int, str]:
        row = store.find(connection, handle.run_id)
        return row.seq, len(store.log(connection, row.id)), row.status

    seq, logged, status = await restored.database.read(stored)
    assert (seq, status) == (logged, "paused")
    result = await (await restored.runner.resume(handle.run_id)).result()
    assert (result.answer, result.status) == (whole.answer, whole.status)
    await restored.runner.close()
    await node.runner.close()


async def test_neither_files_nor_databases_are_overwritten(database_url: str, tmp_path: Path) -> None:
    node = await filled(database_url)
    (tmp_path / "taken").write_text("content")
    with pytest.raises(UsageError, match="already exists"):
        await backup(node.database, tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "content"
    await backup(node.database, tmp_path / "all.pnyx")
    before = await node.database.read(everything)
    with pytest.raises(UsageError, match="not empty"):
        await restore(node.database, tmp_path / "all.pnyx")
    assert await node.database.read(everything) == before
    with pytest.raises(UsageError, match="cannot be written"):
        await backup(node.database, tmp_path / "nowhere" / "all.pnyx")
    await node.runner.close()


@pytest.mark.parametrize("content", [None, b"", b"not a database at all" * 100])
async def test_a_file_that_is_not_a_backup_is_refused_and_changes_nothing(
    content: bytes | None, tmp_path: Path
) -> None:
    database = await Database.open(tmp_path / "here.db")
    if content is not None:
        (tmp_path / "odd").write_bytes(content)
    with pytest.raises(UsageError if content is None else StoreError, match="odd"):
        await restore(database, tmp_path / "odd")
    assert not any((await database.read(everything)).values())
    await database.close()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DROP TABLE events", "is not a backup of pnyx: it has no table 'events'"),
        ("DROP TABLE outcomes", "the backup is damaged: it has no table 'outcomes'"),
        ("ALTER TABLE runs DROP COLUMN result", "its table 'runs' has no column 'result'"),
        ("UPDATE runs SET question = CAST(x'ff41' AS TEXT)", "damaged in its table 'runs': Could not decode"),
    ],
)
async def test_what_a_backup_lacks_and_what_cannot_be_read_in_it_is_named(
    statement: str, message: str, tmp_path: Path
) -> None:
    node = await filled(str(tmp_path / "here.db"))
    await backup(node.database, tmp_path / "all.pnyx")
    with closing(sqlite3.connect(tmp_path / "all.pnyx")) as connection:
        connection.execute(statement)
        connection.commit()
    target = await Database.open(tmp_path / "restored.db")
    with pytest.raises(StoreError, match=message):
        await restore(target, tmp_path / "all.pnyx")
    assert not any((await target.read(everything)).values())
    await target.close()
    await node.runner.close()


IMPOSSIBLE = {
    "UPDATE ledger SET spent_nusd = -5": "'ledger': spent_nusd is '-5'",
    "UPDATE ledger SET cap_nusd = 1e300": "'ledger': cap_nusd is '1e[+]300'",
    "UPDATE ledger SET reserved_nusd = 9e999": "'ledger': reserved_nusd is 'inf'",
    "UPDATE ledger SET spent_nusd = 'much'": "'ledger': spent_nusd is 'much'",
    "UPDATE ledger SET spent_nusd = 2000000000000000000": "'ledger': spent_nusd is '20",
    "UPDATE run_costs SET output_tokens = 0.5": "'run_costs': output_tokens is '0.5'",
    # Python would make so many bytes of it.
    "UPDATE contents SET content = 5000000000": "'contents': content is '5000000000'",
    "UPDATE events SET seq = seq - 100": "'events': seq is '-99'",
    "UPDATE runs SET heartbeat_at = -9e999": "'runs': heartbeat_at is '-inf'",
    "UPDATE runs SET question = x'00'": "'runs': question is",
    "UPDATE runs SET id = '../' || id": "'runs': id is '../",
    "UPDATE runs SET id = '' WHERE id = (SELECT min(id) FROM runs)": "'runs': id is ''",
    "UPDATE events SET run_id = 'gone' WHERE run_id = (SELECT min(id) FROM runs)": (
        "'events': a row there belongs to one that 'runs' lacks"
    ),
}
"""Changes of a backup -> the message."""


async def test_values_that_no_database_has_are_refused_in_a_backup(tmp_path: Path) -> None:
    node = await filled(str(tmp_path / "here.db"))
    await backup(node.database, tmp_path / "all.pnyx")
    target = await Database.open(tmp_path / "restored.db")
    for number, (statement, message) in enumerate(IMPOSSIBLE.items()):
        changed = tmp_path / f"{number}.pnyx"
        shutil.copyfile(tmp_path / "all.pnyx", changed)
        with closing(sqlite3.connect(changed)) as connection, connection:
            connection.execute("PRAGMA foreign_keys=OFF")
            assert connection.execute(statement).rowcount > 0, statement
        with pytest.raises(StoreError, match=f"the backup is damaged in its table {message}"):
            await restore(target, changed)
    assert not any((await target.read(everything)).values())
    await target.close()
    await node.runner.close()


def last_seqs(connection: Connection) -> list[tuple[int, int]]:
    """Return, for every run, the seq of its row and of its last event."""
    ends: dict[str, int] = {}
    for id, _, _, body in rows_of_events(connection):
        ends[id] = max(ends.get(id, 0), json.loads(body)["seq"])
    return [(seq, ends.get(id, 0)) for id, seq in connection.execute(select(runs.c.id, runs.c.seq))]


async def test_a_backup_is_a_snapshot(database_url: str, tmp_path: Path) -> None:
    node = Node(await Database.open(database_url), Host(fixed_reply, pause=0.05))
    handles = [await node.start(options={"rounds": 3}) for _ in range(8)]
    taken = 0
    # A machine that stalls ends all runs during the first backup.
    while taken < 2 or not all(handle._task and handle._task.done() for handle in handles):
        await backup(node.database, tmp_path / f"{taken}.pnyx")
        taken += 1
    await asyncio.gather(*(handle.result() for handle in handles))
    for n in range(taken):
        copy = await Database.open(tmp_path / f"{n}.pnyx")

        assert all(seq == end for seq, end in await copy.read(last_seqs))
        await copy.close()
    await node.runner.close()


async def test_a_damaged_database_is_not_backed_up(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    node = await filled(str(file))
    await node.runner.close()
    with file.open("r+b") as pages:
        pages.seek(file.stat().st_size // 2)
        pages.write(b"\0" * 8192)

    async def copied() -> None:
        # Which page is damaged depends on the tables: opening it may find it already.
        database = await Database.open(file)
        try:
            await backup(database, tmp_path / "copy")
        finally:
            await database.close()

    with pytest.raises(StoreError, match=r"damaged|malformed"):
        await copied()
    assert not (tmp_path / "copy").exists()


async def test_a_backup_of_sqlite_is_one_file_with_its_pages(tmp_path: Path) -> None:
    node = await filled(str(tmp_path / "runs.db"))
    await backup(node.database, tmp_path / "copy")
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(f"file:{tmp_path / 'copy'}?mode=ro", uri=True)) as copy:
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert copy.execute("SELECT count(*) FROM recall WHERE recall MATCH 'then'").fetchone() == (1,)
    assert sorted(name for name in os.listdir(tmp_path) if name.startswith("copy")) == ["copy"]
    await node.runner.close()


async def test_a_device_that_never_ends_is_not_read_as_a_backup(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "new.db")
    with pytest.raises(UsageError, match="no regular file"):
        await restore(database, Path("/dev/zero"))
    await database.close()


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
async def test_a_database_in_use_is_no_backup(ending: str, tmp_path: Path) -> None:
    """What stands in the log beside it would be lost without a word."""
    node = await filled(str(tmp_path / "here.db"))
    await backup(node.database, tmp_path / "all.pnyx")
    log = tmp_path / f"all.pnyx{ending}"
    log.write_bytes(b"something")
    (tmp_path / "link.pnyx").symlink_to(tmp_path / "all.pnyx")
    target = await Database.open(tmp_path / "restored.db")
    for file in ("all.pnyx", "link.pnyx"):
        with pytest.raises(StoreError, match=f"all.pnyx{ending} beside it has changes that the file lacks"):
            await restore(target, tmp_path / file)
    log.write_bytes(b"")
    assert (await restore(target, tmp_path / "all.pnyx"))["runs"]
    await target.close()
    await node.runner.close()
