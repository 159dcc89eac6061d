"""`pnyx feedback` and `pnyx calibration`: outcomes change the weights of votes and the confidence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pnyx import ask as pnyx_ask
from pnyx import feedback, open_runner
from tests.interfaces.shell import Done, pnyx
from tests.support.scripted import Request, ScriptedHost
from tests.support.votes import judgement, votes_in

RIGHT, WRONG = "Final answer: 4", "Final answer: 5"


SEED = "15"
"""With this seed, no question in this module is one of the samples for which all seats are called."""


def question(number: int) -> str:
    return f"What is two and two, number {number}?"


def ask(number: int, *more: str) -> Done:
    return pnyx("ask", question(number), "-p", "voting", "--seed", SEED, "--json", "-q", *more)


def ask_and_judge(numbers: Iterable[int], **options: Any) -> None:
    """Ask each question and report it as a failure, as the commands do, but with one runner for all."""

    async def run() -> None:
        async with open_runner() as runner:
            for number in numbers:
                asked = await pnyx_ask(
                    question(number), protocol="voting", seed=int(SEED), options=options, runner=runner
                )
                assert asked.final_answer == "5"
                await feedback(asked.run_id, "failure", answer="4", runner=runner)

    asyncio.run(run())


@pytest.fixture
def lab_of_one(lab: ScriptedHost) -> ScriptedHost:
    """Only gamma's first answers are right; the judge follows the majority, which is wrong."""

    def say(request: Request) -> str:
        if votes := votes_in(request.text):
            return judgement(votes, "5") if "5" in votes.values() else RIGHT
        return RIGHT if "gamma" in request.model else WRONG

    lab.on("*", text=say)
    return lab


@pytest.fixture
def judged(lab_of_one: ScriptedHost) -> ScriptedHost:
    ask_and_judge(range(10))
    # A runner keeps a history for two seconds: a new one is sure to have weights from the ten labels.
    ask_and_judge(range(10, 12))
    return lab_of_one


def test_feedback_says_how_many_seats_were_right(lab_of_one: ScriptedHost) -> None:
    run = ask(0).json
    done = pnyx("feedback", run["run_id"][:6], "--result", "failure", "--answer", "4.0")
    assert (done.code, done.out) == (0, "")
    assert f"Saved: run {run['run_id']} is a failure." in done.err
    assert "1 of 3 seats first answered 4." in done.err
    document = pnyx("feedback", run["run_id"], "--result", "success", "--json").json
    assert (document["gold"], document["answers"]["lab:alpha"], document["answers"]["lab:gamma"]) == (
        "5",
        "5",
        "4",
    )


def test_feedback_lists_every_seat_also_several_of_one_model(lab_of_one: ScriptedHost) -> None:
    run = ask(0, "-m", "lab:alpha*2", "-m", "lab:gamma").json
    document = pnyx("feedback", run["run_id"], "--result", "failure", "--answer", "4", "--json").json
    alone = [("lab:alpha", "5"), ("lab:alpha", "5"), ("lab:gamma", "4")]
    assert [(seat["model"], seat["answer"]) for seat in document["seats"]] == alone
    assert document["answers"] == {"lab:alpha": "5", "lab:gamma": "4"}


def test_a_failure_without_the_right_answer_changes_no_weights(lab_of_one: ScriptedHost) -> None:
    done = pnyx("feedback", ask(0).json["run_id"], "--result", "failure")
    assert "Add the right answer with --answer TEXT." in done.err


def test_feedback_that_contradicts_the_decision_is_refused_or_reported(lab_of_one: ScriptedHost) -> None:
    run = ask(0).json["run_id"]
    done = pnyx("feedback", run, "--result", "success", "--answer", "4")
    assert (done.code, done.out) == (2, "")
    assert "which is '5' and not '4'" in done.err
    assert pnyx("calibration", "--json").json["n"] == 0
    done = pnyx("feedback", run, "--result", "failure", "--answer", "5.0")
    assert done.code == 0
    assert "2 of 3 seats first answered 5.\nThis is the decision's final answer" in done.err


def test_feedback_on_a_single_answer_changes_the_weight_of_its_model(
    lab_of_one: ScriptedHost,
) -> None:
    run = ask(0, "-p", "single", "-m", "lab:gamma").json["run_id"]
    assert "1 of 1 seat first answered 4." in pnyx("feedback", run, "--result", "success").err
    document = pnyx("feedback", run, "--result", "failure", "--answer", "5", "--json").json
    assert (document["answers"], document["gold"]) == ({"lab:gamma": "4"}, "5")
    run = ask(1, "-p", "consensus").json["run_id"]
    done = pnyx("feedback", run, "--result", "success")
    assert done.code == 0
    assert "the run has no short first answers of its models" in done.err


