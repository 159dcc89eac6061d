"""Confidence intervals and paired tests."""

from __future__ import annotations

import random
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.evaluate.analysis.statistics import (
    Interval,
    holm,
    mcnemar,
    minimum_detectable,
    paired_bootstrap,
    paired_difference,
    percentile,
    wilson,
)
from tests.support.rows import rows

differences = st.lists(st.sampled_from((-1.0, -0.5, 0.0, 1.0)), min_size=1, max_size=40)


@given(differences)
def test_the_interval_contains_the_mean_and_stays_within_the_observed_values(observed: list[float]) -> None:
    found = paired_bootstrap(observed, resamples=200)
    assert min(observed) <= found.low <= found.high <= max(observed)
    assert found.mean == pytest.approx(sum(observed) / len(observed))
    assert found == paired_bootstrap(list(reversed(observed)), resamples=200)


def test_the_interval_is_as_wide_as_theory_says() -> None:
    observed = [1.0] * 300 + [-1.0] * 200 + [0.0] * 500
    error = ((0.5 - 0.1**2) / 1000) ** 0.5
    found = paired_bootstrap(observed, resamples=4000)
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.1)
    assert found.clear


def test_nineteen_of_twenty_intervals_contain_the_true_difference() -> None:
    rng = random.Random(5)
    containing = 0
    for seed in range(100):
        observed = [float(rng.random() < 0.4) - float(rng.random() < 0.4) for _ in range(100)]
        containing += not paired_bootstrap(observed, resamples=300, seed=seed).clear
    assert 0.9 <= containing / 100 <= 0.99


def test_an_interval_is_clear_if_zero_is_outside() -> None:
    assert not Interval(0.1, 0.0, 0.2).clear
    assert Interval(-0.1, -0.2, -0.05).clear


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_sign_test_of_the_questions_that_differ(ours: int, theirs: int) -> None:
    n = ours + theirs
    apart = abs(ours - theirs)
    tail = sum(comb(n, k) for k in range(n + 1) if abs(2 * k - n) >= apart) / 2**n
    assert mcnemar(ours, theirs) == pytest.approx(min(1.0, tail))
    assert mcnemar(theirs, ours) == mcnemar(ours, theirs)


def test_mcnemar_of_many_questions_and_of_none() -> None:
    assert mcnemar(0, 0) == 1
    assert mcnemar(5200, 4800) < 0.001


def test_the_minimum_detectable_difference_is_detected_four_times_in_five() -> None:
    """Four in five trials with that difference have p < 0.05."""
    n, split = 1000, 0.3
    least = minimum_detectable(n, split)
    rng = random.Random(2)
    shown = 0
    for _ in range(300):
        differ = sum(rng.random() < split for _ in range(n))
        ours = sum(rng.random() < (1 + least / split) / 2 for _ in range(differ))
        shown += mcnemar(ours, differ - ours) < 0.05
    assert 0.7 <= shown / 300 <= 0.9
    assert minimum_detectable(4 * n, split) == pytest.approx(least / 2)


def test_the_minimum_detectable_difference_is_at_most_one() -> None:
    assert minimum_detectable(3, 1.0) == 1.0


def test_trials_of_a_question_are_drawn_together() -> None:
    once = [1.0] * 30 + [-1.0] * 20 + [0.0] * 50
    thrice = paired_bootstrap([3 * one for one in once], [3] * 100)
    assert thrice == paired_bootstrap(once)
    uneven = paired_bootstrap([3.0, 0.0], [3, 1])
    assert (uneven.mean, uneven.low, uneven.high) == (0.75, 0.0, 1.0)


def test_a_comparison_of_no_questions_raises() -> None:
    with pytest.raises(ValueError, match="at least one question"):
        paired_bootstrap([])
    with pytest.raises(ValueError, match="at least one question"):
        minimum_detectable(0, 0.5)


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_matches_the_published_intervals(hits: int, n: int, low: float, high: float) -> None:
    """Newcombe 1998, table I, method 3."""
    found = wilson(hits, n)
    assert found.mean == hits / n
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_wilson_interval_contains_its_share_and_stays_within_0_and_1(of: tuple[int, int]) -> None:
    hits, n = of
    found, mirrored = wilson(hits, n), wilson(n - hits, n)
    assert 0 <= found.low <= found.mean <= found.high <= 1
    assert found.low == pytest.approx(1 - mirrored.high)


def test_holm_matches_the_published_adjustment() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_makes_a_p_value_smaller_and_keeps_their_order(ps: list[float]) -> None:
    adjusted = holm(ps)
    assert all(p <= a <= 1 for p, a in zip(ps, adjusted, strict=True))
    assert [a for _, a in sorted(zip(ps, adjusted, strict=True))] == sorted(adjusted)


def test_a_percentile_is_an_observed_value() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2
    assert percentile([float(n) for n in range(1, 101)], 0.95) == 95
    assert percentile([7.0], 0.95) == 7
    with pytest.raises(ValueError, match="at least one value"):
        percentile([], 0.5)


@rows(
    "n, ours, theirs",
    [
        (30, 0.02, 0.01),
        (50, 0.05, 0.02),
        (50, 0.01, 0.0),
        (50, 0.003, 0.001),
        (150, 0.1, 0.05),
        (150, 0.5, 0.4),
    ],
)
def test_the_interval_of_a_paired_difference_holds_however_few_questions_differ(
    n: int, ours: float, theirs: float
) -> None:
    """A bootstrap holds in 10 to 90 % of the first four cases."""
    chance, held = random.Random(n), 0
    for _ in range(100):
        drawn = chance.choices("+-=", (ours, theirs, 1 - ours - theirs), k=n)
        found = paired_difference(drawn.count("+"), drawn.count("-"), n)
        assert found.low <= found.mean <= found.high
        held += found.low <= ours - theirs <= found.high
    assert held >= 90


def test_no_differing_question_is_no_proof_of_equality() -> None:
    found = paired_difference(0, 0, 50)
    assert (found.mean, found.clear) == (0, False)
    assert found.high == pytest.approx(-found.low)
    assert 0.03 < found.high < 0.08
    assert paired_difference(40, 2, 50).clear
    with pytest.raises(ValueError, match="at least one"):
        paired_difference(0, 0, 0)
