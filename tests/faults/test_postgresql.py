"""PostgreSQL that hangs, is full, or fails over to a standby, while runs are under way."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

import pnyx
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.run.runner import Runner
from pnyx.store import postgresql
from tests.faults.trial import Trial, soon
from tests.support.disks import small_disk
from tests.support.postgres import PostgresServer

CALLS = 4
RUNS = 10


async def debates(meanwhile: Callable[[], object]) -> list[pnyx.Result | BaseException]:
    """The results of some runs at once, during which `meanwhile` runs in a thread."""
    async with Runner.open(open_settings()) as runner:
        other = asyncio.create_task(asyncio.to_thread(meanwhile))
        runs = (pnyx.ask("Why?", runner=runner) for _ in range(RUNS))
        done = await asyncio.gather(*runs, return_exceptions=True)
        await other
    return done


def statuses(results: Iterable[pnyx.Result | BaseException]) -> set[str]:
    return {one.status if isinstance(one, pnyx.Result) else repr(one) for one in results}


def test_a_postgresql_that_hangs_under_runs_and_wakes_loses_and_repeats_nothing(
    postgres: PostgresServer, postgres_trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql, "SILENT_S", 1.0)
    trial = postgres_trial
    trial.host.latency = 0.2

    def hang() -> None:
        soon(lambda: len(trial.host.log) > RUNS)
        with postgres.frozen():
            time.sleep(4.0)  # until some connections were given up, and others tried

    assert statuses(asyncio.run(debates(hang))) == {"decided"}
    verdict = trial.check(f"hung for 4 s; {RUNS} runs decided")
    assert (verdict.uncertain, len(trial.host.log)) == (0, CALLS * RUNS)
    assert verdict.bill_nusd == verdict.ledger_nusd


@contextmanager
def small_tablespace(postgres: PostgresServer, url: str) -> Iterator[Path]:
    """A full disk, in whose folder others can write, that has the tables of the database at `url`."""
    name = make_url(url).database
    with tempfile.TemporaryDirectory(prefix="pnyx-disk-") as folder:
        Path(folder).chmod(0o755)
        with small_disk(Path(folder) / "disk", 24_000_000) as disk:
            if not disk.mounted:
                pytest.skip("no right to mount a tmpfs")
            disk.folder.chmod(0o777)
            tables = disk.folder / "tables"
            tables.mkdir()
            postgres.give(tables)
            postgres.sql(f"CREATE TABLESPACE small LOCATION '{tables}'")
            postgres.sql(f"ALTER DATABASE {name} SET TABLESPACE small")
            try:
                yield disk.folder
            finally:
                postgres.sql(f"ALTER DATABASE {name} SET TABLESPACE pg_default")
                postgres.sql("DROP TABLESPACE small")


@pytest.fixture
def full_disk(postgres: PostgresServer, postgres_trial: Trial) -> Iterator[Path]:
    """A file to fill and free the disk that has the tables of the trial, with replies that need room."""
    with small_tablespace(postgres, postgres_trial.url) as folder:
        usage = {"prompt_tokens": 500, "completion_tokens": 500, "total_tokens": 1000}
        long = f"{os.urandom(20_000).hex()} Final answer: yes"
        postgres_trial.host.on("*", text=long, usage=usage)
        postgres_trial.host.latency = 0.3
        yield folder / "ballast"


def fill(ballast: Path) -> None:
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass


def free(ballast: Path, size: int) -> None:
    os.truncate(ballast, ballast.stat().st_size - size)


def refusals(postgres: PostgresServer) -> int:
    return postgres.log().count("No space left on device")


def test_a_full_disk_of_postgresql_is_waited_for_and_no_call_is_uncertain(
    postgres: PostgresServer, postgres_trial: Trial, full_disk: Path
) -> None:
    trial, before = postgres_trial, refusals(postgres)

    def fill_and_free() -> None:
        soon(lambda: len(trial.host.log) > RUNS // 2)
        fill(full_disk)
        soon(lambda: refusals(postgres) > before + 2)
        full_disk.unlink()

    assert statuses(asyncio.run(debates(fill_and_free))) == {"decided"}
    verdict = trial.check(f"full for a moment; {RUNS} runs decided")
    assert (verdict.uncertain, len(trial.host.log)) == (0, CALLS * RUNS)
    assert verdict.bill_nusd == verdict.ledger_nusd


async def test_while_the_disk_of_postgresql_is_full_no_call_is_begun(
    postgres: PostgresServer, postgres_trial: Trial, full_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, each run that was tried again paid for a call whose reply could not be recorded."""
    monkeypatch.setattr(postgresql, "AWAY_S", 1.0)
    trial, before = postgres_trial, refusals(postgres)
    async with Runner.open(open_settings()) as runner:
        runs = [asyncio.create_task(pnyx.ask("Why?", runner=runner)) for _ in range(RUNS)]
        await asyncio.to_thread(soon, lambda: len(trial.host.log) > RUNS // 2)
        await asyncio.to_thread(fill, full_disk)
        done = await asyncio.gather(*runs, return_exceptions=True)
        assert "No space left" in str(statuses(done))
        in_flight = len(trial.host.log)
        assert refusals(postgres) > before
        # Enough for intents, not for replies.
        await asyncio.to_thread(free, full_disk, 65_536)
        for _ in range(3):
            runs = [asyncio.create_task(pnyx.ask("Why?", runner=runner)) for _ in range(RUNS)]
            again = await asyncio.gather(*runs, return_exceptions=True)
            assert not [one for one in again if isinstance(one, pnyx.Result)]
        assert len(trial.host.log) == in_flight
        await asyncio.to_thread(full_disk.unlink)
        assert (await pnyx.ask("Why?", runner=runner)).status == "decided"
    verdict = await asyncio.to_thread(trial.check, "full: nothing was begun; then decided")
    assert verdict.uncertain <= RUNS


def test_processes_with_wrong_clocks_pay_from_one_days_budget(
    postgres_trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, a machine whose clock was a day off had a budget of its own."""
    trial = postgres_trial
    trial.settle(day_usd=1.0)
    right, right_ns = time.time, time.time_ns
    for days in (0, 1, -1, 400):
        ahead = days * 86_400
        monkeypatch.setattr(time, "time", lambda ahead=ahead: right() + ahead)
        monkeypatch.setattr(time, "time_ns", lambda ahead=ahead: right_ns() + ahead * 10**9)
        done = trial.ask()
        assert done.json["status"] == "decided"
        today = trial.pnyx("cost", "--json").json
        spent, rows = today["today"]["spent_usd"], today["total"]["cost_usd"]
    monkeypatch.undo()
    verdict = trial.check("4 clocks, one day")
    days_of = {
        scope: spent for scope, (_, spent, _) in verdict.books.accounts.items() if scope.startswith("day:")
    }
    assert list(days_of.values()) == [verdict.ledger_nusd]
    assert round(spent * 1e9) == round(rows * 1e9) == verdict.ledger_nusd
    for run in verdict.books.runs.values():
        for event in run.events:
            assert abs(datetime.fromisoformat(event["time"]).timestamp() - right()) < 600
