"""Full, failing or read-only disks; databases that are locked, damaged, newer or unavailable."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

import pnyx
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.run.runner import Runner
from pnyx.store import sqlite as sqlite_module
from pnyx.store.schema import REVISION
from tests.faults.test_processes import KILLS
from tests.faults.trial import Trial, soon
from tests.interfaces.shell import Done
from tests.support import forked, fsyncs
from tests.support.disks import small_disk
from tests.support.postgres import PostgresServer
from tests.support.serving import open_server

NOTICE = {"prompt_tokens": 500, "completion_tokens": 500, "total_tokens": 1000}
CRASHES = max(KILLS // 10, 1)
"""Of PostgreSQL in one test."""
LONG = "The wall is long, and it has stones. " * 1_500


def path_of(trial: Trial) -> Path:
    return Path(trial.url.removeprefix("sqlite:///"))


@pytest.mark.parametrize("mount", [True, False], ids=["a small disk", "a limit on file sizes"])
def test_a_full_disk_stops_the_run_names_the_path_and_allows_a_resume_when_there_is_space(
    trial: Trial, mount: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial.host.on(
        "*", text=LONG, usage={"prompt_tokens": 500, "completion_tokens": 500, "total_tokens": 1000}
    )
    with small_disk(trial.folder / "disk", 420_000, mount) as disk:
        trial.url = f"sqlite:///{disk.folder / 'pnyx.db'}"
        monkeypatch.setenv("PNYX_DATABASE", trial.url)
        with trial.spawned("ask", "Why?", "--rounds", "2", **disk.options) as process:
            done = trial.ended(process)
        assert done.code == 1, done.err
        assert str(disk.folder / "pnyx.db") in done.err
        stopped = trial.check()
        assert 0 < len(trial.host.log) < 8
        with trial.spawned("resume", stopped.run.id, "--json", **disk.grow()) as process:
            assert trial.ended(process).code == 0
        verdict = trial.check()
        assert len(trial.host.log) <= 8 + verdict.uncertain
        trial.line = (f"{disk.kind}: stopped, then {verdict.happened}", *(trial.line or ("", "", ""))[1:])


def test_on_a_full_disk_what_is_stored_is_read_saved_elsewhere_and_health_says_why(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(trial.folder / "disk", 3_000_000) as disk:
        if not disk.mounted:
            pytest.skip("no right to mount a tmpfs: only the limit on file sizes is tested, above")
        trial.url = f"sqlite:///{disk.folder / 'pnyx.db'}"
        monkeypatch.setenv("PNYX_DATABASE", trial.url)
        run = trial.ask().json["run_id"]
        with closing(sqlite3.connect(path_of(trial))) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ballast = disk.folder / "ballast"
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        for reading in ("runs", f"show {run}", "cost", "prune --older-than 0d --dry-run"):
            done = trial.pnyx(*reading.split())
            assert (done.code, done.err) == (0, ""), reading
        elsewhere = trial.folder / "saved.db"
        assert trial.pnyx("backup", str(elsewhere)).code == 0
        here = trial.pnyx("backup", str(disk.folder / "saved.db"))
        assert f"pnyx: {disk.folder / 'saved.db'} cannot be written: " in here.err
        for writing in ("ask Why?", f"tag {run} kept"):
            done = trial.pnyx(*writing.split())
            assert done.code == 1, writing
            assert "free some space, then repeat the command or resume the run" in done.err, writing
        ballast.write_bytes(b"")
        assert trial.pnyx("tag", run, "kept").code == 0
        assert asyncio.run(_health_when_filled(lambda size: ballast.write_bytes(bytes(size)))) == [
            ("ok", None),
            ("unavailable", "the disk of the database is full"),
            ("ok", None),
        ]
        trial.check("read, and saved elsewhere")


async def _health_when_filled(fill: Callable[[int], object]) -> list[tuple[str, str]]:
    """The health of a server before its disk is full, then, and afterwards."""
    found = []
    async with open_server() as server, server.client(key=None) as client:
        for size in (0, 2_500_000, 0):
            fill(size)
            body = (await client.get("/health")).json()
            found.append((body["status"], body["reason"]))
    return found


def unsynced(trial: Trial, at: int) -> tuple[Done, int]:
    """A run whose every fsync fails from its nth commit on, and how many requests had an intent by then."""
    done = trial.ended(forked.start(str(at), "ask", "Why?", module="tests.support.fsyncs"))
    allowed = done.err.partition(fsyncs.NOTICE)[2].partition("\n")[0]
    return done, int(allowed or 0)


@pytest.mark.parametrize("at", range(1, 6))
def test_a_failed_fsync_sends_nothing_that_is_not_on_disk_and_resumes(trial: Trial, at: int) -> None:
    done, allowed = unsynced(trial, at)
    assert (done.code, done.out) == (1, ""), done.err
    assert (
        f"database {path_of(trial)}: disk I/O error; the disk failed: check it and its free space" in done.err
    )
    assert len(trial.host.log) <= allowed, "a request was sent whose intent was not synced"
    stopped = trial.check()
    for run in stopped.books.runs.values():
        assert trial.pnyx("resume", run.id, "--json").json["status"] == "decided"
    verdict = trial.check()
    assert len(trial.host.log) <= 4 + verdict.uncertain
    trial.line = (f"stopped, then {verdict.happened}", *(trial.line or ("", "", ""))[1:])


def test_a_disk_that_never_syncs_is_named_and_nothing_is_sent(trial: Trial) -> None:
    done, _ = unsynced(trial, 0)
    assert (done.code, done.out, trial.host.log) == (1, "", [])
    assert f"database {path_of(trial)}: disk I/O error" in done.err
    assert trial.ask().code == 0
    trial.check()


def test_a_folder_that_cannot_be_written_is_named_and_nothing_is_sent(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PNYX_DATABASE", "/sys/pnyx.db")
    done = trial.ask()
    assert (done.code, trial.host.log) == (1, [])
    assert "/sys/pnyx.db" in done.err
    assert "PNYX_DATABASE" in done.err
    trial.check("refused")


@contextmanager
def locked(path: Path, seconds: float | None = None) -> Iterator[None]:
    """Lock the database from another process for some seconds, or until the end of the block."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(seconds or 0.0, lambda: connection.execute("ROLLBACK"))
    if seconds is not None:
        timer.start()
    try:
        yield
    finally:
        if seconds is not None:
            timer.join()
        connection.close()


