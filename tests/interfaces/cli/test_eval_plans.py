"""`pnyx eval --dry-run`: the bounds of an evaluation, without a call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pnyx.core.models import money
from pnyx.evaluate.execution.arm_names import MOST_SAMPLES
from pnyx.interfaces.views.plan import CONDITION
from tests.interfaces.cli.test_eval import ARMS, N, loaded, measure, skilled
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost

__all__ = ["loaded", "skilled"]


def test_a_dry_run_bounds_every_arm_and_calls_no_model(skilled: ScriptedHost) -> None:
    document = measure("--dry-run").json
    assert document["questions"] == N
    assert document["at_most"]["lab:alpha"]["calls"] == [N, N]
    assert document["at_most"]["voting"]["calls"] == [N, 2 * N]
    assert document["at_most"]["voting"]["cost_usd"] > 0
    # The number of samples depends on the cost of the best model and of the panel.
    assert document["at_most"]["self-consistency"]["calls"] == [N, MOST_SAMPLES * N]
    assert skilled.log == []
    text = pnyx("eval", "sums.jsonl", *ARMS, "--dry-run").out
    assert f"{N} questions" in text
    assert f"{N} to {MOST_SAMPLES * N:,}" in text
    assert "nothing was sent" in text


@pytest.mark.parametrize("command", ["ask", "batch", "eval"])
def test_every_dry_run_says_when_its_most_holds(skilled: ScriptedHost, command: str) -> None:
    Path("asked.jsonl").write_text('"Why?"')
    asked = {"ask": ["Why?"], "batch": ["asked.jsonl", "-m", "lab:alpha"], "eval": ["sums.jsonl", *ARMS]}
    assert CONDITION in pnyx(command, *asked[command], "--dry-run").out
    if command != "batch":
        assert pnyx(command, *asked[command], "--dry-run", "--json").json["at_most_if"] == CONDITION


def test_a_dry_run_says_if_it_cannot_count_the_questions_of_a_task(
    skilled: ScriptedHost,
) -> None:
    done = pnyx("eval", "no-such-task", *ARMS, "--dry-run", "--limit", "3")
    assert done.code == 0, done.err
    task = "no-such-task is used as an Inspect task, whose questions are not counted here"
    assert done.out.startswith(f"{task}; bounds for 3 short questions:\n")
    document = pnyx("eval", "no-such-task", *ARMS, "--dry-run", "--json").json
    assert (document["task"], document["questions"]) == ("no-such-task", 1)
    assert measure("--dry-run").json["task"] is None


def test_a_dry_run_counts_the_calls_of_the_judge(skilled: ScriptedHost, tmp_path: Path) -> None:
    rows = [{"question": f"Why {n}?", "target": "So.", "grader": "judge"} for n in range(4)]
    (tmp_path / "why.jsonl").write_text("\n".join(map(json.dumps, [*rows, {"question": "2?", "target": 2}])))
    document = pnyx("eval", "why.jsonl", *ARMS, "--dry-run", "--json").json["at_most"]
    # Three models, their samples and voting: four answers each, in both orders.
    assert document["judge"]["calls"] == [40, 40]
    assert document["judge"]["cost_usd"] > 40 * document["lab:alpha"]["cost_usd"] / 5
    assert skilled.log == []


def test_the_expected_cost_is_that_of_all_questions_and_of_as_many_samples_as_cost_what_the_panel_does(
    skilled: ScriptedHost, tmp_path: Path
) -> None:
    def expected(*texts: str) -> dict[str, float]:
        rows = [{"question": text, "target": 1} for text in texts]
        (tmp_path / "some.jsonl").write_text("\n".join(map(json.dumps, rows)))
        document = pnyx("eval", "some.jsonl", *ARMS, "--dry-run", "--json").json
        return dict(document["expected_usd"])

    short, long = "x" * 100, "x" * 20_000
    each, both = [expected(short), expected(long)], expected(short, long)
    for arm, usd in both.items():
        assert usd == pytest.approx(each[0][arm] + each[1][arm], rel=1e-3)
    panel = sum(both[f"lab:{name}"] for name in ("alpha", "beta", "gamma"))
    assert both["self-consistency"] == pytest.approx(panel)


def test_earlier_runs_correct_the_expected_cost_of_an_evaluation_and_of_a_batch(
    skilled: ScriptedHost, tmp_path: Path
) -> None:
    batch = tmp_path / "batch.jsonl"
    batch.write_text('{"question": "Case 99: what is 99 + 5?"}\n')

    def expected() -> tuple[dict[str, float], str]:
        evaluation = pnyx("eval", "sums.jsonl", *ARMS, "--dry-run", "--json").json["expected_usd"]
        return evaluation, pnyx("batch", str(batch), "-m", "lab:alpha", "-p", "single", "--dry-run").out

    before, usual = expected()
    done = pnyx("ask", "Case 98: what is 98 + 5?", "-p", "single", "-m", "lab:alpha", "--json")
    after, learned = expected()
    cost = done.json["usage"]["cost_usd"]
    # Its replies are far shorter than usual ones.
    assert before["lab:alpha"] > 3 * N * cost
    assert after["lab:alpha"] == pytest.approx(N * cost, rel=0.2)
    assert usual != learned
    assert f"about {money(cost)} is expected" in learned
