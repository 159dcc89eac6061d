"""Processes that are killed, frozen or stopped, over every protocol: no call is paid twice.

PNYX_KILLS is how many processes are killed in all, `make test-faults` with 200 of them takes minutes.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine

from pnyx.protocols import names
from tests.faults.trial import Trial, interrupt, soon
from tests.support.books import Books, Run
from tests.support.forked import Process
from tests.support.waiting import STALL_S

KILLS = int(os.environ.get("PNYX_KILLS", "10"))
PROTOCOLS = sorted(names())
DEEP = ("consensus", "deliberate") if KILLS < 200 else tuple(PROTOCOLS)
"""Protocols that are killed on PostgreSQL too: the long ones; all of them with `PNYX_KILLS`."""

LIMITS = {"council": ("--rounds", "2")}
"""Options that bound a protocol: on the words of the scripted host, a council has up to 200 calls."""


def killed_and_resumed(trial: Trial, protocol: str, draw: random.Random, calls: int) -> bool:
    """Kill a run at a random moment and resume it; return whether it was killed in time."""
    known = set(Books.read(trial.url).runs)
    sent = len(trial.host.log)
    after, moment = draw.randint(1, calls), draw.uniform(0, 0.03)
    with trial.spawned("ask", "Why?", "-p", protocol, *LIMITS.get(protocol, ()), "--json") as process:
        soon(lambda: len(trial.host.log) >= sent + after or process.poll() is not None)
        time.sleep(moment)
        process.kill()
        trial.ended(process)
    (run,) = [run for id, run in Books.read(trial.url).runs.items() if id not in known]
    in_flight = [attempt.started for attempt in run.attempts if attempt.outcome is None]
    answered = {e["key"] for e in run.events if e["type"] == "call_finished"}
    done = trial.pnyx("resume", run.id, "--json")
    assert done.code == 0, done.err
    resumed = Books.read(trial.url).runs[run.id]
    repeated = [e["key"] for e in resumed.events[len(run.events) :] if e["type"] == "call_started"]
    assert not answered & set(repeated), "a journaled call was sent again"
    unknown = [a.started for a in resumed.attempts if a.kind == "unknown"]
    assert unknown == in_flight
    return not run.over


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_killed_at_random_and_resumed(trial: Trial, protocol: str) -> None:
    trial.settle(call_deadline_s=120)
    trial.host.latency = 0.02
    calls = trial.ask("-p", protocol, *LIMITS.get(protocol, ())).json["usage"]["calls"]
    draw = random.Random(protocol)
    kills = [killed_and_resumed(trial, protocol, draw, calls) for _ in range(max(KILLS // len(PROTOCOLS), 1))]
    last = list(Books.read(trial.url).runs)[-1]
    sent = len(trial.host.log)
    expected, fork = (
        trial.pnyx("resume", last, "--json").json,
        trial.pnyx("resume", last, "--fork", "--json").json,
    )
    assert (fork["answer"], fork["final_answer"]) == (expected["answer"], expected["final_answer"])
    assert len(trial.host.log) == sent, "a replay of recorded replies sent something"
    verdict = trial.check()
    trial.line = _line(trial, f"{sum(kills)} killed and resumed, {verdict.uncertain} in flight")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("protocol", DEEP)
def test_killed_at_random_on_postgresql_and_resumed(postgres_trial: Trial, protocol: str) -> None:
    trial = postgres_trial
    trial.settle(call_deadline_s=120)
    trial.host.latency = 0.02
    calls = trial.ask("-p", protocol, *LIMITS.get(protocol, ())).json["usage"]["calls"]
    draw = random.Random(f"{protocol} on postgresql")
    kills = [killed_and_resumed(trial, protocol, draw, calls) for _ in range(max(KILLS // 10, 1))]
    verdict = trial.check()
    trial.line = _line(trial, f"{sum(kills)} killed and resumed, {verdict.uncertain} in flight")


def _line(trial: Trial, happened: str) -> tuple[str, str, str]:
    assert trial.line is not None
    return (happened, *trial.line[1:])


def silent(trial: Trial, seconds: int) -> bool:
    """Set the heartbeat of all runs back; return False if another transaction holds them."""
    statement = text(f"UPDATE runs SET heartbeat_at = heartbeat_at - {seconds}")

    async def execute() -> None:
        options = {"server_settings": {"lock_timeout": "500"}}
        engine = create_async_engine(trial.url, connect_args=options)
        try:
            async with engine.begin() as connection:
                await connection.execute(statement)
        finally:
            await engine.dispose()

    try:
        if trial.url.startswith("postgresql"):
            asyncio.run(execute())
        else:
            with create_engine(trial.url, connect_args={"timeout": 0.5}).begin() as connection:
                connection.execute(statement)
    except DBAPIError as exc:
        if "lock" not in str(exc.orig):
            raise
        return False
    return True


def stopped(process: Process) -> bool:
    """Return whether the system has stopped all threads of the process."""
    tasks = Path(f"/proc/{process.pid}/task").glob("*/stat")
    return {path.read_text().rpartition(")")[2].split()[0] for path in tasks} == {"T"}


def freeze(trial: Trial, process: Process) -> Run:
    """Stop the process while it waits for its last reply and holds no lock; return its run."""

    def waiting() -> bool:
        (run,) = Books.read(trial.url).runs.values()
        return sorted(attempt.kind for attempt in run.attempts) == ["", "", "open"]

    soon(lambda: trial.host.requests("beta"))
    soon(waiting)
    while not stopped(process):
        process.send_signal(signal.SIGSTOP)
        soon(lambda: stopped(process))
        if not silent(trial, 0):
            process.send_signal(signal.SIGCONT)
            soon(lambda: not stopped(process))
    (run,) = Books.read(trial.url).runs.values()
    return run


def test_a_worker_frozen_past_its_lease_writes_nothing_when_it_wakes(
    either_trial: Trial,
) -> None:
    trial = either_trial
    trial.settle(call_deadline_s=60)
    trial.host.on("beta", call=1, after=4)
    with trial.spawned("ask", "Why?") as process:
        frozen = freeze(trial, process)
        early = trial.pnyx("resume", frozen.id)
        assert (early.code, "is still running" in early.err) == (2, True), "the lease had not lapsed"
        assert silent(trial, 60)
        other = trial.pnyx("resume", frozen.id, "--json")
        assert (other.code, other.json["status"]) == (0, "decided")
        finished = Books.read(trial.url)
        assert stopped(process)
        soon(lambda: all(sent.done for sent in trial.host.log))
        process.send_signal(signal.SIGCONT)
        first = trial.ended(process)
    assert (first.code, first.out) == (1, "")
    assert "was taken over by another process" in first.err
    assert Books.read(trial.url) == finished
    verdict = trial.check()
    assert verdict.run.epoch == frozen.epoch + 1
    assert verdict.uncertain == 1


def test_a_frozen_worker_that_wakes_after_a_takeover_is_refused_and_sends_nothing(
    either_trial: Trial,
) -> None:
    trial = either_trial
    trial.settle(call_deadline_s=60)
    trial.host.on("beta", call=1, after=4)
    refused = threading.Event()
    trial.host.on("beta", call=2, until=refused.is_set)
    with trial.spawned("ask", "Why?", "--rounds", "2") as process:
        frozen = freeze(trial, process)
        assert silent(trial, 60)
        with trial.spawned("resume", frozen.id, "--json") as other:
            soon(lambda: len(trial.host.requests("beta")) == 2 and trial.host.requests("beta")[0].done)
            process.send_signal(signal.SIGCONT)
            first = trial.ended(process)
            assert other.poll() is None, "the other one has ended"
            refused.set()
            second = trial.ended(other)
    assert (first.code, first.out) == (1, "")
    assert "was taken over by another process" in first.err
    assert (second.code, second.json["status"]) == (0, "decided")
    verdict = trial.check()
    answered = [event for event in verdict.run.events if event["type"] == "call_finished"]
    assert (len(answered), len(trial.host.log)) == (8, 8 + verdict.uncertain)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C once", "SIGTERM"])
def test_a_first_signal_saves_the_run_with_its_best_answer(trial: Trial, number: signal.Signals) -> None:
    trial.host.on("alpha", text="The proposal.")
    answered = threading.Event()
    trial.host.on("beta", until=answered.is_set)
    with trial.spawned("ask", "Why?") as process:
        soon(lambda: trial.host.requests("beta"))
        interrupt(process, number)
        answered.set()
        done = trial.ended(process)
    assert (done.code, done.out) == (130, "The proposal.\n")
    run = trial.check().run
    assert f"pnyx resume {run.id}" in done.err
    assert all(attempt.outcome for attempt in run.attempts)
    assert trial.pnyx("resume", run.id).code == 0
    verdict = trial.check()
    assert (len(trial.host.log), verdict.uncertain) == (4, 0)


def test_a_second_ctrl_c_stops_at_once_and_calls_in_flight_are_charged_on_resume(trial: Trial) -> None:
    trial.host.on("beta", call=1, hang=True)
    with trial.spawned("ask", "Why?") as process:
        soon(lambda: trial.host.requests("beta"))
        interrupt(process)
        process.send_signal(signal.SIGINT)
        started_at = time.monotonic()
        assert trial.ended(process).code == 130
        assert time.monotonic() - started_at < STALL_S
    run = trial.check().run
    assert sum(attempt.outcome is None for attempt in run.attempts) == 1
    assert trial.pnyx("resume", run.id).code == 0
    assert trial.check().uncertain == 1


def test_a_closed_pipe_prints_no_error_and_stops_further_calls(trial: Trial) -> None:
    closed = threading.Event()
    trial.host.on("alpha", call=1, until=closed.is_set)
    with trial.spawned("ask", "--jsonl", "Why?") as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["type"] == "run_started"
        process.stdout.close()
        process.stdout = None
        closed.set()
        done = trial.ended(process)
    assert done.err.count("Traceback") + done.err.count("Errno") == 0
    assert len(trial.host.log) < 4
    assert trial.check().run.status == "paused"