@pytest.mark.parametrize("status", ["paused", "unknown"])
def test_only_a_decision_can_be_judged(lab_of_one: ScriptedHost, status: str) -> None:
    run = ask(0, "--budget", "0.0001").json["run_id"] if status == "paused" else "zzz"
    done = pnyx("feedback", run, "--result", "success")
    assert (done.code, done.out) == (2, "")
    assert ("feedback requires a decision" if status == "paused" else "no run 'zzz'") in done.err


def test_a_history_weighs_votes_and_the_result_records_it(judged: ScriptedHost) -> None:
    run = ask(99).json
    history = run["detail"]["history"]
    models = {seat["seat"]: seat["model"] for seat in run["seats"]}
    weights = {models[label]: weight for label, weight in history["weights"].items()}
    assert (history["rule"], history["n"]) == (
        "labels",
        10,
    )  # the last two of twelve asked the strongest first
    assert weights["lab:gamma"] > 0
    assert weights["lab:alpha"] == weights["lab:beta"] < weights["lab:gamma"] / 3
    assert max(run["detail"]["tally"], key=run["detail"]["tally"].get) == "4"


def test_with_learned_weights_only_seats_that_can_change_the_answer_are_called(
    judged: ScriptedHost,
) -> None:
    before = len(judged.log)
    run = ask(99).json
    models = [request.model for request in judged.log[before:]]
    assert set(models[:2]) == {"gamma", "alpha"}
    assert "beta" not in models
    assert run["detail"]["native"].keys() == {s["seat"] for s in run["seats"] if s["model"] != "lab:beta"}
    assert len(ask(100, "--option", "early=false").json["detail"]["native"]) == 3


def test_there_is_no_confidence_below_twenty_outcomes(judged: ScriptedHost) -> None:
    run = ask(99).json
    assert (run["confidence"], run["confidence_rule"]) == (None, None)
    assert "calibration" not in run["detail"]
    assert run["detail"]["raw_confidence"] == pytest.approx(1 / 3, abs=0.4)
    assert run["detail"]["raw_rule"] == "posterior of the votes, strongest first"


@pytest.fixture
def twenty(judged: ScriptedHost) -> ScriptedHost:
    """Twenty failures in votes of all seats: ten of the twelve judged runs, and ten more."""
    ask_and_judge(range(100, 110), early=False)
    return judged


def test_from_twenty_outcomes_of_the_panel_on_there_is_a_confidence(twenty: ScriptedHost) -> None:
    run = ask(99, "--option", "early=false").json
    assert run["confidence_rule"] == "beta calibration on 20 outcomes of this panel"
    assert run["confidence"] < 0.2
    learned = run["detail"]["calibration"]
    assert (learned["n"], learned["right"], learned["method"]) == (20, 0, "beta")
    assert learned["low"] <= run["confidence"] <= learned["high"]
    assert learned["panel"] == ["lab:alpha", "lab:beta", "lab:gamma"]
    assert (learned["protocol"], learned["rule"]) == ("voting", run["detail"]["raw_rule"])
    # Two votes asked the strongest first: the others count for them too. Another panel has its own outcomes.
    first = ask(98).json
    assert first["confidence_rule"] == "beta calibration on 22 outcomes of this panel"
    assert first["detail"]["calibration"]["protocol"] == "voting, strongest first"
    assert first["confidence"] < 0.3
    other = ask(98, "-m", "lab:alpha", "-m", "lab:gamma", "--option", "early=false").json
    assert (other["confidence"], other["confidence_rule"]) == (None, None)
    shown = pnyx("calibration", "--json").json["protocols"]
    assert {name: (one["n"], one["right"]) for name, one in shown.items()} == {
        "voting": (22, 0),
        "voting, strongest first": (2, 0),  # two of the twelve called the strongest seats first
    }
    whole, apart = shown["voting"]["panels"]
    assert (whole["n"], whole["needs"], whole["confidence"]["method"]) == (20, 0, "beta")
    assert (apart["n"], apart["needs"], apart["confidence"]["method"]) == (2, 0, "beta")
    text = pnyx("calibration").out
    assert "confidence: beta calibration on 20 outcomes" in text
    assert "confidence: beta calibration on 22 outcomes" in text
    assert "not calibrated" not in text


