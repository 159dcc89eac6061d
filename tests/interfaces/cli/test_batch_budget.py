"""The cap of `pnyx batch`, and the caps that its runs share with others."""

from __future__ import annotations

import re

import pytest

from tests.interfaces.cli.test_batch import SINGLE, by_id, put, reply, voters
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost

__all__ = ["voters"]


def test_a_budget_covers_the_whole_batch_and_a_larger_one_continues(voters: ScriptedHost) -> None:
    voters.on("*", text=reply, usage={"prompt_tokens": 100, "completion_tokens": 2000, "total_tokens": 2100})
    file = put(*(f"Q{n}?" for n in range(20)))
    done = pnyx("batch", file, "--budget", "0.05", "--concurrency", "2", *SINGLE[:-1])
    assert done.code == 4
    assert "Run the same command again with --budget 0.10" in done.err
    assert re.search(r"; all 20 questions would cost about \$0\.\d+\n", done.err)
    assert 0 < len(done.lines) < 20
    done = pnyx("batch", file, "--budget", "10", *SINGLE)
    assert (done.code, len(done.lines), len(voters.log)) == (0, 20, 20)


@pytest.mark.parametrize("configured", [None, "100"])
def test_resuming_one_run_of_a_batch_respects_the_budget_of_the_batch(
    voters: ScriptedHost, monkeypatch: pytest.MonkeyPatch, configured: str | None
) -> None:
    if configured is not None:
        monkeypatch.setenv("PNYX_BUDGET_BATCH_USD", configured)
    file = put("Q?")
    assert pnyx("batch", file, "--budget", "0.0001", *SINGLE).code == 4
    run = pnyx("runs", "--json").json[0]["run_id"]
    resumed = pnyx("resume", run)
    assert (resumed.code, voters.log) == (4, [])
    assert "Run the batch again with --budget 0.02" in " ".join(resumed.err.split())
    assert pnyx("batch", file, "--budget", "1", *SINGLE).code == 0


def test_a_line_with_a_larger_cap_continues(voters: ScriptedHost, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put("Q?")
    monkeypatch.setenv("PNYX_BUDGET_RUN_USD", "0.0001")
    done = pnyx("batch", file, *SINGLE)
    assert (done.code, by_id(done)["1"]["status"], len(voters.log)) == (4, "paused", 0)
    monkeypatch.setenv("PNYX_BUDGET_RUN_USD", "1")
    done = pnyx("batch", file, *SINGLE)
    assert (done.code, by_id(done)["1"]["final_answer"]) == (0, "alpha")


@pytest.mark.parametrize(
    ("cap", "message"),
    [
        ("BATCH", "is left. Run the same command again with --budget 0.02"),
        ("DAY", "is left. Raise budget.day_usd to at least 0.02. Then run the same command again"),
    ],
)
def test_a_batch_out_of_budget_says_what_to_raise(
    voters: ScriptedHost, monkeypatch: pytest.MonkeyPatch, cap: str, message: str
) -> None:
    monkeypatch.setenv(f"PNYX_BUDGET_{cap}_USD", "0.0001")
    done = pnyx("batch", put("Q?"), *SINGLE)
    assert done.code == 4
    assert f"{message}\n" in done.err.splitlines(keepends=True)[-1]


def test_runs_that_a_batch_stops_at_the_cap_of_the_day_say_so_and_what_to_do(
    voters: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    voters.latency = 0.2
    monkeypatch.setenv("PNYX_BUDGET_DAY_USD", "0.008")
    file, panel = put(*(f"Q{n}?" for n in range(8))), ("-p", "voting", "-m", "lab:alpha*3", "-q")
    stopped = pnyx("batch", file, "--concurrency", "5", *panel)
    assert (stopped.code, len(stopped.err.splitlines())) == (4, 1)
    paused = [run for run in pnyx("runs", "--json").json if run["status"] == "paused"]
    assert {run["stop_reason"] for run in paused} == {"budget"}
    remedy = "Raise budget.day_usd to at least 0.05. Resume with: pnyx resume {}"
    for run in paused:
        assert run["detail"]["message"].endswith(remedy.format(run["run_id"]))
    not_begun = [run for run in paused if run["detail"]["message"].startswith("not begun, since the batch")]
    assert not_begun
    assert {run["usage"]["calls"] for run in not_begun} == {0}
    shown = pnyx("status", not_begun[0]["run_id"]).out
    assert "paused: not begun, since the batch was stopped: Daily budget too small" in shown
    monkeypatch.setenv("PNYX_BUDGET_DAY_USD", "1")
    assert len(by_id(pnyx("batch", file, *panel))) == 8
    assert len(voters.log) == 8 * 4


def test_lines_that_stop_at_budgets_of_their_own_are_said_once(voters: ScriptedHost) -> None:
    file = put(*({"question": f"{n}?" * (1 + 90 * n), "budget_usd": 0.000001} for n in range(3)))
    done = pnyx("batch", file, *SINGLE[:-1])
    assert done.code == 4
    assert done.err.count("paused: ") == 1
    assert "pnyx: 2 more lines went wrong like line " in done.err
    assert voters.log == []
