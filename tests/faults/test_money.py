"""Caps that real processes share: whatever they do at once, the host's bill stays below."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pnyx.core.models import Price
from tests.support.sources import ROOT

from .trial import PRICES, Trial

PROCESSES, RUNS = 4, 10
COSTLY = {"prompt_tokens": 6_000, "completion_tokens": 3_000, "total_tokens": 9_000}


def at_once(trial: Trial) -> list[str]:
    """All the runs, in so many processes that begin together; how each ended."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-m", "tests.support.many", str(RUNS)]
    processes = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    ends: list[str] = []
    for process in processes:
        out, err = process.communicate(timeout=120)
        trial.told += [out, err]
        assert process.returncode == 0, err
        for line in out.splitlines():
            times, _, ended = line.partition(" ")
            ends += [ended] * int(times)
    return ends


@pytest.mark.parametrize("where", ["trial", "postgres_trial"], ids=["sqlite", "postgresql"])
def test_forty_runs_at_once_in_four_processes_never_pass_a_cap_of_one_dollar(
    request: pytest.FixtureRequest, where: str
) -> None:
    trial: Trial = request.getfixturevalue(where)
    trial.prices = {name: Price(40 * p.input, 40 * p.output) for name, p in PRICES.items()}
    trial.settle(day_usd=1.0, max_output_tokens=200, call_deadline_s=60)
    ends = at_once(trial)
    assert len(ends) == PROCESSES * RUNS
    assert set(ends) == {"decided max_rounds", "paused budget"}
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
