"""Whether a difference is one: paired comparisons on the same questions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import sqrt
from statistics import NormalDist

__all__ = ["Interval", "mcnemar", "minimum_detectable", "paired_bootstrap"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean difference and the range that holds it with the stated probability."""

    mean: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether zero lies outside."""
        return self.low > 0 or self.high < 0


def paired_bootstrap(
    differences: Sequence[float], *, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> Interval:
    """The percentile interval of the mean of per-question differences (Efron & Tibshirani 1993).

    Raises `ValueError` for no differences.
    """
    n = len(differences)
    if not n:
        raise ValueError("there is no question to compare on")
    # Few values come often, as of right less right there are three: draw values by how frequent they are.
    values = sorted(set(differences))
    counts = dict.fromkeys(values, 0)
    for difference in differences:
        counts[difference] += 1
    edges = list(accumulate(counts.values()))
    draw = random.Random(seed).choices
    means = sorted(sum(draw(values, cum_weights=edges, k=n)) / n for _ in range(resamples))
    tail = (1 - level) / 2
    low, high = means[int(tail * resamples)], means[min(int((1 - tail) * resamples), resamples - 1)]
    return Interval(sum(differences) / n, low, high)


def mcnemar(ours: int, theirs: int) -> float:
    """The two-sided exact p-value of McNemar's test (1947), in (0, 1].

    ours: questions that only we have right, theirs: that only they have.
    """
    n, few = ours + theirs, min(ours, theirs)
    ways = list(accumulate(range(few), lambda way, k: way * (n - k) // (k + 1), initial=1))
    return min(1.0, 2 * sum(ways) / (1 << n))


def minimum_detectable(n: int, split: float, *, level: float = 0.95, power: float = 0.8) -> float:
    """The smallest difference of two accuracies that `n` paired questions show with probability `power`.

    split: the share of questions that exactly one of the two has right, in (0, 1]. The normal approximation
    of McNemar's test (Connor 1987, to first order). Raises `ValueError` for no questions.
    """
    if n < 1:
        raise ValueError("there is no question to compare on")
    z = NormalDist().inv_cdf
    return (z((1 + level) / 2) + z(power)) * sqrt(split / n)
