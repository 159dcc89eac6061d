"""Confidence intervals and paired tests for comparisons on the same questions."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, sqrt
from statistics import NormalDist

from ...reliability.curves import score_interval

__all__ = [
    "Interval",
    "holm",
    "mcnemar",
    "minimum_detectable",
    "paired_bootstrap",
    "paired_difference",
    "percentile",
    "wilson",
]

LEVEL = 0.95
"""The level of intervals."""
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
"""Standard errors on each side of an interval."""
POWER = 0.8


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its confidence interval."""

    mean: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether zero is outside the interval."""
        return self.low > 0 or self.high < 0


def paired_bootstrap(
    differences: Sequence[float],
    trials: Sequence[int] | None = None,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """The percentile interval of the mean of per-question differences (Efron & Tibshirani 1993).

    trials: the number of trials of each question, if there were several; a difference is then the sum over
    its trials, and the mean is over all trials. Raises `ValueError` if there are no differences.
    """
    n = len(differences)
    if not n:
        raise ValueError("a comparison needs at least one question")
    # Differences take few values (three, for right minus right), so draw values by their frequency.
    counts = Counter(zip(differences, trials or [1] * n, strict=True))
    values = sorted(counts)
    edges = list(accumulate(counts[value] for value in values))
    draw = random.Random(seed).choices
    means = sorted(_mean(draw(values, cum_weights=edges, k=n)) for _ in range(resamples))
    tail = (1 - LEVEL) / 2
    low, high = means[int(tail * resamples)], means[min(int((1 - tail) * resamples), resamples - 1)]
    return Interval(_mean(list(counts.elements())), low, high)


def _mean(drawn: Sequence[tuple[float, int]]) -> float:
    return sum(difference for difference, _ in drawn) / sum(trials for _, trials in drawn)


def paired_difference(ours: int, theirs: int, n: int) -> Interval:
    """The difference of two accuracies on the same `n` questions, with its interval (Bonett & Price 2012).

    ours: questions that only the one has right. theirs: that only the other has right. With few of them a
    bootstrap cannot know what it has not drawn: where none differs its interval is a point. Raises
    `ValueError` if `n` is below 1.
    """
    if n < 1:
        raise ValueError("a comparison needs at least one question")
    one, two = (ours + 1) / (n + 2), (theirs + 1) / (n + 2)
    half = Z * sqrt((one + two - (one - two) ** 2) / (n + 2))
    mean, middle = (ours - theirs) / n, one - two
    return Interval(mean, max(-1.0, min(mean, middle - half)), min(1.0, max(mean, middle + half)))


def mcnemar(ours: int, theirs: int) -> float:
    """The two-sided exact p-value of McNemar's test (1947), in (0, 1].

    ours: questions that only this arm has right. theirs: questions that only the other has right.
    """
    n, few = ours + theirs, min(ours, theirs)
    ways = list(accumulate(range(few), lambda way, k: way * (n - k) // (k + 1), initial=1))
    return min(1.0, 2 * sum(ways) / (1 << n))


def minimum_detectable(n: int, split: float) -> float:
    """The smallest difference of two accuracies that `n` paired questions detect with probability `POWER`.

    split: the share of questions that exactly one of the two has right, in (0, 1]. Uses the normal
    approximation of McNemar's test (Connor 1987, first order), capped at 1, which it exceeds for very few
    questions. Raises `ValueError` if there are no questions.
    """
    if n < 1:
        raise ValueError("a comparison needs at least one question")
    return min(1.0, (Z + NormalDist().inv_cdf(POWER)) * sqrt(split / n))


def holm(ps: Sequence[float]) -> list[float]:
    """The p-values adjusted for multiple tests (Holm 1979), in the order of `ps`.

    Rejecting those of at most 0.05 rejects any true hypothesis with probability 0.05 at most.
    """
    adjusted, least = dict[int, float](), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        least = max(least, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = least
    return [adjusted[place] for place in range(len(ps))]


def wilson(hits: int, n: int) -> Interval:
    """The share of `hits` in `n` with its score interval (Wilson 1927), always within [0, 1].

    Raises `ValueError` if `n` is below 1.
    """
    if n < 1:
        raise ValueError("a share needs at least one trial")
    share, (low, high) = hits / n, score_interval(hits, n, Z)
    # Rounding must not move the ends beyond the share itself, or beyond 0 and 1.
    return Interval(share, min(share, max(0.0, low)), max(share, min(1.0, high)))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest of `values` that at least a `share` in (0, 1] of them do not exceed.

    Raises `ValueError` if there are no values.
    """
    if not values:
        raise ValueError("a percentile needs at least one value")
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]