def test_partial_successes_do_not_count_as_outcomes(twenty: ScriptedHost) -> None:
    run = ask(110, "--option", "early=false").json["run_id"]
    assert pnyx("feedback", run, "--result", "success").code == 0
    first = pnyx("calibration", "--json").json["protocols"]["voting"]["panels"][0]
    assert (first["n"], first["right"]) == (21, 1)
    assert pnyx("feedback", run, "--result", "partial").code == 0
    assert pnyx("calibration", "--json").json["protocols"]["voting"]["panels"][0]["n"] == 20


def test_a_resumed_run_keeps_its_weights(lab_of_one: ScriptedHost) -> None:
    paused = ask(99, "--budget", "0.0001").json["run_id"]
    ask_and_judge(range(12))
    again = pnyx("resume", paused, "--budget", "1", "--json", "-q").json
    assert "history" not in again["detail"]
    assert again["detail"]["raw_rule"] == "posterior of the votes"


def test_calibration_shows_the_diagram_and_the_weights_of_votes(judged: ScriptedHost) -> None:
    done = pnyx("calibration")
    assert done.code == 0
    assert "voting · lab:alpha, lab:beta, lab:gamma\n0 of 10 right (0%)" in done.out
    assert "not calibrated: needs 8 more outcomes" in done.out
    assert "weights of votes: labels, from 10 questions" in done.out
    document = pnyx("calibration", "--json").json
    bins = document["protocols"]["voting"]["bins"]
    assert (sum(one["n"] for one in bins), {one["right"] for one in bins}) == (12, {0.0})
    assert {one["calibrated"] for one in bins} == {None}


def test_calibration_without_feedback_says_how_to_add_some(lab: ScriptedHost) -> None:
    done = pnyx("calibration")
    assert (done.code, done.out) == (0, "")
    assert "pnyx feedback ID" in done.err


def test_partial_feedback_counts_neither_way(lab_of_one: ScriptedHost) -> None:
    pnyx("feedback", ask(0).json["run_id"], "--result", "partial")
    document = pnyx("calibration", "--json").json
    assert (document["n"], document["partial"], document["protocols"]) == (1, 1, {})


@pytest.fixture
def recorded(tmp_path: Path) -> str:
    """60 questions: "good" is right nine times in ten, "bad" every other time, "worse" never."""
    path = tmp_path / "answers.jsonl"
    answers = [{"good": "ab"[n % 10 == 0], "bad": "ab"[n % 2], "worse": "b"} for n in range(60)]
    rows = [{"id": n, "gold": "a", "part": n % 2, "answers": one} for n, one in enumerate(answers)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def test_eval_replays_recorded_answers_without_a_call(lab: ScriptedHost, recorded: str) -> None:
    done = pnyx("eval", "--answers", recorded, "--splits", "4")
    assert (done.code, done.err, lab.log) == (0, "", [])
    for expected in ("best single", "majority", "default rule", "oracle", "points [95 % interval]"):
        assert expected in done.out
    document = pnyx("eval", "--answers", recorded, "--splits", "4", "--json").json
    assert document["questions"] == 60
    assert document["arms"]["default rule"]["accuracy"] >= document["arms"]["majority"]["accuracy"] + 0.2
    some = pnyx(
        "eval", "--answers", recorded, "-m", "good", "-m", "bad", "--where", "part=1", "--splits", "2"
    )
    assert some.out.startswith("30 questions, 2 models; 2 splits")
    first = pnyx("eval", "--answers", recorded, "--limit", "20", "--splits", "2", "--json").json
    assert first["questions"] == 20


@pytest.mark.parametrize(
    ("more", "expected"),
    [(("--where", "part"), "--where requires COLUMN=VALUE"), (("-m", "nobody"), "no answer of nobody")],
)
def test_eval_reports_usage_errors(recorded: str, more: tuple[str, ...], expected: str) -> None:
    done = pnyx("eval", "--answers", recorded, *more)
    assert (done.code, done.out) == (2, "")
    assert expected in done.err


def test_eval_of_a_missing_file(lab: ScriptedHost) -> None:
    done = pnyx("eval", "--answers", "none.csv")
    assert (done.code, "cannot read none.csv" in done.err) == (2, True)
