"""Early stopping: when the remaining models need not be called."""

from __future__ import annotations

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.reliability.accuracy import AnsweredQuestion
from pnyx.reliability.stopping import is_settled
from pnyx.reliability.weights import Weights, choose, learn, posterior
from tests.reliability.tables import MODELS, answers, table

votes = st.fixed_dictionaries(dict.fromkeys(MODELS, st.floats(0, 9)))


def question(**answers: str | None) -> AnsweredQuestion:
    return AnsweredQuestion(answers)


def test_at_least_two_models_are_called() -> None:
    sure = Weights("", 0, {"a": 50.0, "b": 0.1, "c": 0.1})
    assert not is_settled(sure, question(), ("a", "b", "c"))
    assert not is_settled(sure, question(a="x"), ("b", "c"))
    assert is_settled(sure, question(a="x", b="y"), ("c",))


def test_the_last_answer_settles_the_vote() -> None:
    assert is_settled(Weights("", 0, {"a": 0.0}), question(), ())
    assert is_settled(Weights("", 0, {"a": 0.0, "b": 0.0}), question(a="x", b="y"), ())


def test_an_abstention_does_not_count_as_one_of_the_two() -> None:
    weights = Weights("", 0, {"a": 3.0, "b": 3.0, "c": 0.1})
    assert not is_settled(weights, question(a="x", b=None), ("c",))
    assert is_settled(weights, question(a="x", b="x"), ("c",))


def test_votes_without_weight_wait_for_one_with_weight() -> None:
    weights = Weights("", 0, {"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.5})
    assert not is_settled(weights, question(a="x", b="x", c="x"), ("d",))
    assert is_settled(weights, question(a="x", b="x", d="x"), ("c",))


@pytest.mark.parametrize(("weight", "stops"), [(log(8), True), (log(7), False)])
def test_a_posterior_of_95_percent_settles_the_vote(weight: float, stops: bool) -> None:
    """Two that agree, and three other options: e^2w / (e^2w + 3) is 0.955 and 0.942."""
    weights = Weights("", 0, dict.fromkeys("abcdef", weight))
    assert (posterior(weights, question(a="x", b="x"))["x"] >= 0.95) is stops
    assert is_settled(weights, question(a="x", b="x"), ("c", "d", "e", "f")) is stops


@given(votes, st.fixed_dictionaries(dict.fromkeys(MODELS, answers)), st.integers(2, 3))
def test_a_vote_settled_without_the_posterior_cannot_change(
    weights: dict[str, float], all_answers: dict[str, str | None], count: int
) -> None:
    vote_weights = Weights("", 0, weights)
    partial = AnsweredQuestion({model: all_answers[model] for model in MODELS[:count]})
    if (
        is_settled(vote_weights, partial, MODELS[count:])
        and max(posterior(vote_weights, partial).values(), default=0) < 0.95
    ):
        assert choose(vote_weights, AnsweredQuestion(all_answers)) == choose(vote_weights, partial)


def test_early_stopping_saves_calls_and_loses_hardly_any_accuracy() -> None:
    skill = (0.85, 0.8, 0.75, 0.7, 0.65)
    weights = learn(table(skill, 1000), "abcde")
    calls = lost = 0
    held_out = table(skill, 1000, seed=1)
    for question in held_out:
        all_answers: dict[str, str | None] = {}
        waiting = sorted(weights.models, key=lambda m: -weights.models[m])
        while not is_settled(weights, AnsweredQuestion(all_answers), waiting):
            model = waiting.pop(0)
            all_answers[model] = question.answers[model]
        calls += len(all_answers)
        full, early = choose(weights, question), choose(weights, AnsweredQuestion(all_answers))
        lost += (full == question.gold) - (early == question.gold)
    assert calls <= 3.5 * len(held_out)
    assert lost <= 0.01 * len(held_out)
