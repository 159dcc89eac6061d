"""Hosts that refuse, fail, stall or hang up: the whole command on each, then the checker."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from typing import Any

import pytest

import pnyx
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.run.calls.circuit_breaker import PAUSE_S, RUNS, CircuitBreakers
from pnyx.run.runner import Runner
from tests.faults.trial import KEY, RETRIES, Trial
from tests.support.books import Run
from tests.support.waiting import STALL_S


def outcomes(run: Run, model: str = "lab:beta") -> list[str]:
    """How the model's attempts ended, in order; "" is a reply."""
    return [attempt.kind for attempt in run.attempts if attempt.started["model"] == model]


def pauses(trial: Trial, model: str = "beta") -> list[float]:
    """Seconds between the requests to the model."""
    times = [request.time for request in trial.host.requests(model)]
    return [later - earlier for earlier, later in pairwise(times)]


def date(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [("2", 2.0, 2.0), ("soon", 0.2, 2.5), (date(-3600), 0.0, 2.0), ("date", 2.6, 5.0), (None, 0.2, 2.5)],
    ids=["Retry-After 2", "Retry-After garbage", "Retry-After a past date", "Retry-After a date", "bare"],
)
def test_a_429_is_followed_by_the_requested_wait(
    trial: Trial, header: str | None, least: float, most: float
) -> None:
    headers = {"Retry-After": header} if header else {}

    def asked() -> bool:
        if header == "date":
            headers["Retry-After"] = date(5)
        return True

    trial.host.on("beta", call=1, status=429, headers=headers, until=asked)
    assert trial.ask().code == 0
    run = trial.check().run
    assert outcomes(run) == ["rate_limited", ""]
    (attempt, _) = [one for one in run.attempts if one.started["model"] == "lab:beta"]
    assert attempt.outcome
    assert least <= attempt.outcome["retry_in_s"] <= most
    (pause,) = pauses(trial)
    assert pause >= attempt.outcome["retry_in_s"] - 0.05


def test_429_with_retry_after_3600_drops_the_seat_within_5_s(trial: Trial) -> None:
    trial.host.on("beta", status=429, headers={"Retry-After": "3600"})
    started_at = time.monotonic()
    done = trial.ask()
    assert time.monotonic() - started_at < STALL_S
    assert (done.code, done.json["degraded"]) == (5, True)
    assert outcomes(trial.check().run) == ["rate_limited"]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_a_permanent_status_is_retried_with_growing_waits_and_then_drops_the_seat(
    trial: Trial, status: int
) -> None:
    trial.host.on("beta", status=status)
    done = trial.ask()
    assert (done.code, [seat["model"] for seat in done.json["dropped"]]) == (5, ["lab:beta"])
    run = trial.check().run
    assert outcomes(run) == ["rate_limited" if status == 429 else "overloaded"] * (RETRIES + 1)
    attempts = [one.outcome or {} for one in run.attempts if one.started["model"] == "lab:beta"]
    first, second, _ = (outcome["retry_in_s"] for outcome in attempts)
    assert 0.25 <= first <= 2.0
    assert 0.5 <= second <= 3.0
    assert all(took >= wait - 0.05 for took, wait in zip(pauses(trial), (first, second), strict=True))


@pytest.mark.parametrize("status", [500, 503])
def test_a_temporary_status_costs_only_time(trial: Trial, status: int) -> None:
    trial.host.on("beta", call=1, status=status)
    assert trial.ask().code == 0
    verdict = trial.check()
    assert outcomes(verdict.run) == ["overloaded", ""]
    assert verdict.bill_nusd == verdict.ledger_nusd


def test_a_connection_refused_is_bounded_and_costs_nothing(trial: Trial) -> None:
    trial.settle(seats=("lab:alpha", "nowhere:beta", "lab:gamma"))
    done = trial.ask()
    assert (done.code, done.json["degraded"]) == (5, True)
    verdict = trial.check()
    assert outcomes(verdict.run, "nowhere:beta") == ["unreachable"] * (RETRIES + 1)
    assert verdict.bill_nusd == verdict.ledger_nusd


def test_a_connection_reset_is_bounded_and_charged_as_unknown(trial: Trial) -> None:
    trial.host.on("beta", reset=True)
    assert trial.ask().code == 5
    verdict = trial.check()
    assert outcomes(verdict.run) == ["unreachable"] * (RETRIES + 1)
    assert verdict.uncertain == RETRIES + 1


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    "fault", [{"hang": True}, {"drip": (1, 1.0)}, {"pings": 0.3}], ids=["silence", "1 byte a second", "pings"]
)
def test_the_calls_deadline_fires_closes_the_socket_and_keeps_the_reservation(
    trial: Trial, fault: dict[str, Any], stream: bool
) -> None:
    trial.settle(call_deadline_s=3.0)
    trial.host.on("beta", **fault)
    done = trial.pnyx("ask", "Why?", *(["--jsonl", "-v"] if stream else ["--json"]))
    assert done.code == 5
    (request,) = trial.host.requests("beta")
    assert request.left is not None
    assert request.left - request.time < STALL_S
    verdict = trial.check()
    assert outcomes(verdict.run) == ["timeout"]
    (attempt,) = [one for one in verdict.run.attempts if one.started["model"] == "lab:beta"]
    # The deadline counts from before the intent is written.
    assert attempt.seconds >= 0.5
    assert verdict.uncertain == 1


