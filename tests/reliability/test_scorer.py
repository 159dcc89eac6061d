"""The fit of vote weights to labelled questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.reliability.accuracy import AnsweredQuestion
from pnyx.reliability.scorer import ALONG, fit
from tests.reliability.tables import MODELS, table, tables

PRIOR = {"a": 2.0, "b": 1.0, "c": 0.5, "d": 0.0}


def objective(
    records: Sequence[AnsweredQuestion],
    weights: Mapping[str, float],
    prior: Mapping[str, float],
    precision: float,
) -> float:
    """Return the objective that `fit` maximises, from its definition, with four options."""
    apart = {m: weights[m] - prior[m] for m in prior}
    length = sum(p * p for p in prior.values()) ** 0.5
    along = sum(apart[m] * prior[m] / length for m in prior) if length else 0.0
    across = sum(d * d for d in apart.values()) - along**2
    value = -precision / 2 * (across + ALONG * along**2)
    for q in records:
        if q.gold is None or not (given := {a for a in q.answers.values() if a is not None}):
            continue
        behind = {a: exp(sum(weights[m] for m, answer in q.answers.items() if answer == a)) for a in given}
        value += log(behind.get(q.gold, 1.0) / (sum(behind.values()) + max(4 - len(behind), 1)))
    return value


@given(tables, st.sampled_from((0.5, 10.0)), st.sampled_from((PRIOR, dict.fromkeys(MODELS, 0.0))))
def test_the_fitted_weights_are_the_maximum(
    records: list[AnsweredQuestion], precision: float, prior: dict[str, float]
) -> None:
    found = fit(records, prior, precision, 4)
    best = objective(records, found, prior, precision)
    for model in prior:
        for step in (-0.01, 0.01):
            other = {**found, model: found[model] + step}
            assert objective(records, other, prior, precision) < best


def test_without_labels_the_fit_returns_the_prior() -> None:
    assert fit([], PRIOR, 10, 4) == PRIOR
    assert fit(table((0.9, 0.5), 50, labels=False), PRIOR, 10, 4) == PRIOR
    assert fit([AnsweredQuestion(dict.fromkeys(MODELS), "x")], PRIOR, 10, 4) == PRIOR


def test_a_higher_precision_brings_the_weights_closer_to_the_prior() -> None:
    records = table((0.5, 0.6, 0.7, 0.8), 200)
    prior = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}
    spread = [
        max(found.values()) - min(found.values())
        for found in (fit(records, prior, precision, 4) for precision in (0.1, 10, 1000, 1e6))
    ]
    assert spread == sorted(spread, reverse=True)
    assert spread[0] > 0.5
    assert spread[-1] < 0.01


def test_a_model_and_its_copies_weigh_as_much_as_one_model() -> None:
    alone = fit(table((0.6, 0.7, 0.8), 3000), dict.fromkeys("abc", 1.0), 0.1, 4)
    thrice = fit(table((0.6, 0.7, 0.8), 3000, copies=3), dict.fromkeys("abcde", 1.0), 0.1, 4)
    assert thrice["c"] + thrice["d"] + thrice["e"] == pytest.approx(alone["c"], abs=0.1)
    assert thrice["a"] == pytest.approx(alone["a"], abs=0.1)


@given(tables, st.permutations(MODELS))
def test_the_order_of_the_models_is_irrelevant(records: list[AnsweredQuestion], order: list[str]) -> None:
    found = fit(records, PRIOR, 10, 4)
    assert fit(records, {m: PRIOR[m] for m in order}, 10, 4) == pytest.approx(found, abs=1e-5)


def test_the_fit_converges_from_far_away() -> None:
    records = [AnsweredQuestion({"a": "x", "b": "y"}, "y", 4)] * 5000
    found = fit(records, {"a": 60.0, "b": 0.0}, 0.01, 4)
    assert found["b"] > found["a"] + 5
