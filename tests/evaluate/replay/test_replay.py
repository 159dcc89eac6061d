"""The replay of recorded answers, on generated tables."""

from __future__ import annotations

import json
import random

import pytest

from pnyx.errors import UsageError
from pnyx.evaluate.replay.replay import DEFAULT, MAJORITY, ORACLE, SINGLE, STOPPED, document, render, replay
from pnyx.reliability.accuracy import AnsweredQuestion
from tests.reliability.tables import table

PEERS = table((0.75, 0.7, 0.7, 0.65), 1200)


def test_near_peers_do_better_together_and_early_stopping_loses_little() -> None:
    result = replay(PEERS, splits=4)
    assert result.compare(DEFAULT, SINGLE).low > 0
    assert result.accuracy(DEFAULT) <= result.accuracy(ORACLE)
    assert abs(result.compare(DEFAULT, STOPPED).mean) < 0.003
    assert 2 <= result.calls < 4
    assert result.ece[1] is not None
    assert result.ece[1] < 0.05
    assert result.rules == {"labels": 4}


def test_a_difference_equals_that_of_the_accuracies() -> None:
    """Few questions in few splits: each is held out one to three times."""
    result = replay(PEERS[:41], splits=3)
    for arm in (SINGLE, MAJORITY, ORACLE):
        apart = result.accuracy(DEFAULT) - result.accuracy(arm)
        assert result.compare(DEFAULT, arm).mean == pytest.approx(apart, abs=1e-12)


def test_with_one_strong_model_the_default_rule_keeps_its_accuracy_and_the_majority_does_not() -> None:
    result = replay(table((0.8, 0.35, 0.4), 1200, options=3, copies=3), splits=4)
    assert result.accuracy(MAJORITY) < result.accuracy(SINGLE) - 0.05
    assert result.accuracy(DEFAULT) > result.accuracy(SINGLE) - 0.005


def test_no_question_is_both_learned_from_and_graded() -> None:
    """Each model has half of the questions right, so a model better on one half is worse on the other."""
    rng, right = random.Random(4), {model: set[int]() for model in "abcdefgh"}
    for places in right.values():
        places.update(rng.sample(range(40), 20))
    questions = [
        AnsweredQuestion({m: "x" if n in right[m] else "y" for m in right}, "x", 2) for n in range(40)
    ]
    result = replay(questions, splits=20)
    assert result.accuracy(SINGLE) < 0.45
    for split in range(20):
        assert len(set(result.trials[20 * split : 20 * split + 20])) == 20
    assert len(set(result.trials)) == 40


def test_the_seed_decides_the_splits() -> None:
    one, repeated, other = (replay(PEERS[:100], splits=3, seed=seed) for seed in (1, 1, 2))
    assert one == repeated
    assert one.trials != other.trials


def test_rescues_minus_regressions_is_the_difference() -> None:
    result = replay(PEERS[:400], splits=3)
    rescues, regressions = result.changes(DEFAULT, SINGLE)
    assert rescues - regressions == pytest.approx(result.accuracy(DEFAULT) - result.accuracy(SINGLE))


def test_the_report_has_every_arm_with_its_interval() -> None:
    text = render(replay(PEERS[:200], splits=2))
    lines = {line[:26].strip(): line for line in text.splitlines()}
    for arm in (SINGLE, MAJORITY, STOPPED, "log-odds, labels", "log-odds, no labels"):
        assert "[" in lines[arm]
    assert "[" not in lines[DEFAULT]
    assert "ECE" in text


def test_the_document_is_plain_json_with_shares_of_one() -> None:
    result = replay(PEERS[:200], splits=2)
    values = json.loads(json.dumps(document(result), allow_nan=False))
    assert values["arms"][DEFAULT] == {"accuracy": result.accuracy(DEFAULT), "default_less_it": None}
    less = values["arms"][SINGLE]["default_less_it"]
    assert less["low"] <= less["mean"] <= less["high"]
    assert values["rescues"] - values["regressions"] == pytest.approx(less["mean"], abs=0.05)
    assert sum(values["default_rule"].values()) == sum(values["best_single"].values()) == 2


def test_equal_models_do_not_divide_by_zero() -> None:
    same = [AnsweredQuestion({"a": "x", "b": "x"}, "x")] * 8
    assert "no regressions, oracle gap closed none" in render(replay(same, splits=2))


def test_too_few_questions_models_splits_or_labels_are_refused() -> None:
    for questions in ([], PEERS[:3], [AnsweredQuestion({"a": "x"}, "x")] * 8):
        with pytest.raises(UsageError, match="needs at least"):
            replay(questions)
    for wrong in ({"splits": 0}, {"labels": -1}):
        with pytest.raises(UsageError, match="needs at least"):
            replay(PEERS, **wrong)


def test_beside_a_few_labels_the_majority_is_the_one_that_uses_none() -> None:
    results = [replay(PEERS[:400], splits=2, labels=n) for n in (0, 30)]
    assert results[0].right[MAJORITY] == results[1].right[MAJORITY]
    assert results[0].right["log-odds, labels"] != results[1].right["log-odds, labels"]


def test_without_labels_the_default_rule_is_the_majority() -> None:
    result = replay(PEERS[:400], splits=2, labels=0)
    assert result.rules == {"equal": 2}
    assert result.accuracy(DEFAULT) == result.accuracy(MAJORITY)
    assert document(result)["ece"]["calibrated"] is None
    assert "not calibrated" in render(result)
    assert replay(PEERS[:400], splits=2, labels=1).rules == {"labels": 2}


def test_confidence_is_calibrated_on_questions_that_the_weights_have_not_seen() -> None:
    """Weights overfit small categories: calibrated on the same questions, the error is 14.7 %."""
    rng, off = random.Random(5), 0.0
    models, wrong = "vwxyz", "abc"
    for seed in range(6):
        questions = [
            AnsweredQuestion(
                {m: "x" if rng.random() < 0.5 else rng.choice(wrong) for m in models},
                "x",
                4,
                str(n % 10),
            )
            for n in range(100)
        ]
        off += (replay(questions, splits=4, seed=seed).ece[1] or 1.0) / 6
    assert off < 0.135
