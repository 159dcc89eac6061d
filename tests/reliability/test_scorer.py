"""The fit of vote weights to labelled questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.reliability.accuracy import Answered
from pnyx.reliability.scorer import ALONG, fit
from tests.reliability.tables import MODELS, table, tables

PRIOR = {"a": 2.0, "b": 1.0, "c": 0.5, "d": 0.0}


def objective(
    asked: Sequence[Answered], weights: Mapping[str, float], prior: Mapping[str, float], precision: float
) -> float:
    """What `fit` says it makes as large as it can be, from its definition, with four options."""
    apart = {m: weights[m] - prior[m] for m in prior}
    length = sum(p * p for p in prior.values()) ** 0.5
    along = sum(apart[m] * prior[m] / length for m in prior) if length else 0.0
    across = sum(d * d for d in apart.values()) - along**2
    value = -precision / 2 * (across + ALONG * along**2)
    for q in asked:
        if q.gold is None or not (given := {a for a in q.answers.values() if a is not None}):
            continue
        behind = {a: exp(sum(weights[m] for m, said in q.answers.items() if said == a)) for a in given}
        value += log(behind.get(q.gold, 1.0) / (sum(behind.values()) + max(4 - len(behind), 1)))
    return value


@given(tables, st.sampled_from((0.5, 10.0)), st.sampled_from((PRIOR, dict.fromkeys(MODELS, 0.0))))
def test_no_other_weights_explain_the_questions_better(
    asked: list[Answered], precision: float, prior: dict[str, float]
) -> None:
    found = fit(asked, prior, precision, 4)
    best = objective(asked, found, prior, precision)
    for model in prior:
        for step in (-0.01, 0.01):
            other = {**found, model: found[model] + step}
            assert objective(asked, other, prior, precision) < best


def test_without_labels_the_prior_stands() -> None:
    assert fit([], PRIOR, 10, 4) == PRIOR
    assert fit(table((0.9, 0.5), 50, labels=False), PRIOR, 10, 4) == PRIOR
    assert fit([Answered(dict.fromkeys(MODELS), "x")], PRIOR, 10, 4) == PRIOR


def test_the_firmer_the_prior_the_nearer_the_weights_to_its_proportions() -> None:
    asked = table((0.5, 0.6, 0.7, 0.8), 200)
    prior = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}
    spread = [
        max(found.values()) - min(found.values())
        for found in (fit(asked, prior, precision, 4) for precision in (0.1, 10, 1000, 1e6))
    ]
    assert spread == sorted(spread, reverse=True)
    assert spread[0] > 0.5
    assert spread[-1] < 0.01


def test_a_model_and_its_copies_have_the_weight_of_one() -> None:
    alone = fit(table((0.6, 0.7, 0.8), 3000), dict.fromkeys("abc", 1.0), 0.1, 4)
    thrice = fit(table((0.6, 0.7, 0.8), 3000, copies=3), dict.fromkeys("abcde", 1.0), 0.1, 4)
    assert thrice["c"] + thrice["d"] + thrice["e"] == pytest.approx(alone["c"], abs=0.1)
    assert thrice["a"] == pytest.approx(alone["a"], abs=0.1)


@given(tables, st.permutations(MODELS))
def test_the_order_of_the_models_makes_no_difference(asked: list[Answered], order: list[str]) -> None:
    found = fit(asked, PRIOR, 10, 4)
    assert fit(asked, {m: PRIOR[m] for m in order}, 10, 4) == pytest.approx(found, abs=1e-5)


def test_far_from_the_maximum_the_steps_still_arrive() -> None:
    asked = [Answered({"a": "x", "b": "y"}, "y", 4)] * 5000
    found = fit(asked, {"a": 60.0, "b": 0.0}, 0.01, 4)
    assert found["b"] > found["a"] + 5
