"""Old runs are deleted by `pnyx prune` and by retention, and their space is given back."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Connection, func, select

from pnyx.config.schema import StorageSettings
from pnyx.interfaces.records import retention
from pnyx.interfaces.records.runs import RunRecords
from pnyx.reliability.feedback import JudgedRun
from pnyx.run.leases.lease import this_worker
from pnyx.store import Database
from pnyx.store.records import outcomes
from pnyx.store.records import runs as store
from pnyx.store.records.labels import LabelChange, change_labels
from pnyx.store.records.pruning import Rule
from pnyx.store.schema import runs
from pnyx.store.space import give_back
from tests.interfaces.shell import pnyx, screen
from tests.support.scripted import ScriptedHost

OLD, NEW = "2020-01-01T00:00:00.000Z", "2099-01-01T00:00:00.000Z"
JUDGED = JudgedRun("voting", "success", 0.5, (("a:x", "yes"),), "yes")


def add_run(connection: Connection, run_id: str, time: str = OLD, **columns: Any) -> None:
    row = store.RunRow.new(
        run_id, columns.pop("owner", "local"), time, "voting", f"Why {run_id}?", {"seats": []}
    )
    store.create(connection, row)
    store.patch(connection, run_id, {"status": "failed", **columns})


def fill(connection: Connection) -> None:
    """Old runs, each of which one rule keeps or none does."""
    for name in ("plain", "tagged", "pinned", "judged", "graded", "titled"):
        add_run(connection, name, owner="eval" if name == "graded" else "local")
    add_run(connection, "resumed", updated_at=NEW)
    add_run(connection, "paused", status="paused")
    add_run(connection, "gone", status="running", worker="host:1:1", heartbeat_at=1.0)
    beat = _now(connection)
    add_run(connection, "alive", status="running", worker=this_worker(), heartbeat_at=beat)
    add_run(connection, "waits", status="running")
    add_run(connection, "young", NEW)
    change_labels(connection, "tagged", LabelChange(add=["a"]))
    change_labels(connection, "pinned", LabelChange(pinned=True))
    change_labels(connection, "titled", LabelChange(title="T"))
    outcomes.record(connection, "judged", "local", OLD, JUDGED)
    outcomes.record(connection, "graded", "local", OLD, JUDGED)


def _now(connection: Connection) -> Any:
    beat = func.unixepoch() if connection.dialect.name == "sqlite" else func.extract("epoch", func.now())
    return connection.execute(select(beat)).scalar()


async def left(database: Database) -> set[str]:
    return set(await database.read(lambda c: c.execute(select(runs.c.id)).scalars().all()))


@pytest.mark.parametrize(
    ("keep", "kept"),
    [
        ((), set()),
        (("tagged",), {"tagged"}),
        (("pinned", "feedback"), {"pinned", "judged"}),
        (("tagged", "pinned", "feedback"), {"tagged", "pinned", "judged"}),
    ],
)
async def test_old_runs_are_deleted_but_those_that_are_kept(
    database_url: str, keep: tuple[str, ...], kept: set[str]
) -> None:
    database = await Database.open(database_url)
    await database.write(fill)
    stored = RunRecords(database)
    rule = Rule("2026-01-01T00:00:00.000Z", keep)
    assert (await stored.prunable(rule)).runs == 8 - len(kept)  # without those under way
    deleted = [0]
    assert await retention.prune(stored, rule, deleted.append) == 8 - len(kept)
    assert await left(database) == {"resumed", "alive", "waits", "young"} | kept
    assert sorted(deleted) == deleted
    assert await retention.prune(stored, rule) == 0
    assert len(await stored.judgements("local")) == 2
    await database.close()


async def test_the_estimated_space_is_that_of_the_runs_and_not_of_other_tables(database_url: str) -> None:
    database = await Database.open(database_url)
    stored = RunRecords(database)

    def add_runs(connection: Connection) -> None:
        for n in range(200):
            question = "".join(Random(n).choices("abcdefghijklmnopqrstuvwxyz ", k=4000))
            add_run(connection, f"run{n}", NEW if n % 4 else OLD, seq=3)
            connection.execute(runs.update().where(runs.c.id == f"run{n}").values(question=question))

    def add_others(connection: Connection) -> None:
        connection.exec_driver_sql("CREATE TABLE others (content TEXT)")
        if connection.dialect.name == "sqlite":
            # All pages of a file count, but not the free ones.
            connection.exec_driver_sql("INSERT INTO others VALUES (hex(randomblob(2000000)))")
            connection.exec_driver_sql("DROP TABLE others")
        else:
            many = "SELECT md5(n::text) FROM generate_series(1, 50000) AS n"
            connection.exec_driver_sql(f"INSERT INTO others {many}")

    await database.write(add_runs)
    old, every = [await stored.prunable(Rule(before)) for before in ("2026-01-01", "9999-01-01")]
    assert (old.runs, old.events, every.runs, every.events) == (50, 150, 200, 600)
    assert every.size == pytest.approx(4 * old.size, abs=4)
    assert 200 * 4000 < every.size < 200 * 16_000
    await database.write(add_others)
    assert (await stored.prunable(Rule("9999-01-01"))).size == pytest.approx(every.size, rel=0.05)
    assert (await stored.prunable(Rule("2000-01-01"))).size == 0
    await database.close()


async def test_others_write_while_old_runs_are_deleted(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, other = await Database.open(database_url), await Database.open(database_url)

    def many(connection: Connection) -> None:
        for n in range(40):
            add_run(connection, f"run{n:02}")

    await database.write(many)
    monkeypatch.setattr(retention, "BATCH", 5)
    written: list[int] = []

    async def write() -> None:
        while not seen or seen[-1][0] < 40:
            n = len(written)
            await other.write(lambda c, n=n: add_run(c, f"new{n}", NEW))  # type: ignore[misc]
            written.append(n)

    def progress(deleted: int) -> None:
        seen.append((deleted, len(written)))

    seen: list[tuple[int, int]] = []
    pruning = retention.prune(RunRecords(database), Rule("2026-01-01"), progress)
    assert (await asyncio.gather(pruning, write()))[0] == 40
    assert [deleted for deleted, _ in seen][:8] == [5, 10, 15, 20, 25, 30, 35, 40]
    assert seen[0][1] < seen[-1][1], "the other process writes meanwhile"
    assert await left(database) == {f"new{n}" for n in range(len(written))}
    for one in (database, other):
        await one.close()


@pytest.mark.parametrize("earlier", [False, True])
async def test_the_file_shrinks(tmp_path: Path, earlier: bool) -> None:
    file = tmp_path / "runs.db"
    database = await Database.open(file)
    if earlier:
        await database.close()
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("PRAGMA auto_vacuum=NONE")
            connection.execute("VACUUM")
        database = await Database.open(file)

    random = Random(7)

    def many(connection: Connection) -> None:
        for n in range(300):
            # Other texts are stored in a fraction of their size.
            add_run(connection, f"run{n:03}", spec={"seats": [], "text": random.randbytes(10_000).hex()})

    await database.write(many)
    stored = RunRecords(database)
    await retention.prune(stored, Rule("2026-01-01"))
    if earlier:
        assert await stored.give_back_space(rewrite=False) < 1_000_000
    freed = await stored.give_back_space(rewrite=True)
    assert freed > 2_000_000
    assert file.stat().st_size < 1_000_000
    await database.write(lambda c: add_run(c, "after"))
    assert await stored.damage() == ""
    assert give_back(file, rewrite=True) < 1_000_000
    await database.close()


async def test_the_file_shrinks_by_a_run_that_is_deleted(tmp_path: Path) -> None:
    """Before, its pages stayed in the file until `pnyx prune` deleted another run."""
    file = tmp_path / "runs.db"
    database = await Database.open(file)
    random = Random(7)

    def add(connection: Connection) -> None:
        for name, size in (("small", 1_000), ("large", 5_000_000)):
            add_run(connection, name, spec={"seats": [], "text": random.randbytes(size).hex()})

    await database.write(add)
    stored = RunRecords(database)
    await stored.delete("large")
    await stored.delete("small")
    await database.close()  # the log is now part of the file
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert file.stat().st_size < 500_000


def test_the_file_of_an_earlier_version_shrinks_though_no_run_is_old(lab: ScriptedHost, home: Path) -> None:
    lab.on("*", text="Final answer: 42")
    command_id("Why?")
    (file,) = home.rglob("pnyx.db")
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript("PRAGMA journal_mode=DELETE; PRAGMA auto_vacuum=NONE; VACUUM")
        connection.executescript(
            "CREATE TABLE t (x); INSERT INTO t VALUES (hex(randomblob(2000000))); DROP TABLE t"
        )
    done = pnyx("prune", "--older-than", "1d")
    assert done.out == "no run is old enough; the database is 4.0 MB smaller\n"
    assert file.stat().st_size < 500_000
    assert pnyx("prune", "--older-than", "1d").out == "no run is old enough\n"
    assert len(pnyx("runs", "--json").json) == 1


def test_the_command_says_what_it_would_delete_and_then_does(lab: ScriptedHost) -> None:
    lab.on("*", text="It is so.\nFinal answer: 42")
    one, two, three = (command_id(q) for q in ("Why?", "How?", "Who?"))
    pnyx("tag", one, "work")
    pnyx("feedback", two, "--result", "success")
    before = pnyx("cost", "--json").json
    assert pnyx("prune", "--older-than", "1d").out == "no run is old enough\n"
    said = pnyx("prune", "--older-than", "0d", "--keep", "tagged,feedback", "--dry-run", "--json").json
    assert (said["runs"], said["dry_run"], said["deleted_runs"]) == (1, True, 0)
    assert said["bytes"] > 1000
    assert pnyx("prune", "--older-than", "0d", "--dry-run").out.startswith("would delete 1 run (")
    done = pnyx("prune", "--older-than", "0d", "--keep", "tagged,feedback")
    assert done.out.startswith("deleted 1 run; the database is ")
    assert {run["run_id"] for run in pnyx("runs", "--json").json} == {one, two}
    assert pnyx("status", three).code == 2
    assert pnyx("recall", "Who", "--json").json == []
    assert pnyx("prune", "--older-than", "0d", "--keep", "none", "--json").json["deleted_runs"] == 2
    assert pnyx("cost", "--json").json["total"] == before["total"]
    assert pnyx("calibration", "--json").json["n"] == 1


def command_id(question: str) -> str:
    run_id: str = pnyx("ask", "-p", "voting", question, "--json").json["run_id"]
    return run_id


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "how old? Pass --older-than AGE, such as 90d, or set retention in [storage]"),
        (["--older-than", "90"], "--older-than: '90' is no duration; write a number with s, m, h, d or w"),
        (["--older-than", "-1d"], "--older-than: '-1d' is no duration"),
        (["--older-than", "nand"], "--older-than: 'nand' is no duration"),
        (
            ["--older-than", "1d", "--keep", "taged"],
            "--keep: unknown 'taged'; it can name tagged, pinned, feedback",
        ),
        (
            ["--older-than", "1d", "--keep", ""],
            "--keep names nothing; it can name tagged, pinned, feedback, or be none",
        ),
    ],
)
def test_a_rule_that_is_not_clear_deletes_nothing(lab: ScriptedHost, args: list[str], message: str) -> None:
    done = pnyx("prune", *args)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_a_person_is_asked_before_old_runs_are_deleted(lab: ScriptedHost) -> None:
    lab.on("*", text="It is so.\nFinal answer: 42")
    run = command_id("Why?")
    with screen("prune", "--older-than", "0d") as tty:
        tty.wait_for("Delete them for good? [y/N]: ")
        tty.type("n\r")
        assert tty.end() == 130
    assert run in pnyx("runs").out


async def test_a_server_deletes_old_runs_if_retention_is_set(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "runs.db")
    await database.write(fill)
    stored, notes, problems = RunRecords(database), list[str](), list[str]()
    async with retention.retention(stored, StorageSettings(), notes.append, problems.append):
        await asyncio.sleep(0.05)
    assert len(await left(database)) == 12
    settings = StorageSettings(retention="90d", keep=("tagged",))
    async with retention.retention(stored, settings, notes.append, problems.append), asyncio.timeout(60):
        while not notes:  # noqa: ASYNC110 (it happens in another task)
            await asyncio.sleep(0.02)
    assert await left(database) == {"resumed", "alive", "waits", "young", "tagged"}
    assert (notes, problems) == (["deleted 7 runs older than 90d ([storage] retention)"], [])
    await database.close()


def test_a_short_command_deletes_nothing(lab: ScriptedHost, tmp_path: Path) -> None:
    lab.on("*", text="It is so.\nFinal answer: 42")
    run = command_id("Why?")
    with (tmp_path / "lab.toml").open("a") as settings:
        settings.write('[storage]\nretention = "0s"\n')
    assert [one["run_id"] for one in json.loads(pnyx("runs", "--json").out)] == [run]
    assert pnyx("prune", "--keep", "none", "--json").json["deleted_runs"] == 1


def test_how_old_a_run_is_goes_by_the_clock_of_the_database(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, a machine whose clock was a year ahead deleted the runs of that year."""
    pnyx("ask", "Why?", "--json")
    monkeypatch.setattr(RunRecords, "now", lambda self: NEW)
    assert pnyx("prune", "--older-than", "1d", "--dry-run", "--json").json["runs"] == 1
    monkeypatch.setattr(RunRecords, "now", lambda self: OLD)
    assert pnyx("prune", "--older-than", "0s", "--dry-run", "--json").json["runs"] == 0
