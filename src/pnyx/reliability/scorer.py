"""Vote weights learned from labelled questions: which answer is right, told from who gave it.

A conditional logit (McFadden 1974): the probability that an answer is right is proportional to the
exponential of the weights of those who gave it. Unlike log-odds it sees that models err together, so a pair
of one family does not count twice, and a model far ahead of the others decides alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import exp, log
from typing import TypeAlias

from .accuracy import Answered, Camps, camps_of

__all__ = ["fit"]

STEPS = 50
SMALL = 1e-6
ALONG = 0.03
"""All weights times one number choose the same answers and are surer or less sure of it: models that err
together make that number well below one, and holding on to the prior's size would bend its proportions."""

Case: TypeAlias = tuple[Camps, bool, int]
"""Camps, the right one first where there is one; whether there is; how often it happened."""


def fit(
    questions: Iterable[Answered], prior: Mapping[str, float], precision: float, options: float
) -> dict[str, float]:
    """The weights, by model, that explain `questions` best, drawn to `prior` with `precision` (1 / nat^2).

    The maximum of the log-likelihood less precision / 2 times the squared distance from `prior`, where what
    lies along `prior` counts `ALONG` only; without a labelled question that is `prior` itself. Beside the
    answers given there is room for `options` less as many, at least one, that nobody gave; each has weight 0.
    Takes Newton's steps: the function is concave.
    """
    models = list(prior)
    cases = _cases(questions, models)
    centre = [prior[model] for model in models]
    weights, value = centre, _value(cases, centre, centre, precision, options)
    for _ in range(STEPS):
        gradient, hessian = _slopes(cases, weights, centre, precision, options)
        step, size = _solve(hessian, gradient), 1.0
        # Far from the maximum a whole step may overshoot.
        while (new := _value(cases, at := _moved(weights, step, size), centre, precision, options)) < value:
            size /= 2
            if size < SMALL:
                return dict(zip(models, weights, strict=True))
        weights, value = at, new
        if max(map(abs, step), default=0.0) * size < SMALL:
            break
    return dict(zip(models, weights, strict=True))


def _cases(questions: Iterable[Answered], models: Sequence[str]) -> list[Case]:
    """The labelled questions; with few models few patterns repeat often."""
    patterns: Counter[tuple[Camps, bool]] = Counter()
    for q in questions:
        if q.gold is not None and (camps := camps_of(q.answers, models)):
            right = camps.pop(q.gold, None)
            others = tuple(sorted(camps.values()))
            patterns[others if right is None else (right, *others), right is not None] += 1
    return [(camps, known, n) for (camps, known), n in patterns.items()]


def _shares(camps: Camps, weights: Sequence[float], options: float) -> tuple[list[float], float]:
    """The probability of each camp, and that of each of the answers that nobody gave."""
    scores = [sum([weights[place] for place in camp]) for camp in camps]
    top = max(0.0, *scores)
    odds, none = [exp(score - top) for score in scores], exp(-top)
    whole = sum(odds) + max(options - len(camps), 1.0) * none
    return [o / whole for o in odds], none / whole


def _value(
    cases: Sequence[Case], weights: Sequence[float], centre: Sequence[float], precision: float, options: float
) -> float:
    apart = [w - c for w, c in zip(weights, centre, strict=True)]
    total = -sum(a * p for a, p in zip(apart, _pull(apart, centre, precision), strict=True)) / 2
    for camps, known, n in cases:
        shares, none = _shares(camps, weights, options)
        # Below what a float can hold, the logarithm of the smallest one will do to refuse the step.
        total += n * log(max(shares[0] if known else none, 1e-300))
    return total


def _slopes(
    cases: Sequence[Case], weights: Sequence[float], centre: Sequence[float], precision: float, options: float
) -> tuple[list[float], list[list[float]]]:
    """The gradient, and the negative of the Hessian, in the weights."""
    size = len(weights)
    gradient = _pull([c - w for w, c in zip(weights, centre, strict=True)], centre, precision)
    hessian = [_pull([float(i == j) for j in range(size)], centre, precision) for i in range(size)]
    for camps, known, n in cases:
        shares, _ = _shares(camps, weights, options)
        cast: list[tuple[int, float]] = []
        for k, (camp, share) in enumerate(zip(camps, shares, strict=True)):
            pull = n * ((known and k == 0) - share)
            for i in camp:
                gradient[i] += pull
                row = hessian[i]
                for j in camp:
                    row[j] += n * share
                cast.append((i, share))
        for i, a in cast:
            row, na = hessian[i], n * a
            for j, b in cast:
                row[j] -= na * b
    return gradient, hessian


def _pull(apart: Sequence[float], centre: Sequence[float], precision: float) -> list[float]:
    """`precision` times `apart`, where the part of it along `centre` counts `ALONG` only."""
    square = sum(c * c for c in centre)
    along = sum(a * c for a, c in zip(apart, centre, strict=True)) / square if square else 0.0
    return [precision * (a - (1 - ALONG) * along * c) for a, c in zip(apart, centre, strict=True)]


def _moved(weights: Sequence[float], step: Sequence[float], size: float) -> list[float]:
    return [w + size * s for w, s in zip(weights, step, strict=True)]


def _solve(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """The solution of a symmetric, positive definite system, by Cholesky's factors."""
    size = len(right)
    lower = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1):
            left = matrix[i][j] - sum(map(float.__mul__, lower[i][:j], lower[j][:j]))
            lower[i][j] = left**0.5 if i == j else left / lower[j][j]
    half: list[float] = []
    for i in range(size):
        half.append((right[i] - sum(map(float.__mul__, lower[i], half))) / lower[i][i])
    out = [0.0] * size
    for i in reversed(range(size)):
        out[i] = (half[i] - sum(lower[k][i] * out[k] for k in range(i + 1, size))) / lower[i][i]
    return out
