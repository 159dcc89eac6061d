"""`pnyx eval --dry-run`: the bounds of an evaluation, without a call."""

from __future__ import annotations

import json
from pathlib import Path

from pnyx.evaluate.execution.arm_names import MOST_SAMPLES
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