def test_every_seat_silent_ends_the_run_below_its_quorum(trial: Trial) -> None:
    trial.settle(call_deadline_s=0.5)
    trial.host.on("*", hang=True)
    assert trial.ask("-p", "voting").code == 3
    assert trial.check().uncertain == 3


def test_a_model_that_disappears_mid_run_gets_one_request_and_is_dropped(trial: Trial) -> None:
    trial.host.on("beta", call=2, status=404, message="no such model")
    done = trial.ask("--rounds", "2")
    assert (done.code, [seat["model"] for seat in done.json["dropped"]]) == (5, ["lab:beta"])
    run = trial.check().run
    assert outcomes(run) == ["", "not_found"]
    assert [event["model"] for event in run.events if event["type"] == "seat_dropped"] == ["lab:beta"]


@pytest.mark.parametrize("status", [401, 403])
def test_a_rejected_key_drops_its_seat_and_appears_nowhere(trial: Trial, status: int) -> None:
    trial.host.on("beta", status=status, message=f"bad key {KEY}")
    assert trial.ask().code == 5
    assert outcomes(trial.check().run) == ["auth"]


def test_a_host_that_is_down_delays_only_the_first_runs_of_a_process(trial: Trial) -> None:
    clock = [1000.0]
    calls: list[int] = []
    times: list[float] = []
    trial.host.on("beta", status=503)

    async def run(runner: Runner, **how: Any) -> pnyx.Result:
        started_at, before = time.monotonic(), len(trial.host.requests("beta"))
        result = await pnyx.ask("Why?", runner=runner, **how)
        calls.append(len(trial.host.requests("beta")) - before)
        times.append(time.monotonic() - started_at)
        return result

    async def runs() -> list[pnyx.Result]:
        async with Runner.open(open_settings()) as runner:
            runner.resources.circuits = CircuitBreakers(lambda: clock[0])
            results = [await run(runner) for _ in range(RUNS + 1)]
            results.append(await run(runner, rounds=2, budget_usd=0.003))
            trial.host.on("beta")
            results.append(await run(runner))
            clock[0] += PAUSE_S
            return results + [await run(runner) for _ in range(2)]

    results = asyncio.run(runs())
    assert calls == [RETRIES + 1] * RUNS + [0, 0, 0] + [1, 1]
    assert [result.degraded for result in results] == [True] * (RUNS + 3) + [False] * 2
    reasons = [result.dropped[0]["reason"] for result in results[RUNS : RUNS + 3]]
    assert all("its host is down (" in why and "calls resume in 30 s" in why for why in reasons), reasons
    # The fastest of each kind, since any single one can meet a stall of the machine.
    assert min(times[RUNS : RUNS + 3]) < min(times[:RUNS])
    # A refusal is recorded with its run, and applies when another process resumes it.
    paused, sent = results[RUNS + 1], len(trial.host.requests("beta"))
    assert paused.status == "paused"
    resumed = trial.pnyx("resume", paused.run_id, "--budget", "1", "--json")
    assert (resumed.code, len(trial.host.requests("beta"))) == (5, sent)
    verdict = trial.check(f"{RUNS} runs wait, the next 3 drop the seat at once, then it is asked again")
    assert verdict.bill_nusd == verdict.ledger_nusd


def test_a_host_that_is_down_is_called_by_a_run_that_needs_it_for_its_quorum(trial: Trial) -> None:
    trial.settle(retries=0)
    trial.host.on("*", status=503)

    async def runs() -> list[pnyx.Result]:
        async with Runner.open(open_settings()) as runner:
            results = [await pnyx.ask("Why?", protocol="voting", runner=runner) for _ in range(RUNS + 1)]
            trial.host.on("*")
            return results + [await pnyx.ask("Why?", protocol="voting", runner=runner) for _ in range(2)]

    results = asyncio.run(runs())
    assert [result.stop_reason == "no_quorum" for result in results] == [True] * (RUNS + 1) + [False] * 2
    assert [len(result.dropped) for result in results[-2:]] == [1, 1]
    trial.check()


def test_a_host_that_is_down_is_called_by_every_seat_of_a_single_run(trial: Trial) -> None:
    trial.settle(retries=1, seats=("lab:alpha", *["lab:beta"] * 4, "lab:gamma"))
    trial.host.on("beta", status=503)
    assert trial.ask("-p", "voting").code == 5
    assert outcomes(trial.check().run) == ["overloaded"] * 8
