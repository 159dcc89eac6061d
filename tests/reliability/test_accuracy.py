"""Accuracies, counted and inferred, and the weight of a vote."""

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

from pnyx.reliability.accuracy import (
    OPEN_OPTIONS,
    AnsweredQuestion,
    labelled_accuracies,
    log_odds,
    mean_options,
    one_coin,
)
from pnyx.reliability.weights import Weights, choose
from tests.reliability.tables import MODELS, table, tables

# Generated once by the version of crowd-kit named in the file: one word per question, one letter per model,
# "-" for an abstention. The library needs pandas, scipy and scikit-learn, too much for one comparison.
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
def test_a_vote_weighs_its_log_odds_and_zero_at_chance_or_below(
    accuracy: float, options: float, weight: float
) -> None:
    assert log_odds(accuracy, options) == pytest.approx(weight, abs=1e-9)


def test_counts_are_smoothed_without_abstentions_and_unlabelled_questions() -> None:
    records = [
        AnsweredQuestion({"a": "x", "b": "y", "c": None}, "x"),
        AnsweredQuestion({"a": "x", "b": None, "c": None}, "x"),
        AnsweredQuestion({"a": "x", "b": "x", "c": "x"}, None),
    ]
    found = labelled_accuracies(records, ("a", "b", "c"))
    assert found == {"a": 3 / 4, "b": 1 / 3, "c": (3 / 4 + 1 / 3) / 2}


def test_options_are_a_mean_with_a_default_for_open_questions() -> None:
    assert mean_options([]) == OPEN_OPTIONS
    assert mean_options([AnsweredQuestion({}, options=10), AnsweredQuestion({})]) == (10 + OPEN_OPTIONS) / 2
    assert mean_options([AnsweredQuestion({}, options=1)]) == 2


def test_open_questions_have_more_options_if_wrong_answers_seldom_agree() -> None:
    def wrong(*texts: str) -> AnsweredQuestion:
        return AnsweredQuestion(dict(zip("abcde", texts, strict=False)), "right")

    apart = [wrong(*"vwxyz") for _ in range(100)]
    alike = [wrong(*"vvvvv") for _ in range(100)]
    assert mean_options(apart) > 50
    assert mean_options(alike) == OPEN_OPTIONS
    assert OPEN_OPTIONS < mean_options(apart[:1]) < 6
    assert mean_options([replace(q, options=10) for q in apart]) == 10
    assert mean_options([replace(q, gold=None) for q in apart]) == OPEN_OPTIONS


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: f"{case['options']} options")
def test_inferred_accuracies_equal_those_of_crowd_kit(case: dict[str, Any]) -> None:
    """Up to our smoothing and crowd-kit's prior of each label."""
    models = [str(place) for place in range(len(case["accuracies"]))]
    records = [
        AnsweredQuestion(
            {model: None if answer == "-" else answer for model, answer in zip(models, row, strict=True)}
        )
        for row in case["answers"].split()
    ]
    found = one_coin(records, models, case["options"])
    assert list(found.values()) == pytest.approx(case["accuracies"], abs=0.005)
    votes = {model: log_odds(p, case["options"]) for model, p in found.items()}
    chosen = [choose(Weights("", 0, votes), question) or "-" for question in records]
    agreed = sum(ours == theirs for ours, theirs in zip(chosen, case["truth"], strict=True))
    assert agreed >= 0.98 * len(records)


def test_accuracies_are_recovered_without_labels() -> None:
    real = (0.9, 0.8, 0.7, 0.6, 0.5)
    found = one_coin(table(real, 2000, labels=False), "abcde", 4)
    assert list(found.values()) == pytest.approx(real, abs=0.04)


def test_models_that_never_agree_keep_their_agreement_with_plurality() -> None:
    """Without the check, expectation-maximisation would converge to chance here, and all weights to 0."""
    records = [AnsweredQuestion({"a": "x", "b": "y", "c": "z"}, options=10)] * 60
    assert list(one_coin(records, "abc", 10).values()) == pytest.approx([(20 + 1) / (60 + 2)] * 3)


@given(tables)
def test_most_pluralities_are_confirmed_or_they_alone_count(records: list[AnsweredQuestion]) -> None:
    found = one_coin(records, MODELS, 4)
    confirmed = total = 0.0
    agreed, answered = dict.fromkeys(MODELS, 1.0), Counter[str]()
    for question in records:
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
        confirmed += sum(exp(odds[answer]) for answer in leaders) / whole
        total += 1
    plural = all(found[m] == pytest.approx(agreed[m] / (answered[m] + 2)) for m in MODELS if answered[m])
    assert plural or confirmed >= total / 2 - 0.01 * total


@given(tables, st.permutations(MODELS))
def test_the_order_of_the_models_is_irrelevant(records: list[AnsweredQuestion], order: list[str]) -> None:
    for infer in (labelled_accuracies, lambda q, m: one_coin(q, m, 4)):
        assert infer(records, order) == pytest.approx(infer(records, MODELS))


def test_thirty_models_on_twelve_thousand_questions_take_less_than_two_seconds() -> None:
    records = table([0.3 + 0.02 * k for k in range(30)], 12_000, options=10, labels=False)
    models = list(records[0].answers)
    start = time.process_time()
    assert len(one_coin(records, models, 10)) == 30
    assert time.process_time() - start < 2
