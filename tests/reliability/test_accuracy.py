"""Accuracies, counted and inferred, and what a vote is worth by them."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import replace
from math import exp, log
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.reliability.accuracy import OPEN_OPTIONS, Answered, counted, log_odds, one_coin, options_of
from pnyx.reliability.weights import Weights, choose
from tests.reliability.tables import MODELS, table, tables

# Written once by crowd-kit, as named in it: one word a question, one letter a model, "-" where it is silent.
# The library brings pandas, scipy and scikit-learn, too much to install for one comparison.
RECORDED = json.loads((Path(__file__).parent / "corpora" / "one_coin.json").read_text())["cases"]

inside = st.floats(0.001, 0.999)


@given(inside, inside, st.floats(2, 20))
def test_the_weight_of_a_vote_grows_with_accuracy(p: float, q: float, options: float) -> None:
    low, high = sorted((p, q))
    assert 0 <= log_odds(low, options) <= log_odds(high, options)


@pytest.mark.parametrize(
    ("accuracy", "options", "weight"),
    [(0.9, 2, log(9)), (0.9, 10, log(81)), (0.5, 2, 0), (0.1, 10, 0), (0.05, 10, 0)],
)
def test_a_vote_weighs_its_log_odds_and_nothing_at_chance_or_below(
    accuracy: float, options: float, weight: float
) -> None:
    assert log_odds(accuracy, options) == pytest.approx(weight, abs=1e-9)


def test_counts_are_smoothed_and_leave_abstentions_and_unknown_truths_out() -> None:
    asked = [
        Answered({"a": "x", "b": "y", "c": None}, "x"),
        Answered({"a": "x", "b": None, "c": None}, "x"),
        Answered({"a": "x", "b": "x", "c": "x"}, None),
    ]
    found = counted(asked, ("a", "b", "c"))
    assert found == {"a": 3 / 4, "b": 1 / 3, "c": (3 / 4 + 1 / 3) / 2}


def test_options_are_a_mean_and_open_questions_have_the_usual_number() -> None:
    assert options_of([]) == OPEN_OPTIONS
    assert options_of([Answered({}, options=10), Answered({})]) == (10 + OPEN_OPTIONS) / 2
    assert options_of([Answered({}, options=1)]) == 2


def test_open_questions_have_as_many_options_as_wrong_answers_that_seldom_agree_speak_for() -> None:
    def wrong(*said: str) -> Answered:
        return Answered(dict(zip("abcde", said, strict=False)), "right")

    apart = [wrong(*"vwxyz") for _ in range(100)]
    alike = [wrong(*"vvvvv") for _ in range(100)]
    assert options_of(apart) > 50
    assert options_of(alike) == OPEN_OPTIONS
    assert OPEN_OPTIONS < options_of(apart[:1]) < 6
    assert options_of([replace(q, options=10) for q in apart]) == 10
    assert options_of([replace(q, gold=None) for q in apart]) == OPEN_OPTIONS


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: f"{case['options']} options")
def test_inferred_accuracies_are_those_of_crowd_kit(case: dict[str, Any]) -> None:
    """But for smoothing, which is ours, and the prior of each label, which is theirs."""
    models = [str(place) for place in range(len(case["accuracies"]))]
    asked = [
        Answered({model: None if said == "-" else said for model, said in zip(models, row, strict=True)})
        for row in case["answers"].split()
    ]
    found = one_coin(asked, models, case["options"])
    assert list(found.values()) == pytest.approx(case["accuracies"], abs=0.005)
    votes = {model: log_odds(p, case["options"]) for model, p in found.items()}
    chosen = [choose(Weights("", 0, votes), question) or "-" for question in asked]
    agreed = sum(ours == theirs for ours, theirs in zip(chosen, case["truth"], strict=True))
    assert agreed >= 0.98 * len(asked)


def test_without_the_truth_the_accuracies_come_out_all_the_same() -> None:
    real = (0.9, 0.8, 0.7, 0.6, 0.5)
    found = one_coin(table(real, 2000, labels=False), "abcde", 4)
    assert list(found.values()) == pytest.approx(real, abs=0.04)


def test_models_that_never_agree_are_not_taken_below_what_their_own_pluralities_say() -> None:
    """Left alone, expectation-maximisation runs down to chance here, and calls every vote worthless."""
    asked = [Answered({"a": "x", "b": "y", "c": "z"}, options=10)] * 60
    assert list(one_coin(asked, "abc", 10).values()) == pytest.approx([(20 + 1) / (60 + 2)] * 3)


@given(tables)
def test_most_pluralities_stand_or_they_alone_are_believed(asked: list[Answered]) -> None:
    found = one_coin(asked, MODELS, 4)
    kept = total = 0.0
    agreed, answered = dict.fromkeys(MODELS, 1.0), Counter[str]()
    for question in asked:
        votes = Counter(answer for answer in question.answers.values() if answer is not None)
        if not votes:
            continue
        leaders = [answer for answer in votes if votes[answer] == max(votes.values())]
        odds = dict.fromkeys(votes, 0.0)
        for model, answer in question.answers.items():
            if answer is not None:
                odds[answer] += log_odds(found[model], 4)
                agreed[model] += (answer in leaders) / len(leaders)
                answered[model] += 1
        whole = sum(map(exp, odds.values())) + max(4 - len(odds), 0)
        kept += sum(exp(odds[answer]) for answer in leaders) / whole
        total += 1
    plural = all(found[m] == pytest.approx(agreed[m] / (answered[m] + 2)) for m in MODELS if answered[m])
    assert plural or kept >= total / 2 - 0.01 * total


@given(tables, st.permutations(MODELS))
def test_the_order_of_the_models_makes_no_difference(asked: list[Answered], order: list[str]) -> None:
    for infer in (counted, lambda q, m: one_coin(q, m, 4)):
        assert infer(asked, order) == pytest.approx(infer(asked, MODELS))


def test_thirty_models_on_twelve_thousand_questions_take_less_than_two_seconds() -> None:
    asked = table([0.3 + 0.02 * k for k in range(30)], 12_000, options=10, labels=False)
    models = list(asked[0].answers)
    start = time.process_time()
    assert len(one_coin(asked, models, 10)) == 30
    assert time.process_time() - start < 2
