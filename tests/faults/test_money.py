"""Caps that real processes share: the host's bill never exceeds them."""

from __future__ import annotations

import threading

from pnyx.core.models import Price
from tests.faults.trial import PRICES, Trial, soon
from tests.support import forked
from tests.support.books import Books, Run

PROCESSES, RUNS = 4, 10
COSTLY = {"prompt_tokens": 6_000, "completion_tokens": 3_000, "total_tokens": 9_000}


def at_once(trial: Trial) -> list[str]:
    """Perform all runs in processes that start together; return how each run ended."""
    module = "tests.support.many_runs"
    processes = [forked.start(str(RUNS), module=module, imports=forked.RUN) for _ in range(PROCESSES)]
    ends: list[str] = []
    for process in processes:
        done = trial.ended(process)
        assert done.code == 0, done.err
        for line in done.out.splitlines():
            times, _, ended = line.partition(" ")
            ends += [ended] * int(times)
    return ends


def test_forty_runs_at_once_in_four_processes_never_pass_a_cap_of_one_dollar(
    either_trial: Trial,
) -> None:
    trial = either_trial
    trial.prices = {name: Price(80 * p.input, 80 * p.output) for name, p in PRICES.items()}
    trial.settle(day_usd=1.0, max_output_tokens=200, call_deadline_s=60)
    ends = at_once(trial)
    assert len(ends) == PROCESSES * RUNS
    # Three seats seldom end on the same word.
    assert set(ends) - {"consensus max_rounds"} == {"decided max_rounds", "paused budget"}
    verdict = trial.check()
    assert verdict.bill_nusd == verdict.ledger_nusd
    assert 500_000_000 < verdict.bill_nusd <= 1_000_000_000


def test_a_run_out_of_budget_pauses_and_a_larger_one_resumes_without_paying_twice(trial: Trial) -> None:
    trial.host.on("*", usage=COSTLY)
    paused = trial.ask("--budget", "0.04")
    assert (paused.code, paused.json["status"]) == (4, "paused")
    assert trial.check().bill_nusd <= 40_000_000
    assert trial.pnyx("resume", paused.json["run_id"], "--budget", "1", "--json").code == 0
    verdict = trial.check()
    assert (len(trial.host.log), verdict.uncertain) == (4, 0)


EXCESS = {"prompt_tokens": 100, "completion_tokens": 16_000, "total_tokens": 16_100}
"""Usage reported by a host whose reply was limited to 4,096 tokens."""


def overruns(run: Run) -> list[int]:
    return [attempt.overrun for attempt in run.attempts if attempt.overrun]


def budget_events(run: Run) -> list[str]:
    return [event["kind"] for event in run.events if event["type"] == "budget"]


def test_a_bill_beyond_the_reservation_is_charged_and_reported_and_stops_the_run_at_its_cap(
    trial: Trial,
) -> None:
    trial.host.on("beta", usage=EXCESS)
    paused = trial.ask("--budget", "0.03")
    assert (paused.code, paused.json["status"], len(trial.host.log)) == (4, "paused", 3)
    verdict = trial.check()
    assert (verdict.uncertain, verdict.ledger_nusd) == (0, verdict.bill_nusd)
    (over,) = overruns(verdict.run)
    assert 30_000_000 < verdict.ledger_nusd <= 30_000_000 + over
    assert paused.json["detail"]["overrun_usd"] == over / 1e9
    assert budget_events(verdict.run) == ["overrun", "exhausted"]
    assert "and $0 is left. Resume with: " in paused.json["detail"]["message"]
    assert trial.pnyx("resume", verdict.run.id, "--json").code == 4
    assert len(trial.host.log) == 3, "a resume with the same cap sent something"
    done = trial.pnyx("resume", verdict.run.id, "--budget", "1", "--json")
    assert (done.code, len(trial.host.log)) == (0, 4)
    assert done.json["detail"]["overrun_usd"] == over / 1e9
    assert trial.check().uncertain == 0


def test_a_bill_beyond_the_reservation_of_the_last_call_is_reported_with_the_answer(trial: Trial) -> None:
    trial.host.on("alpha", call=2, usage=EXCESS)
    done = trial.ask("--budget", "0.03")
    assert (done.code, done.json["status"]) == (0, "decided")
    (over,) = overruns(trial.check().run)
    assert done.json["detail"]["overrun_usd"] == over / 1e9
    assert 0.03 < done.json["usage"]["cost_usd"] <= 0.03 + over / 1e9
    shown = trial.pnyx("show", done.json["run_id"])
    assert f"${over / 1e9:.4f} more than was reserved" in shown.out


def test_a_bill_beyond_the_reservation_stops_every_process_at_the_cap_that_they_share(
    either_trial: Trial,
) -> None:
    trial = either_trial
    trial.settle(day_usd=0.02, call_deadline_s=60)
    stopped = threading.Event()
    trial.host.on("alpha", call=1, usage=EXCESS, until=stopped.is_set)
    with trial.spawned("ask", "Why?", "--json") as one:
        soon(lambda: len(trial.host.log) == 1)
        # The cap has no room for the first calls of two runs, so this one waits for the older one.
        with trial.spawned("ask", "Why?", "--json") as other:
            soon(lambda: len(Books.read(trial.url).runs) == 2)
            stopped.set()
            first, second = trial.ended(one), trial.ended(other)
    assert [(done.code, done.json["stop_reason"]) for done in (first, second)] == [(4, "budget")] * 2
    assert len(trial.host.log) == 1, "a request was sent past the cap"
    assert trial.ask().code == 4
    verdict = trial.check()
    (over,) = [over for run in verdict.books.runs.values() for over in overruns(run)]
    assert 20_000_000 < verdict.ledger_nusd == verdict.bill_nusd <= 20_000_000 + over
