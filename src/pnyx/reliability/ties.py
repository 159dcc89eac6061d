"""Which differences of votes the labels settle; the others break no tie, and leave the listed order as it is.

A few labels cost accuracy less by overruling majorities than by deciding ties at random. What a difference
with the wrong sign costs follows from the standard errors from which on it counts (`leads.least_errors`).
`certainty` is their least number by which that is at most `MOST_LOST`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import fsum, sqrt
from typing import TypeAlias

from .leads import least_errors

__all__ = ["MOST_LOST", "certainty", "settled"]

MOST_LOST = 0.003
"""The most accuracy that wrongly broken ties may cost, as a share of all questions."""
MOST_CERTAIN = 0.9
"""The most standard errors that are asked for: with few labels, shrinking protects as well."""
SOFT = 0.2
"""A difference from the mean counts in full from this many standard errors above `certainty` on, and as many
below it not at all."""

Matrix: TypeAlias = Sequence[Sequence[float]]


@cache
def certainty(labels: int) -> float:
    """Return how many standard errors settle a difference of models with `labels` labelled answers each."""
    return least_errors(sqrt(0.5 / max(labels, 1)), MOST_LOST, MOST_CERTAIN)


def settled(mean: Sequence[float], covariance: Matrix, labels: Sequence[int]) -> list[float]:
    """Return the weights without the differences that the labels do not settle.

    mean, covariance: of the weights of all models, in the listed order. labels: their numbers of labelled
    answers. A weight differs from the mean of all only as far as that is certain, and a model passes those
    listed before it only if its lead over them is: otherwise they count alike. Nothing is to be learned of a
    model without labelled answers, so it is compared with none.
    """
    centre, everybody = fsum(mean) / len(mean), range(len(mean))
    votes = []
    for i, weight in enumerate(mean):
        errors = abs(_errors([i], everybody, mean, covariance))
        votes.append(centre + (weight - centre) * _share(errors, certainty(labels[i])))
    groups: list[list[int]] = []
    for i in everybody:
        group, place = [i], len(groups)
        while place and _level(group, votes, labels) > _level(groups[place - 1], votes, labels):
            place -= 1
            before = groups[place]
            fewest = min(labels[j] for j in (*before, *group))
            if fewest and _errors(group, before, mean, covariance) < certainty(fewest):
                group = before + group
                del groups[place]
        groups.insert(place, group)
    levels = {i: _level(group, votes, labels) for group in groups for i in group}
    return [levels[i] for i in everybody]


def _share(errors: float, certain: float) -> float:
    """Return the part of a difference that counts: all of it if any difference is certain enough."""
    half = min(SOFT, certain)
    return min(1.0, max(0.0, (errors - certain + half) / (2 * half))) if half else 1.0


def _level(group: Sequence[int], votes: Sequence[float], labels: Sequence[int]) -> float:
    """Return the mean vote of a group. More is known of a model with more labelled answers."""
    return fsum(votes[i] * (labels[i] + 1) for i in group) / fsum(labels[i] + 1 for i in group)


def _errors(group: Sequence[int], others: Sequence[int], mean: Sequence[float], covariance: Matrix) -> float:
    """Return by how many standard errors the mean weight of `group` is above that of `others`."""
    contrast = [0.0] * len(mean)
    for i in group:
        contrast[i] += 1 / len(group)
    for i in others:
        contrast[i] -= 1 / len(others)
    apart = fsum(c * m for c, m in zip(contrast, mean, strict=True))
    used = [i for i, c in enumerate(contrast) if c]
    square = fsum(contrast[i] * contrast[j] * covariance[i][j] for i in used for j in used)
    return apart / sqrt(square) if square > 0 else apart * 1e9
