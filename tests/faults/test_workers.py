"""Workers that share a queue: killed, frozen, stopped, without their database; the ledger stays correct.

A server and its workers are processes of their own, as they are for a user.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from tests.faults.site import ASK, CALLS, Site, Worker
from tests.faults.test_processes import silent, stopped
from tests.faults.test_server import resumed, until
from tests.faults.trial import Trial, handled, soon
from tests.support.assistants import over_http
from tests.support.books import Books, Run
from tests.support.postgres import PostgresServer
from tests.support.serving import events_of
from tests.support.waiting import STALL_S

MINUTE = "interval '60 seconds'"
CRASHES = 2 if int(os.environ.get("PNYX_KILLS", "0")) >= 200 else 1
"""How often the database crashes under workers."""


def run_of(trial: Trial) -> Run:
    (run,) = Books.read(trial.url).runs.values()
    return run


async def test_a_waiting_run_is_shown_as_waiting_and_is_streamed_once_a_worker_takes_it(site: Site) -> None:
    trial = site.trial
    streamed = {**ASK, "stream": True}
    async with (
        site.server.client() as client,
        client.stream("POST", "/v1/runs", json=streamed) as response,
    ):
        run = response.headers["x-run-id"]
        events = events_of(response)
        seen = [await anext(events)]
        listed = (await client.get("/v1/runs", params={"status": "waiting"})).json()
        running = (await client.get("/v1/runs", params={"status": "running"})).json()
        status = await asyncio.to_thread(trial.pnyx, "status", run)
        shown = await asyncio.to_thread(trial.pnyx, "show", run)
        assert [one["run_id"] for one in listed] == [run]
        assert (running, trial.host.log) == ([], [])
        await asyncio.to_thread(site.worker)
        seen += [event async for event in events]
    assert status.out.startswith(f"{run}  waiting: in the queue for a `pnyx worker`")
    assert "waiting" in shown.out
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert (seen[0]["type"], seen[-1]["type"], seen[-1]["status"]) == (
        "run_started",
        "run_finished",
        "decided",
    )
    assert f"run {run} · started" in site.workers[0].stderr
    verdict = await asyncio.to_thread(site.check, "waited, then streamed")
    assert (verdict.uncertain, verdict.run.epoch, len(trial.host.log)) == (0, 2, CALLS)


async def test_two_workers_share_20_runs(site: Site) -> None:
    trial = site.trial
    trial.host.latency = 0.1
    workers = await asyncio.gather(*(asyncio.to_thread(site.worker, "--concurrency", "3") for _ in range(2)))
    runs = await asyncio.gather(*(site.begin(seed=n) for n in range(20)))
    results = await site.over(*runs)
    assert {one["status"] for one in results} == {"decided"}
    shares = [worker.stderr.count(" · started") for worker in workers]
    assert (sum(shares), min(shares) > 0) == (20, True)
    verdict = await asyncio.to_thread(site.check, f"20 decided, {shares[0]} here and {shares[1]} there")
    assert (verdict.uncertain, len(trial.host.log)) == (0, 20 * CALLS)
    assert verdict.bill_nusd == verdict.ledger_nusd
    assert {run.epoch for run in verdict.books.runs.values()} == {2}


async def test_another_worker_replaces_a_killed_one_and_only_calls_in_flight_are_paid_again(
    site: Site,
) -> None:
    trial = site.trial
    trial.host.latency = 0.3
    first = await asyncio.to_thread(site.worker)
    runs = await asyncio.gather(*(site.begin(seed=n) for n in range(4)))
    await until(lambda: len(trial.host.log) >= 14)
    first.process.kill()
    first.process.wait()
    await asyncio.to_thread(long_silent, trial)
    books = await asyncio.to_thread(Books.read, trial.url)
    statuses = [await site.status(run) for run in runs if not books.runs[run].over]
    in_flight = sum(a.outcome is None for run in books.runs.values() for a in run.attempts)
    trial.host.latency = 0.0
    await asyncio.to_thread(site.worker)
    results = await site.over(*runs)
    assert {one["status"] for one in results} == {"decided"}
    assert statuses
    assert set(statuses) == {"waiting"}
    verdict = await asyncio.to_thread(site.check, f"killed; {in_flight} in flight, 4 decided")
    assert verdict.uncertain == in_flight > 0
    assert len(trial.host.log) <= 4 * CALLS + in_flight


async def test_a_worker_frozen_past_its_lease_writes_nothing_when_it_wakes_and_takes_other_runs(
    site: Site,
) -> None:
    trial = site.trial
    trial.host.on("beta", call=1, after=4)
    first = await asyncio.to_thread(site.worker)
    run = await site.begin()
    await until(lambda: trial.host.requests("beta"))
    await until(lambda: asyncio.to_thread(_waits_for_one, trial))
    await asyncio.to_thread(_freeze, trial, first)
    await asyncio.to_thread(long_silent, trial)
    second = await asyncio.to_thread(site.worker)
    (result,) = await site.over(run)
    assert result["status"] == "decided"
    finished = await asyncio.to_thread(Books.read, trial.url)
    assert stopped(first.process)
    await until(lambda: all(sent.done for sent in trial.host.log))
    first.process.send_signal(signal.SIGCONT)
    await asyncio.to_thread(first.wait_for, "was taken over by another process")
    assert await asyncio.to_thread(Books.read, trial.url) == finished
    await asyncio.to_thread(second.end)
    other = await site.begin()
    (result,) = await site.over(other)
    assert result["status"] == "decided"
    assert f"run {other} · decided" in first.stderr
    verdict = await asyncio.to_thread(site.check, "its late writes were refused; it took the next run")
    assert verdict.books.runs[run].epoch == 3
    assert verdict.uncertain == 1


def long_silent(trial: Trial) -> None:
    """Set the heartbeats of all workers and runs back by two leases, after their processes ended or froze."""
    soon(lambda: silent(trial, 60))

    async def execute() -> None:
        engine = create_async_engine(trial.url)
        async with engine.begin() as connection:
            # The queue has a schema of its own.
            found = text("SELECT schemaname FROM pg_tables WHERE tablename = 'procrastinate_workers'")
            for (schema,) in (await connection.execute(found)).all():
                back = f"UPDATE {schema}.procrastinate_workers SET last_heartbeat = last_heartbeat - {MINUTE}"
                await connection.execute(text(back))
        await engine.dispose()

    asyncio.run(execute())


def _waits_for_one(trial: Trial) -> bool:
    return [attempt.kind for attempt in run_of(trial).attempts].count("open") == 1


def _freeze(trial: Trial, worker: Worker) -> None:
    """Stop the process while it holds no lock."""
    while True:
        worker.process.send_signal(signal.SIGSTOP)
        soon(lambda: stopped(worker.process))
        if silent(trial, 0):
            return
        worker.process.send_signal(signal.SIGCONT)
        soon(lambda: not stopped(worker.process))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
async def test_a_worker_that_stops_requeues_its_runs_within_10_s(site: Site, number: int) -> None:
    trial = site.trial
    answered = threading.Event()
    trial.host.on("*", until=answered.is_set)
    first = await asyncio.to_thread(site.worker)
    runs = await asyncio.gather(*(site.begin(seed=n) for n in range(3)))
    await until(lambda: len(trial.host.log) == 3)
    started_at = time.monotonic()
    first.process.send_signal(number)
    await until(lambda: handled(first.process, number))
    answered.set()
    await asyncio.to_thread(first.ended)
    elapsed = time.monotonic() - started_at
    assert (first.process.returncode, elapsed < STALL_S) == (0, True)
    assert [await site.status(run) for run in runs] == ["waiting"] * 3
    assert all(f"run {run} · put back" in first.stderr for run in runs)
    await asyncio.to_thread(site.worker)
    results = await site.over(*runs)
    assert {one["status"] for one in results} == {"decided"}
    verdict = await asyncio.to_thread(
        site.check, f"stopped after {elapsed:.1f} s; 3 put back, decided elsewhere"
    )
    assert (verdict.uncertain, len(trial.host.log)) == (0, 3 * CALLS)


async def test_waiting_and_running_runs_are_cancelled_and_paused_ones_stay_with_their_owner(
    site: Site,
) -> None:
    trial = site.trial
    waiting = await site.begin()
    done = await asyncio.to_thread(trial.pnyx, "cancel", waiting)
    assert f"run {waiting} is cancelled" in done.err
    env = await site.begin()
    # In a thread, since the command has its own event loop.
    assert await asyncio.to_thread(resumed, trial, env) == 0
    sent = len(trial.host.log)
    worker = await asyncio.to_thread(site.worker)
    trial.host.latency = 600.0
    running = await site.begin(seed=2)
    await until(lambda: len(trial.host.log) > sent)
    assert await site.status(running) == "running"
    async with site.server.client() as client:
        await client.post(f"/v1/runs/{running}/cancel")
    (result,) = await site.over(running)
    assert result["status"] == "cancelled"
    trial.host.latency = 0.0
    poor = await site.begin(seed=3, budget_usd=0.0000001)
    (result,) = await site.over(poor)
    assert (result["status"], result["stop_reason"]) == ("paused", "budget")
    async with site.server.client() as client:
        response = await client.post(f"/v1/runs/{poor}/resume", json={"budget_usd": 1.0, "wait": True})
    assert (response.status_code, response.json()["status"]) == (200, "decided")
    assert worker.stderr.count(f"run {poor}") == 4
    assert f"run {waiting}" not in worker.stderr
    await asyncio.to_thread(site.check, "cancelled, paused, resumed")


async def test_an_idempotency_key_is_one_run_and_chat_completions_and_mcp_go_through_the_queue(
    site: Site,
) -> None:
    trial = site.trial
    async with site.server.client() as client:
        headers = {"Idempotency-Key": "order 7"}
        requests = [client.post("/v1/runs", json=ASK, headers=headers) for _ in range(5)]
        responses = await asyncio.gather(*requests)
        (run,) = {one.json()["run_id"] for one in responses}
        worker = await asyncio.to_thread(site.worker)
        await site.over(run)
        repeated = await client.post("/v1/runs", json=ASK, headers={"Idempotency-Key": "order 7"})
        assert (repeated.status_code, repeated.json()["run_id"]) == (200, run)
        assert len(trial.host.log) == CALLS
        messages = [{"role": "user", "content": "Why not?"}]
        body = {"model": "pnyx/consensus", "messages": messages, "pnyx": {"footer": False}}
        answer = (await client.post("/v1/chat/completions", json=body)).json()
        assert answer["choices"][0]["message"]["content"] == answer["pnyx"]["answer"]
    assistant: Any = site.server
    async with over_http(assistant, site.server.key) as mcp:
        told_it = await mcp.call_tool("ask", {"question": "Who?", "protocol": "consensus"})
    assert told_it.structured_content is not None
    assert told_it.structured_content["status"] == "decided"
    assert worker.stderr.count(" · started") == 3
    await asyncio.to_thread(site.check, "one run for five begins; 3 runs, all by the worker")


async def test_postgresql_restarted_under_workers_loses_and_repeats_nothing(
    site: Site, postgres: PostgresServer
) -> None:
    trial = site.trial
    trial.host.latency = 0.1
    workers = await asyncio.gather(*(asyncio.to_thread(site.worker, "--concurrency", "3") for _ in range(2)))
    runs = await asyncio.gather(*(site.begin(seed=n) for n in range(6)))
    for _ in range(CRASHES):
        await asyncio.sleep(0.3)
        postgres.stop(at_once=True)
        await asyncio.sleep(0.3)
        await asyncio.to_thread(postgres.start)
    last = await site.begin(seed=99)
    results = await site.over(*runs, last)
    assert {one["status"] for one in results} <= {"decided", "consensus"}
    assert [worker.process.poll() for worker in workers] == [None, None]
    verdict = await asyncio.to_thread(site.check, f"crashes: {CRASHES}, 7 decided")
    assert (verdict.uncertain, len(trial.host.log)) == (0, 7 * CALLS)
    assert not [worker.stderr for worker in workers if "Traceback" in worker.stderr]


async def test_a_run_that_cannot_continue_here_is_reported_once_and_left_to_another_worker(
    site: Site,
) -> None:
    poor = await asyncio.to_thread(site.worker, LAB_KEY="")
    run = await site.begin()
    await asyncio.to_thread(poor.wait_for, "cannot continue here")
    assert "LAB_KEY" in poor.stderr

    async def told_owner() -> bool:
        async with site.server.client() as client:
            return "LAB_KEY" in (await client.get(f"/v1/runs/{run}")).json()["detail"].get("message", "")

    await until(told_owner)
    await asyncio.to_thread(site.worker)
    (result,) = await site.over(run)
    assert result["status"] == "decided"
    assert poor.stderr.count("cannot continue here") == 1
    await asyncio.to_thread(site.check, "reported, and decided by the other worker")


async def test_a_run_without_a_job_is_found(site: Site) -> None:
    run = await site.begin()
    await asyncio.to_thread(_emptied, site.trial.url)
    await asyncio.to_thread(site.worker)
    (result,) = await site.over(run)
    assert result["status"] == "decided"
    await asyncio.to_thread(site.check, "found without a job")


def _emptied(url: str) -> None:
    async def empty() -> None:
        engine = create_async_engine(url)
        try:
            async with engine.begin() as connection:
                matches = await connection.execute(
                    text("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'pnyx_queue%'")
                )
                for (schema,) in matches.all():
                    await connection.execute(text(f"SET search_path TO {schema}"))
                    deleted = await connection.execute(text("DELETE FROM procrastinate_jobs"))
                    assert deleted.rowcount == 1
        finally:
            await engine.dispose()

    asyncio.run(empty())


def test_a_queue_in_sqlite_is_refused_with_what_to_do(trial: Trial, tmp_path: Path) -> None:
    for command in (("worker",), ("serve", "--queue", "--port", "0")):
        with trial.spawned(*command) as process:
            done = trial.ended(process)
        assert (done.code, done.out) == (2, "")
        assert 'set [storage] url = "postgresql://' in done.err
    assert not (tmp_path / "pnyx.db").exists()
    trial.check("refused")


async def test_a_run_that_kills_its_workers_is_held_back_and_can_be_tried_again_or_dropped(
    site: Site,
) -> None:
    trial = site.trial
    trial.host.latency = 600.0
    run = await site.begin()
    for _ in range(2):
        asked = len(trial.host.log)
        worker = await asyncio.to_thread(site.worker, PNYX_WORKER_TRIES="2")
        await until(lambda: len(trial.host.log) > asked)  # noqa: B023 (called before the next)
        worker.process.kill()
        worker.process.wait()
    asked = len(trial.host.log)
    await asyncio.to_thread(site.worker, PNYX_WORKER_TRIES="2")
    (result,) = await site.over(run)
    assert (result["status"], result["stop_reason"]) == ("paused", "workers_lost")
    assert f"pnyx resume {run}" in result["detail"]["message"]
    status = await asyncio.to_thread(trial.pnyx, "status", run)
    assert "2 workers, one after another, that carried out this run ended without a word" in status.out
    listed = await asyncio.to_thread(trial.pnyx, "worker", "status")
    assert run in listed.out
    assert len(trial.host.log) == asked
    trial.host.latency = 0.0
    done = await asyncio.to_thread(trial.pnyx, "worker", "retry", run)
    assert f"run {run} waits for a worker again" in done.err
    (result,) = await site.over(run)
    assert result["status"] == "decided"
    refused = await asyncio.to_thread(trial.pnyx, "worker", "drop", run)
    assert (refused.code, "is not held back" in refused.err) == (2, True)
    verdict = await asyncio.to_thread(site.check, "held back after 2 workers, then tried again")
    assert verdict.uncertain == asked
