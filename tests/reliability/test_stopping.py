"""When models that wait need not be asked."""

from __future__ import annotations

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.reliability.accuracy import Answered
from pnyx.reliability.stopping import settled
from pnyx.reliability.weights import Weights, choose, learn, posterior
from tests.reliability.tables import MODELS, answers, table

votes = st.fixed_dictionaries(dict.fromkeys(MODELS, st.floats(0, 9)))


def asked(**said: str | None) -> Answered:
    return Answered(said)


def test_two_are_asked_whatever_the_first_one_is_worth() -> None:
    sure = Weights("", 0, {"a": 50.0, "b": 0.1, "c": 0.1})
    assert not settled(sure, asked(), ("a", "b", "c"))
    assert not settled(sure, asked(a="x"), ("b", "c"))
    assert settled(sure, asked(a="x", b="y"), ("c",))


def test_the_last_answer_settles_it() -> None:
    assert settled(Weights("", 0, {"a": 0.0}), asked(), ())
    assert settled(Weights("", 0, {"a": 0.0, "b": 0.0}), asked(a="x", b="y"), ())


def test_an_abstention_is_not_one_of_the_two() -> None:
    weights = Weights("", 0, {"a": 3.0, "b": 3.0, "c": 0.1})
    assert not settled(weights, asked(a="x", b=None), ("c",))
    assert settled(weights, asked(a="x", b="x"), ("c",))


def test_votes_without_weight_wait_for_one_that_has_some() -> None:
    weights = Weights("", 0, {"a": 0.0, "b": 0.0, "c": 0.0, "d": 0.5})
    assert not settled(weights, asked(a="x", b="x", c="x"), ("d",))
    assert settled(weights, asked(a="x", b="x", d="x"), ("c",))


@pytest.mark.parametrize(("weight", "stops"), [(log(8), True), (log(7), False)])
def test_a_posterior_of_nineteen_in_twenty_settles_it(weight: float, stops: bool) -> None:
    """Two that agree, and three other options: e^2w / (e^2w + 3) is 0.955 and 0.942."""
    weights = Weights("", 0, dict.fromkeys("abcdef", weight))
    assert (posterior(weights, asked(a="x", b="x"))["x"] >= 0.95) is stops
    assert settled(weights, asked(a="x", b="x"), ("c", "d", "e", "f")) is stops


@given(votes, st.fixed_dictionaries(dict.fromkeys(MODELS, answers)), st.integers(2, 3))
def test_where_it_is_settled_without_the_posterior_no_answer_could_change_it(
    weights: dict[str, float], said: dict[str, str | None], heard: int
) -> None:
    made = Weights("", 0, weights)
    so_far = Answered({model: said[model] for model in MODELS[:heard]})
    if settled(made, so_far, MODELS[heard:]) and max(posterior(made, so_far).values(), default=0) < 0.95:
        assert choose(made, Answered(said)) == choose(made, so_far)


def test_asking_one_by_one_costs_fewer_calls_and_hardly_an_answer() -> None:
    skill = (0.85, 0.8, 0.75, 0.7, 0.65)
    weights = learn(table(skill, 1000), "abcde")
    calls = lost = 0
    held_out = table(skill, 1000, seed=1)
    for question in held_out:
        said: dict[str, str | None] = {}
        waiting = sorted(weights.models, key=lambda m: -weights.models[m])
        while not settled(weights, Answered(said), waiting):
            model = waiting.pop(0)
            said[model] = question.answers[model]
        calls += len(said)
        full, early = choose(weights, question), choose(weights, Answered(said))
        lost += (full == question.gold) - (early == question.gold)
    assert calls <= 3.5 * len(held_out)
    assert lost <= 0.01 * len(held_out)
