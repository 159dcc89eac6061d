"""`pnyx eval` pays for no answer twice, counts each once, and lets the right grader grade it."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

import pnyx
from pnyx.reliability.calibration import ENOUGH
from tests.interfaces.cli.test_eval import (
    ARMS,
    N,
    asked,
    begin,
    by_name,
    ended,
    loaded,
    measure,
    reply,
    run,
    skilled,
    wait_for,
)
from tests.interfaces.shell import pnyx as command
from tests.support.scripted import Request, ScriptedHost

__all__ = ["loaded", "skilled"]

PLAIN = "--no-self-consistency"
TASK = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes, model_graded_qa
from inspect_ai.solver import generate, user_message

def asked(scorer, *solvers, **more):
    put = {f'Case {n}: what is {n} + 5?': f'answer: {n + 5}' for n in range(4)}
    samples = [Sample(input=question, target=put[question], **more) for question in put]
    return Task(samples, solver=[generate(), *solvers], scorer=scorer, epochs=3)
"""


def rows(path: str = "log.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()[1:]]


def cases(*tasks: str) -> None:
    Path("cases.py").write_text(TASK + "".join(f"\n@task\n{one}\n" for one in tasks))


def test_equal_questions_share_an_answer(skilled: ScriptedHost, tmp_path: Path) -> None:
    same = [{"id": n, "question": "Case 3: what is 3 + 5?", "target": 8} for n in range(6)]
    (tmp_path / "same.jsonl").write_text("\n".join(map(json.dumps, same)))
    skilled.latency = 0.05
    done = run("same.jsonl", *ARMS, PLAIN, "--json", "-q")
    assert done.code == 0, done.err
    assert {(arm["n"], arm["errors"]) for arm in done.json["arms"]} == {(6, 0)}
    assert asked(skilled) == {"alpha": 2, "beta": 1, "gamma": 1}


def test_no_model_has_the_same_label_in_every_question(skilled: ScriptedHost) -> None:
    done = run("sums.jsonl", *ARMS, PLAIN, "--limit", "12", "--log", "log.jsonl", "--json", "-q")
    assert done.code == 0, done.err
    labels: dict[str, set[str]] = {}
    for row in rows():
        if row["arm"] == "voting":
            document = command("export", row["run_id"], "--format", "json").json["result"]
            for seat in document["seats"]:
                labels.setdefault(seat["model"], set()).add(seat["seat"])
    assert {len(of_one) for of_one in labels.values()} == {3}


def test_answers_of_single_models_are_reused_by_the_same_command(skilled: ScriptedHost) -> None:
    assert measure(PLAIN, "--limit", "4").code == 0
    before = len(skilled.log)
    assert measure(PLAIN, "--limit", "4").code == 0
    assert len(skilled.log) == before


def test_a_task_sends_each_question_once_and_only_its_scorer_grades(skilled: ScriptedHost) -> None:
    cases("def one():\n    return asked(includes(), choices=['x', 'y'])")
    done = run("cases.py", *ARMS, PLAIN, "--json", "-q")
    assert done.code == 0, done.err
    arms = by_name(done.json)
    assert asked(skilled) == {"alpha": 8, "beta": 4, "gamma": 4}
    assert arms["lab:beta"]["right"] == 3
    # The task did not grade the answers before the judgement, so no change by a round is reported.
    assert arms["voting"]["rounds"] == []


def test_a_file_with_two_tasks_requires_a_name(skilled: ScriptedHost) -> None:
    cases("def one():\n    return asked(includes())", "def two():\n    return asked(includes())")
    done = run("cases.py", *ARMS, PLAIN, "-q")
    assert done.code == 2
    assert "cases.py has 2 tasks; name the one to evaluate: cases.py@NAME" in done.err


def test_a_task_with_a_model_as_grader_has_the_judge_grade_all_arms(skilled: ScriptedHost) -> None:
    def graded_reply(request: Request) -> str:
        return "GRADE: C" if "GRADE" in request.text else reply(request)

    skilled.on("*", text=graded_reply)
    cases("def one():\n    return asked(model_graded_qa())")
    done = run("cases.py", *ARMS, PLAIN, "--judge", "lab:gamma", "--json", "-q")
    assert done.code == 0, done.err
    graders = {request.model for request in skilled.log if "GRADE" in request.text}
    assert graders == {"gamma"}
    assert by_name(done.json)["lab:alpha"]["calls"] == 1


def test_all_answers_of_a_task_with_two_questions_are_counted(skilled: ScriptedHost) -> None:
    cases("def one():\n    return asked(includes(), user_message('Case 1: sure?'), generate())")
    done = run("cases.py", *ARMS, PLAIN, "--json", "-q")
    assert done.code == 0, done.err
    arm = by_name(done.json)["lab:beta"]
    # Later requests are those of voting, whose conversations may start with another model's answer.
    billed = [request.usage for request in skilled.requests("beta")[:8] if request.usage]
    assert (arm["calls"], arm["output_tokens"]) == (2, sum(one["output"] for one in billed) / 4)


def test_a_round_counts_every_question_whether_it_changed_the_answer_or_not(skilled: ScriptedHost) -> None:
    done = measure(PLAIN, "--log", "log.jsonl")
    (judged,) = by_name(done.json)["voting"]["rounds"]
    assert judged["n"] == N
    changed = [row for row in rows() if row["arm"] == "voting" and row["steps"][0] != row["steps"][1]]
    assert judged["fixed"] + judged["broken"] == len(changed)


def test_an_unreadable_answer_is_counted_as_unread(skilled: ScriptedHost, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(json.dumps({"question": "How many are 5 + 5?", "target": 10}))
    skilled.on("alpha", text="Final answer: about ten or so")
    skilled.on("beta", text="Final answer: 10")
    skilled.on("gamma", text="Final answer: 11")
    done = run("one.jsonl", *ARMS[:6], "--arm", "single", PLAIN, "--json", "-q", "--log", "log.jsonl")
    assert done.code == 0, done.err
    arms = by_name(done.json)
    assert [arms[f"lab:{name}"]["unread"] for name in ("alpha", "beta", "gamma")] == [1, 0, 0]
    assert {row["arm"]: row["answer"] for row in rows()}["lab:alpha"] is None


def test_other_settings_start_new_runs(skilled: ScriptedHost, tmp_path: Path) -> None:
    measure(PLAIN, "--limit", "2")
    settings = tmp_path / "lab.toml"
    settings.write_text(settings.read_text().replace("[run]", "[run]\ntemperature = 0.5"))
    before = len(skilled.log)
    measure(PLAIN, "--limit", "2")
    assert len(skilled.log) == 2 * before
    assert {request.body.get("temperature") for request in skilled.log[before:]} == {0.5}


def test_an_error_message_about_interrupts_still_counts_as_a_failure(
    skilled: ScriptedHost,
) -> None:
    skilled.on("gamma", status=400, message="pnyx.errors.Interrupted: no")
    done = measure(PLAIN, "--limit", "4", "--log", "log.jsonl")
    assert done.code == 5, done.err
    arm = by_name(done.json)["lab:gamma"]
    assert (arm["n"], arm["errors"]) == (4, 4)
    again = command("eval", "--replay", "log.jsonl")
    assert "lab:gamma: 4 questions ended in an error: " in again.err
    assert again.err.count("HTTP 400: pnyx.errors.Interrupted: no") == 1


def test_a_run_at_its_cap_is_no_answer_yet_and_a_larger_cap_continues_it(
    skilled: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = (PLAIN, "--arm", "council:quick", "--limit", "2", "--log", "log.jsonl")
    monkeypatch.setenv("PNYX_BUDGET_RUN_USD", "0.008")
    done = measure(*more)
    assert done.code == 4, done.err
    assert "2 answers would cost more than budget.run_usd allows for a run. Raise it and run" in done.err
    assert (done.json["partial"], by_name(done.json)["council:quick"]["n"]) == (True, 0)
    assert by_name(done.json)["voting"]["n"] == 2
    assert command("calibration", "--json").json["n"] == 0
    monkeypatch.setenv("PNYX_BUDGET_RUN_USD", "1")
    done = measure(*more)
    assert done.code == 0, done.err
    assert (done.json["partial"], by_name(done.json)["council:quick"]["n"]) == (False, 2)


def test_arms_skip_a_question_that_a_model_has_not_answered(
    skilled: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = {"question": f"Case 3: what is 3 + 5?{' It is the sum of the two.' * 1_850}", "target": 8}
    short = {"question": "Case 4: what is 4 + 5?", "target": 9}
    (tmp_path / "long.jsonl").write_text(f"{json.dumps(long)}\n{json.dumps(short)}\n")
    monkeypatch.setenv("PNYX_BUDGET_RUN_USD", "0.01")
    done = run("long.jsonl", *ARMS, PLAIN, "--json", "-q")
    assert done.code == 4, done.err
    assert "2 answers would cost more than budget.run_usd allows" in done.err  # of alpha and beta
    assert {arm["n"] for arm in done.json["arms"]} == {1}
    monkeypatch.delenv("PNYX_BUDGET_RUN_USD")
    done = run("long.jsonl", *ARMS, PLAIN, "--json", "-q")
    assert (done.code, {arm["n"] for arm in done.json["arms"]}) == (0, {2}), done.err


def test_an_evaluation_whose_questions_all_cost_too_much_asks_nothing(
    skilled: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PNYX_BUDGET_RUN_USD", "0.0005")
    none = measure("--limit", "4")
    assert (none.code, none.out, asked(skilled)["alpha"]) == (4, "", 0), none.err


def test_samples_wait_until_the_cost_of_the_panel_is_known(
    skilled: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = [
        {"question": f"Case {n}: what is {n} + 5?{' Think well.' * 4_000}", "target": n + 5} for n in (1, 2)
    ]
    short = [{"question": f"Case {n}: what is {n} + 5?", "target": n + 5} for n in range(4, 8)]
    (tmp_path / "long.jsonl").write_text("\n".join(map(json.dumps, [*long, *short])))
    monkeypatch.setenv("PNYX_BUDGET_RUN_USD", "0.01")
    done = run("long.jsonl", *ARMS, "--json", "-q")
    assert (done.code, by_name(done.json)["self-consistency"]["n"]) == (4, 0), done.err
    monkeypatch.delenv("PNYX_BUDGET_RUN_USD")
    done = run("long.jsonl", *ARMS, "--json", "-q")
    assert (done.code, by_name(done.json)["self-consistency"]["n"]) == (0, 6), done.err


def test_a_host_that_recovers_causes_no_new_samples(skilled: ScriptedHost) -> None:
    def sampled() -> dict[str, str]:
        return {row["id"]: row["run_id"] for row in rows() if row["arm"] == "self-consistency"}

    skilled.on("gamma", status=400, message="not today")
    done = measure("--limit", "8", "--log", "log.jsonl")
    assert done.code == 5, done.err
    first = sampled()
    assert len(first) == 8
    skilled.on("gamma", text=reply)
    done = measure("--limit", "8", "--log", "log.jsonl")
    assert done.code == 0, done.err
    assert not [row for row in rows() if row["error"]]
    assert sampled() == first


@pytest.mark.parametrize(
    "flags",
    [
        ("sums.jsonl", "--log", "sums.jsonl"),
        ("sums.jsonl", "--html", "./sums.jsonl"),
        ("sums.jsonl", "--log", "out.x", "--html", "out.x"),
        ("--replay", "sums.jsonl", "--html", "sums.jsonl"),
    ],
)
def test_output_files_overwrite_no_file_that_the_command_uses(
    skilled: ScriptedHost, flags: tuple[str, ...]
) -> None:
    before = Path("sums.jsonl").read_text()
    done = command("eval", *flags)
    assert (done.code, done.out) == (2, "")
    assert "which this command also uses; choose another" in done.err
    assert (Path("sums.jsonl").read_text(), skilled.log) == (before, [])


def test_a_dry_run_assumes_the_most_expensive_question(skilled: ScriptedHost, tmp_path: Path) -> None:
    rows = [{"question": "x" * 21_000, "target": 1}, {"question": "漢" * 20_000, "target": 1}]
    costs = []
    for some in (rows, rows[:1], rows[1:]):
        (tmp_path / "long.jsonl").write_text("\n".join(map(json.dumps, some)))
        document = command("eval", "long.jsonl", *ARMS, "--dry-run", "--json").json["at_most"]
        costs.append(document["lab:alpha"]["cost_usd"])
    assert costs[0] == pytest.approx(2 * max(costs[1:]))
    assert costs[2] > costs[1]


def test_the_same_evaluation_is_refused_while_it_runs(skilled: ScriptedHost) -> None:
    skilled.replies = 0
    first = begin("sums.jsonl", *ARMS, PLAIN, "--limit", "4", "-q")
    wait_for(skilled, 1)
    second = run("sums.jsonl", *ARMS, PLAIN, "--limit", "4", "-q")
    skilled.replies = None
    assert (ended(first).code, second.code) == (0, 2)
    assert "this evaluation is already running" in second.err
    assert len(skilled.log) == 4 * 4


def test_feedback_gives_later_runs_a_confidence_and_no_arm(skilled: ScriptedHost) -> None:
    async def ask_and_judge() -> None:
        every = {"early": False}
        async with pnyx.open_runner() as runner:
            for n in range(ENOUGH):
                asked = await pnyx.ask(
                    f"Case {n}: what is {n} + 5?", protocol="voting", options=every, runner=runner
                )
                await pnyx.feedback(asked.run_id, "success", runner=runner)

    asyncio.run(ask_and_judge())
    later = command(
        "ask", "Case 40: what is 40 + 5?", "-p", "voting", "--option", "early=false", "--json", "-q"
    ).json
    assert later["confidence"] is not None
    measure(PLAIN, "--limit", "2", "--log", "log.jsonl")
    runs = [row["run_id"] for row in rows() if row["arm"] == "voting"]
    results = [command("export", run, "--format", "json").json["result"] for run in runs]
    assert [result["confidence"] for result in results] == [None, None]


@pytest.mark.parametrize("flag", ["--log", "--html"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_sent(
    skilled: ScriptedHost, flag: str
) -> None:
    done = command("eval", "sums.jsonl", *ARMS, flag, "missing/file")
    assert (done.code, skilled.log) == (2, [])
    assert "cannot write missing/file" in done.err


def test_a_budget_with_an_unknown_price_is_refused_before_anything_is_sent(
    skilled: ScriptedHost, tmp_path: Path
) -> None:
    settings = tmp_path / "lab.toml"
    settings.write_text(re.sub(r'\[models."lab:gamma"\]\n.*\n.*\n', "", settings.read_text()))
    done = measure("--budget", "1")
    assert (done.code, skilled.log) == (2, [])
    assert "the price of lab:gamma is unknown" in done.err


def test_samples_of_a_free_model_use_as_many_tokens_as_the_panel(
    skilled: ScriptedHost, tmp_path: Path
) -> None:
    """Only gamma, which is never the best model, has a price."""
    settings = tmp_path / "lab.toml"
    before, gamma = settings.read_text().split('[models."lab:gamma"]')
    free = re.sub(r"_price = .*", "_price = 0.0", before)
    settings.write_text(f'{free}[models."lab:gamma"]{gamma}')
    assert measure("--log", "log.jsonl").code == 0
    sampled = [row for row in rows() if row["arm"] == "self-consistency"]
    assert {row["detail"]["model"] for row in sampled} <= {"lab:alpha", "lab:beta"}
    assert [row["calls"] for row in sampled] == [3] * N


def test_a_run_that_failed_costs_no_judge(skilled: ScriptedHost, tmp_path: Path) -> None:
    (tmp_path / "why.jsonl").write_text(json.dumps({"question": "Why?", "target": "So.", "grader": "judge"}))
    skilled.on("*", text=" ")
    done = run("why.jsonl", *ARMS, PLAIN, "--judge", "lab:gamma", "--json", "-q")
    assert done.code == 5, done.err
    assert not [request for request in skilled.log if "So." in request.text]


def test_a_missing_key_is_reported_before_any_call(skilled: ScriptedHost, tmp_path: Path) -> None:
    settings = tmp_path / "lab.toml"
    other = settings.read_text().split("[models")[0].replace("[providers.lab]", "[providers.far]")
    settings.write_text(settings.read_text() + other.replace("LAB_KEY", "FAR_KEY"))
    done = run("sums.jsonl", *ARMS, "-m", "far:alpha", "-q")
    assert (done.code, skilled.log) == (2, [])
    assert "FAR_KEY" in done.err
