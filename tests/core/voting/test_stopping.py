"""When sampling may stop: 1 - I_0.5(v1 + 1, v2 + 1) >= 0.95."""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.voting.stopping import (
    STOP_POSTERIOR,
    is_settled,
    lead_probability,
    pending_weights,
    votes_to_stop,
)
from tests.support.rows import rows

votes = st.integers(0, 40)


def beta_above_half(a: int, b: int) -> Fraction:
    """The mass of Beta(a, b) above one half, from the integral of its density, expanded term by term."""
    total = Fraction(0)
    for k in range(b):
        power = a - 1 + k
        area = (1 - Fraction(1, 2) ** (power + 1)) / (power + 1)
        total += (-1) ** k * comb(b - 1, k) * area
    return total * Fraction(factorial(a + b - 1), factorial(a - 1) * factorial(b - 1))


@given(votes, votes)
def test_it_is_the_mass_of_the_beta_posterior_above_one_half(first: int, second: int) -> None:
    assert lead_probability(first, second) == pytest.approx(float(beta_above_half(first + 1, second + 1)))


@given(votes, votes)
def test_the_two_answers_share_the_whole(first: int, second: int) -> None:
    assert lead_probability(first, second) + lead_probability(second, first) == pytest.approx(1)


@rows(
    "first, second, more",
    [
        (0, 0, 4),
        (3, 0, 1),
        (4, 0, 0),
        (4, 1, 2),
        (5, 1, 1),
        (6, 1, 0),
        (2, 2, 6),
        (7, 2, 1),
        (8, 2, 0),
        (1, 0, 3),
    ],
)
def test_four_to_nil_stops_and_three_to_nil_does_not(first: int, second: int, more: int) -> None:
    assert votes_to_stop(first, second) == more


@given(votes, votes)
def test_no_fewer_votes_would_stop_it(first: int, second: int) -> None:
    more = votes_to_stop(first, second)
    assert lead_probability(first + more, second) >= STOP_POSTERIOR
    assert more == 0 or lead_probability(first + more - 1, second) < STOP_POSTERIOR


@pytest.mark.parametrize(
    ("votes", "answered", "pending", "settled"),
    [
        (2.0, 2, [1.0], True),
        (2.0, 2, [1.0, 1.0], False),  # a tie could still overturn it
        (2.0, 1, [1.0], False),  # one model has no contradiction
        (1.0, 1, [], True),
    ],
)
def test_a_vote_is_settled_once_two_agree_and_the_rest_cannot_reach_them(
    votes: float, answered: int, pending: list[float], settled: bool
) -> None:
    assert is_settled({"4": votes}, answered, pending, sure=2.0) is settled


def test_a_pending_vote_that_would_decide_alone_is_waited_for_however_many_agree() -> None:
    assert is_settled({"4": 9.0}, 9, pending_weights([1.0] * 9, [2.0]))
    assert not is_settled({"4": 9.0}, 9, pending_weights([0.0] * 9, [2.0]))


def test_the_seats_of_one_model_are_no_further_evidence() -> None:
    votes, pending = {"4": 6.0}, [9.0]
    assert is_settled(votes, 3, pending)
    assert not is_settled(votes, 3, pending, by_model={"4": 2.0})
