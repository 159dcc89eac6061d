"""Differences of votes that labels do not settle break no ties."""

from __future__ import annotations

import random
from math import sqrt
from statistics import NormalDist, fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.reliability.accuracy import AnsweredQuestion
from pnyx.reliability.ties import MOST_CERTAIN, MOST_LOST, certainty, settled
from pnyx.reliability.weights import Weights, choose, equal, learn

MEANS = st.lists(st.floats(-2, 4), min_size=2, max_size=6)
LABELS = st.integers(0, 3000)
SOME = st.integers(1, 3000)
"""Nothing is compared with a model that has no labelled answers."""


def diagonal(size: int, variance: float) -> list[list[float]]:
    return [[variance * (i == j) for j in range(size)] for i in range(size)]


@given(MEANS, LABELS)
def test_what_is_known_exactly_counts_in_full(mean: list[float], n: int) -> None:
    found = settled(mean, diagonal(len(mean), 1e-18), [n] * len(mean))
    assert found == pytest.approx(mean, abs=1e-6)


@given(MEANS, LABELS)
def test_of_what_is_not_known_nothing_counts(mean: list[float], n: int) -> None:
    found = settled(mean, diagonal(len(mean), 1e12), [min(n, 1000)] * len(mean))
    assert found == pytest.approx([fmean(mean)] * len(mean), abs=1e-3)


@given(MEANS, st.floats(0.01, 2), SOME)
def test_a_model_passes_the_one_listed_before_it_only_by_a_certain_lead(
    mean: list[float], variance: float, n: int
) -> None:
    one, two = settled(mean[:2], diagonal(2, variance), [n, n])
    if two > one + 1e-9:
        assert mean[1] - mean[0] >= certainty(n) * sqrt(2 * variance) - 1e-9


@given(MEANS, st.floats(0.01, 2), LABELS)
def test_no_weight_leaves_the_range_of_what_was_learned(mean: list[float], variance: float, n: int) -> None:
    found = settled(mean, diagonal(len(mean), variance), [n] * len(mean))
    assert min(mean) - 1e-9 <= min(found) <= max(found) <= max(mean) + 1e-9


@given(MEANS, st.floats(0.01, 2), LABELS)
def test_of_two_models_with_as_many_labels_the_mean_stays(mean: list[float], variance: float, n: int) -> None:
    """Weights compare with each other only; the sum of all says how certain the votes are."""
    assert fmean(settled(mean[:2], diagonal(2, variance), [n, n])) == pytest.approx(fmean(mean[:2]))


@given(LABELS)
def test_wrong_differences_cost_no_more_than_is_allowed(n: int) -> None:
    z, above = certainty(n), NormalDist().cdf
    error = sqrt(0.5 / max(n, 1))
    worst = max(x * error * above(-(z + x)) for x in (0.2, 0.5, 0.75, 1.0, 1.5))
    assert worst <= MOST_LOST + 1e-6 or z == MOST_CERTAIN
    assert certainty(n + 1) <= z


PANELS = {
    "one ahead": (0.66, 0.52, 0.5),
    "four": (0.64, 0.54, 0.52, 0.5),
}
"""Accuracies, strongest first. The models share half of their luck, and two of three wrong answers."""


def answers(panel: tuple[float, ...], n: int, seed: int) -> list[AnsweredQuestion]:
    chance, out = random.Random(seed), []
    limits = [NormalDist().inv_cdf(p) for p in panel]
    for _ in range(n):
        shared, popular = chance.gauss(0, 1), chance.choice("123")
        given_ = {}
        for i, limit in enumerate(limits):
            right = (shared + chance.gauss(0, 1)) / sqrt(2) < limit
            given_["abcd"[i]] = "0" if right else popular if chance.random() < 0.67 else chance.choice("123")
        out.append(AnsweredQuestion(given_, "0"))
    return out


@pytest.mark.parametrize("name", PANELS)
def test_a_few_labels_lose_nothing_against_the_majority_even_if_the_strongest_is_listed_first(
    name: str,
) -> None:
    """The promise of docs/evaluation.md. The mean over draws of 20 labels."""
    test = answers(PANELS[name], 2000, seed=1)
    models = tuple(test[0].answers)
    patterns: dict[tuple[str | None, ...], int] = {}
    for q in test:
        key = tuple(q.answers.values())
        patterns[key] = patterns.get(key, 0) + 1

    def right(weights: Weights) -> int:
        return sum(
            n
            for key, n in patterns.items()
            if choose(weights, AnsweredQuestion(dict(zip(models, key, strict=True)))) == "0"
        )

    majority = right(equal(models))
    drawn = (answers(PANELS[name], 20, seed=k) for k in range(1000, 1080))
    lead = fmean(right(learn(labels, models)) - majority for labels in drawn) / len(test)
    assert lead >= -MOST_LOST
