"""Whether labels show that one way to vote is right more often than another.

Only questions that exactly one of the two got right say so (McNemar 1947). A lead that is followed from z
standard errors on costs at most s · max over x of x · P(N > z + x) if it has the wrong sign: N is a standard
normal variable, x the true difference over its standard error s. `least_errors` is the least z by which that
is at most what may be lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import sqrt
from statistics import NormalDist
from typing import TypeAlias

from .accuracy import Groups

__all__ = ["MOST_LOST", "is_lead", "lead", "least_errors"]

MOST_LOST = 0.0015
"""The most accuracy that a wrong lead may cost, as a share of all questions. Wrongly broken ties may cost
twice that (`ties.MOST_LOST`), and where both happen their sum counts."""
UNSEEN = 4
"""Differing questions that are assumed besides those seen, half of them for each side. Of three that all say
the same, the standard error would be too small."""
MOST = 2.5
"""The most standard errors that are asked for."""
DISTANCES = tuple(k / 20 for k in range(1, 61))

Case: TypeAlias = tuple[Groups, bool, int]
"""(groups, the right one first if there is one; whether there is one; how often the pattern occurred)"""


def least_errors(error: float, most_lost: float, most: float = MOST) -> float:
    """Return the least z in [0, most] by which wrong leads cost at most `most_lost`, or `most`.

    error: the standard error of the difference of accuracies. most_lost: accuracy, as a share of questions.
    """
    if error * _regret(most) > most_lost:
        return most
    low, high = 0.0, most
    if error * _regret(low) <= most_lost:
        return low
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if error * _regret(middle) > most_lost else (low, middle)
    return high


def is_lead(wins: int, losses: int, questions: int) -> bool:
    """Whether one way to vote may replace another, at a risk of about `MOST_LOST`.

    wins, losses: the labelled questions that only the one, or only the other, got right. questions: all
    labelled ones.
    """
    if not questions:
        return False
    error = sqrt(wins + losses + UNSEEN)
    return wins - losses > least_errors(error / questions, MOST_LOST) * error


def lead(cases: Sequence[Case], one: Sequence[float], two: Sequence[float]) -> tuple[int, int, int]:
    """Return `wins`, `losses` and `questions` of `is_lead` for two weightings of the same models.

    Ties go to the model that is listed first.
    """
    wins = losses = questions = 0
    for groups, known, n in cases:
        questions += n
        if known and len(groups) > 1:
            first, second = _is_right(groups, one), _is_right(groups, two)
            wins += n * (first and not second)
            losses += n * (second and not first)
    return wins, losses, questions


def _is_right(groups: Groups, votes: Sequence[float]) -> bool:
    """Whether the first group, which is the right one, has most votes; the first model breaks ties."""
    sums = [sum(votes[i] for i in group) for group in groups]
    top = max(sums)
    if top <= 0:
        sums = [float(len(group)) for group in groups]
        top = max(sums)
    leaders = [group for group, total in zip(groups, sums, strict=True) if total > top - 1e-9]
    return min(leaders, key=min) is groups[0]


@cache
def _regret(errors: float) -> float:
    """Return the expected loss of the worst difference, in standard errors."""
    above = NormalDist().cdf
    return max(x * above(-(errors + x)) for x in DISTANCES)