def test_a_write_waits_for_a_database_locked_for_3_s(trial: Trial) -> None:
    assert trial.ask().code == 0
    started_at = time.monotonic()
    with locked(path_of(trial), 3.0):
        assert trial.ask().code == 0
    assert time.monotonic() - started_at >= 3
    trial.check()


def test_a_permanently_locked_database_is_a_typed_error_and_nothing_is_sent(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert trial.ask().code == 0
    monkeypatch.setattr(sqlite_module, "BUSY_S", 0.5)
    sent = len(trial.host.log)
    with locked(path_of(trial)):
        done = trial.ask()
    assert (done.code, len(trial.host.log)) == (1, sent)
    assert f"database {path_of(trial)}: database is locked; another process is using it" in done.err
    trial.check("refused: locked")


@pytest.mark.parametrize("where", ["header", "pages", "all"])
def test_a_damaged_database_is_refused_with_its_path_and_left_as_it_is(trial: Trial, where: str) -> None:
    assert trial.ask().code == 0
    path, sent = path_of(trial), len(trial.host.log)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    good = path.read_bytes()
    first, last = {"header": (0, 100), "pages": (100, 4096), "all": (0, len(good))}[where]
    bad = good[:first] + b"\xff" * (last - first) + good[last:]
    path.write_bytes(bad)
    done = trial.ask()
    assert (done.code, len(trial.host.log), path.read_bytes() == bad) == (1, sent, True)
    assert str(path) in done.err
    path.write_bytes(good)
    trial.check("refused: damaged")


def test_a_database_of_a_newer_schema_is_refused_and_left_as_it_is(trial: Trial) -> None:
    assert trial.ask().code == 0
    sent = len(trial.host.log)
    with closing(sqlite3.connect(path_of(trial))) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    for command in (("ask", "Why?"), ("runs",)):
        done = trial.pnyx(*command)
        assert (done.code, len(trial.host.log)) == (1, sent)
        assert "written by a newer pnyx" in done.err
    with closing(sqlite3.connect(path_of(trial))) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (REVISION,))
    trial.check("refused: newer")


@pytest.mark.parametrize("seed", range(5, 10))
def test_postgresql_killed_at_random_moments_under_20_runs_at_once_loses_and_repeats_nothing(
    postgres: PostgresServer, postgres_trial: Trial, seed: int
) -> None:
    trial, draw = postgres_trial, random.Random(seed)
    trial.host.latency = 0.2
    assert trial.ask().code == 0
    over = threading.Event()

    def crashes() -> None:
        for _ in range(CRASHES):
            time.sleep(draw.uniform(0.1, 0.5))
            postgres.stop(at_once=True)
            time.sleep(draw.uniform(0.0, 0.4))
            postgres.start()
        over.set()

    async def runs() -> list[pnyx.Result]:
        async with Runner.open(open_settings()) as runner:
            thread = asyncio.create_task(asyncio.to_thread(crashes))
            done: list[pnyx.Result] = []
            while not over.is_set() or not done:
                done += await asyncio.gather(*(pnyx.ask("Why?", runner=runner) for _ in range(20)))
            await thread
            return done

    results = asyncio.run(runs())
    assert {result.status for result in results} == {"decided"}
    verdict = trial.check(f"{CRASHES} crashes, {len(results)} runs decided")
    assert verdict.uncertain == 0
    assert verdict.bill_nusd == verdict.ledger_nusd
    assert len(trial.host.log) == 4 * (len(results) + 1)


def test_one_command_waits_for_a_killed_postgresql(postgres: PostgresServer, postgres_trial: Trial) -> None:
    trial = postgres_trial
    trial.host.on("beta", delay=0.5)
    with trial.spawned("ask", "Why?", "--json") as process:
        soon(lambda: trial.host.requests("beta"))
        postgres.stop(at_once=True)
        time.sleep(1.0)
        postgres.start()
        done = trial.ended(process)
    assert (done.code, done.json["status"]) == (0, "decided")
    assert "Traceback" not in done.err
    verdict = trial.check()
    assert (verdict.uncertain, len(trial.host.log)) == (0, 4)
