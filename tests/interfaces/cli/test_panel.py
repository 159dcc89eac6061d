"""`pnyx panel suggest`: from judged runs, from a table of answers, and from the log of an evaluation."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from pnyx.reliability.feedback import JudgedRun
from tests.evaluate.logs import log, random_letters
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost

MODELS = ("lab:alpha", "lab:beta", "lab:gamma")
PRICES = (1.0 + 4.0, 1.0 + 2.0, 0.5 + 1.0)
"""USD per million tokens in and out, of the models of the lab."""


def write_table(path: Path, n: int) -> Path:
    chance = random.Random(2)
    lines = [",".join(("id", "gold", *MODELS))]
    for id in range(n):
        answers = ["A" if chance.random() < 0.7 else chance.choice("BCDE") for _ in MODELS]
        lines.append(",".join((str(id), "A", *answers)))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.usefixtures("lab")
def test_a_table_of_answers_suggests_a_panel_with_the_lines_to_paste(tmp_path: Path) -> None:
    source = str(write_table(tmp_path / "answers.csv", 400))
    done = pnyx("panel", "suggest", "--from", source)
    assert (done.code, done.err) == (0, "")
    assert "200 to choose panels, 200 to report on them" in done.out
    assert "Against the best single model the suggested panel gains +" in done.out
    assert "[panel]\nseats = [\n" in done.out
    document = pnyx("panel", "suggest", "--from", source, "--json").json
    assert set(document["seats"]) == set(MODELS)
    assert document["questions"] == {"chosen_on": 200, "reported_on": 200}
    suggested, single = document["suggested"], document["single"]
    assert suggested["right"]["low"] <= suggested["right"]["mean"] <= suggested["right"]["high"]
    assert suggested["gain"]["mean"] == pytest.approx(suggested["right"]["mean"] - single["right"]["mean"])
    assert single["gain"] is None
    # The prices of the configuration, for 400 tokens in and 400 out.
    assert suggested["cost_usd"] == pytest.approx(sum(400e-6 * price for price in PRICES))


@pytest.mark.usefixtures("lab")
def test_the_log_of_an_evaluation_has_the_cost_of_each_model(tmp_path: Path) -> None:
    rng = random.Random(3)
    made = log({model: random_letters(0.7, 300, rng) for model in MODELS})
    made.write(tmp_path / "eval.jsonl")
    document = pnyx("panel", "suggest", "--from", str(tmp_path / "eval.jsonl"), "--json").json
    assert document["single"]["cost_usd"] == pytest.approx(0.01)
    done = pnyx("panel", "suggest", "--from", str(tmp_path / "eval.jsonl"), "--where", "a=b")
    assert (done.code, done.out) == (2, "")


def test_judged_runs_suggest_a_panel_and_too_few_say_how_many_are_needed(lab: ScriptedHost) -> None:
    lab.on("*", text="Final answer: 4")
    run = pnyx("ask", "What is two and two?", "-p", "voting", "--json", "-q").json["run_id"]
    pnyx("feedback", run, "--result", "success")
    done = pnyx("panel", "suggest")
    assert (done.code, done.out) == (2, "")
    assert "needs 60 questions" in done.err
    assert "there are 1. Judge more runs with `pnyx feedback ID`" in done.err
    # The same question once more is no second one, another is.
    for question, count in (("What is two and two?", 1), ("What is one and three?", 2)):
        run = pnyx("ask", question, "-p", "voting", "--json", "-q").json["run_id"]
        pnyx("feedback", run, "--result", "success")
        assert f"there are {count}. Judge more" in pnyx("panel", "suggest").err


@pytest.mark.usefixtures("lab")
def test_the_history_of_judged_runs_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(5)
    history = [
        JudgedRun(
            "voting",
            "success",
            answers=tuple((m, "4" if chance.random() < 0.7 else chance.choice("5678")) for m in MODELS),
            gold="4",
        )
        for _ in range(200)
    ]

    async def judgements(self: object, owner: str, with_questions: bool) -> list[JudgedRun]:
        assert with_questions
        return history

    monkeypatch.setattr("pnyx.interfaces.records.runs.RunRecords.judgements", judgements)
    document = pnyx("panel", "suggest", "--json").json
    assert document["questions"] == {"chosen_on": 100, "reported_on": 100}
    assert len(document["models"]) == 3


def test_where_needs_a_file() -> None:
    done = pnyx("panel", "suggest", "--where", "a=b")
    assert (done.code, done.out) == (2, "")
    assert "--from FILE" in done.err
