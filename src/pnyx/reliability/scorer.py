"""Fits vote weights to labelled questions: which answer is right, given the models that gave it.

A conditional logit (McFadden 1974): the probability that an answer is right is proportional to the
exponential of the sum of its models' weights. Unlike log-odds, it accounts for models that err together: two
models of one family do not count twice, and a model far ahead of the others decides alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import exp, log
from typing import TypeAlias

from .accuracy import AnsweredQuestion, Groups, answer_groups

__all__ = ["fit"]

STEPS = 50
SMALL = 1e-6
ALONG = 0.03
"""Factor of the precision along the prior.

A common factor of all weights changes no choice, only the certainty. Models that err together need a factor
well below one, and a full penalty for that would distort the proportions of the weights.
"""

Case: TypeAlias = tuple[Groups, bool, int]
"""(groups, the right one first if there is one; whether there is one; how often the pattern occurred)"""


def fit(
    questions: Iterable[AnsweredQuestion], prior: Mapping[str, float], precision: float, options: float
) -> dict[str, float]:
    """Return model -> weight: the maximum a posteriori for `questions`, with `precision` in 1 / nat².

    Maximises the log-likelihood minus precision / 2 times the squared distance from `prior`, in which the
    component along `prior` counts only `ALONG`. Without a labelled question the result is `prior`. Besides
    the actual answers, there are `options` minus their number, at least one, that no model gave; each has
    weight 0. The function is concave and maximised by Newton's method.
    """
    models = list(prior)
    cases = _cases(questions, models)
    centre = [prior[model] for model in models]
    weights, value = centre, _value(cases, centre, centre, precision, options)
    for _ in range(STEPS):
        gradient, hessian = _slopes(cases, weights, centre, precision, options)
        step, size = _solve(hessian, gradient), 1.0
        # Far from the maximum, a full step may overshoot.
        while (new := _value(cases, at := _add(weights, step, size), centre, precision, options)) < value:
            size /= 2
            if size < SMALL:
                return dict(zip(models, weights, strict=True))
        weights, value = at, new
        if max(map(abs, step), default=0.0) * size < SMALL:
            break
    return dict(zip(models, weights, strict=True))


def _cases(questions: Iterable[AnsweredQuestion], models: Sequence[str]) -> list[Case]:
    """Return the labelled questions as patterns with counts; with few models, few patterns repeat often."""
    patterns: Counter[tuple[Groups, bool]] = Counter()
    for q in questions:
        if q.gold is not None and (groups := answer_groups(q.answers, models)):
            right = groups.pop(q.gold, None)
            others = tuple(sorted(groups.values()))
            patterns[others if right is None else (right, *others), right is not None] += 1
    return [(groups, known, n) for (groups, known), n in patterns.items()]


def _shares(groups: Groups, weights: Sequence[float], options: float) -> tuple[list[float], float]:
    """Return the probability of each answer, and that of each answer that no model gave."""
    scores = [sum([weights[index] for index in group]) for group in groups]
    top = max(0.0, *scores)
    odds, none = [exp(score - top) for score in scores], exp(-top)
    whole = sum(odds) + max(options - len(groups), 1.0) * none
    return [o / whole for o in odds], none / whole


def _value(
    cases: Sequence[Case], weights: Sequence[float], centre: Sequence[float], precision: float, options: float
) -> float:
    apart = [w - c for w, c in zip(weights, centre, strict=True)]
    total = -sum(a * p for a, p in zip(apart, _pull(apart, centre, precision), strict=True)) / 2
    for groups, known, n in cases:
        shares, none = _shares(groups, weights, options)
        # If the share underflows, the logarithm of a tiny number is enough to reject the step.
        total += n * log(max(shares[0] if known else none, 1e-300))
    return total


def _slopes(
    cases: Sequence[Case], weights: Sequence[float], centre: Sequence[float], precision: float, options: float
) -> tuple[list[float], list[list[float]]]:
    """Return the gradient and the negative Hessian with respect to the weights."""
    size = len(weights)
    gradient = _pull([c - w for w, c in zip(weights, centre, strict=True)], centre, precision)
    hessian = [_pull([float(i == j) for j in range(size)], centre, precision) for i in range(size)]
    for groups, known, n in cases:
        shares, _ = _shares(groups, weights, options)
        cast: list[tuple[int, float]] = []
        for k, (group, share) in enumerate(zip(groups, shares, strict=True)):
            pull = n * ((known and k == 0) - share)
            for i in group:
                gradient[i] += pull
                row = hessian[i]
                for j in group:
                    row[j] += n * share
                cast.append((i, share))
        for i, a in cast:
            row, na = hessian[i], n * a
            for j, b in cast:
                row[j] -= na * b
    return gradient, hessian


def _pull(apart: Sequence[float], centre: Sequence[float], precision: float) -> list[float]:
    """Return `precision` times `apart`, in which the component along `centre` counts only `ALONG`."""
    square = sum(c * c for c in centre)
    along = sum(a * c for a, c in zip(apart, centre, strict=True)) / square if square else 0.0
    return [precision * (a - (1 - ALONG) * along * c) for a, c in zip(apart, centre, strict=True)]


def _add(weights: Sequence[float], step: Sequence[float], size: float) -> list[float]:
    return [w + size * s for w, s in zip(weights, step, strict=True)]


def _solve(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Solve a symmetric, positive definite system by Cholesky decomposition."""
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
