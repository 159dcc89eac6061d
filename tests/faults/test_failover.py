"""A standby of PostgreSQL that takes over from a primary that is killed while runs are under way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from sqlalchemy.engine import make_url

import pnyx
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.run.runner import Runner
from tests.faults.test_postgresql import CALLS, RUNS, debates, statuses
from tests.faults.trial import Trial, soon
from tests.store.test_postgresql import at_port
from tests.support.books import Books
from tests.support.postgres import PostgresServer


class Pair(NamedTuple):
    """A primary and its standby. url: of a database on the standby, once it takes writes."""

    primary: PostgresServer
    standby: PostgresServer
    url: str

    def has_all(self) -> bool:
        """Whether the standby has all that the primary has written."""
        sent = self.primary.sql("SELECT bool_and(replay_lsn = pg_current_wal_lsn()) FROM pg_stat_replication")
        return sent == "t"

    def fail_over(self) -> None:
        self.primary.stop(at_once=True)
        self.standby.promote()


@pytest.fixture
def pair(postgres_trial: Trial, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    primary = PostgresServer()
    primary.start()
    standby = PostgresServer(primary)
    try:
        standby.start()
        with primary.database() as url:
            at = make_url(url)
            hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
            address = f"postgresql://{at.username}:{at.password}@{hosts}/{at.database}"
            monkeypatch.setenv("PNYX_DATABASE", f"{address}?target_session_attrs=read-write")
            postgres_trial.url = at.set(port=standby.port).render_as_string(hide_password=False)
            pair = Pair(primary, standby, postgres_trial.url)
            assert postgres_trial.ask().code == 0
            soon(pair.has_all)
            yield pair
    finally:
        standby.remove()
        primary.remove()


def test_a_standby_that_has_all_takes_over_and_nothing_is_lost_or_paid_twice(
    pair: Pair, postgres_trial: Trial
) -> None:
    trial = postgres_trial
    pair.primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
    pair.primary.sql("SELECT pg_reload_conf()")
    trial.host.latency = 0.2

    def fail_over() -> None:
        soon(lambda: len(trial.host.log) > CALLS + RUNS)
        pair.fail_over()

    assert statuses(asyncio.run(debates(fail_over))) == {"decided"}
    verdict = trial.check(f"primary killed, standby promoted; {RUNS} runs decided")
    assert (verdict.uncertain, len(trial.host.log)) == (0, CALLS * (1 + RUNS))
    assert verdict.bill_nusd == verdict.ledger_nusd


def test_a_standby_that_was_behind_repeats_only_what_it_lacks(pair: Pair, postgres_trial: Trial) -> None:
    trial = postgres_trial
    cut, released = threading.Event(), threading.Event()
    trial.host.on("beta", until=cut.is_set)
    trial.host.on("gamma", until=released.is_set)

    def recorded() -> int:
        runs = Books.read(at_port(pair.url, pair.primary.port)).runs.values()
        return sum(attempt.outcome is not None for run in runs for attempt in run.attempts)

    def fail_over() -> None:
        soon(lambda: len(trial.host.log) == CALLS + 3 * RUNS)
        soon(pair.has_all)
        pair.standby.sql("ALTER SYSTEM SET primary_conninfo = ''")
        pair.standby.sql("SELECT pg_reload_conf()")
        soon(lambda: not pair.standby.sql("SELECT pid FROM pg_stat_wal_receiver"))
        cut.set()  # what beta says now is lost
        soon(lambda: recorded() == CALLS + 2 * RUNS)
        pair.fail_over()
        released.set()

    results = asyncio.run(debates(fail_over))
    assert len([one for one in results if "has lost the last events of run" in str(one)]) == RUNS
    asyncio.run(_resume_all(trial))
    verdict = trial.check(f"{RUNS} replies that the standby lacked were asked for again")
    assert {run.status for run in verdict.books.runs.values()} == {"decided"}
    # Of each run the reply that was lost, the one in flight, and the last call, which is made once.
    assert len(trial.host.log) == CALLS + 6 * RUNS
    assert verdict.uncertain == 2 * RUNS


def test_a_standby_is_enough_to_read_and_begins_nothing(
    pair: Pair, postgres_trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = postgres_trial
    monkeypatch.setenv("PNYX_DATABASE", pair.url)
    (run,) = Books.read(trial.url).runs
    kept = trial.folder / "kept.backup"
    reading = ("runs", "cost", "recall why", "prune --older-than 0d --dry-run")
    of_run = (f"{command} {run}" for command in ("show", "status", "export --format md", "show --json"))
    for command in (*reading, *of_run, f"backup {kept}"):
        done = trial.pnyx(*command.split())
        assert (done.code, done.err.count("pnyx:")) == (0, 0), (command, done.err)
    for command in ("ask Why?", f"tag {run} kept", "prune --older-than 0d --yes"):
        done = trial.pnyx(*command.split())
        assert done.code == 1, (command, done.out)
        assert "this server takes no writes now: check that the address is the primary's" in done.err, command
    assert len(trial.host.log) == CALLS
    trial.check("read; nothing begun")


async def _resume_all(trial: Trial) -> None:
    found = await asyncio.to_thread(Books.read, trial.url)
    async with Runner.open(open_settings()) as runner:
        for run in found.runs.values():
            if not run.over:
                await pnyx.resume(run.id, runner=runner)
