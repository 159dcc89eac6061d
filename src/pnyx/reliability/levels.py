"""Beta calibration with an effect of each level of support, and of time.

Three parameters do not fit the supports of every panel and protocol: answers of one support are right more
often, or less, than a smooth curve says. With hundreds of outcomes the curve itself is known well, and this
is most of what is unknown. So the log-odds of a right answer at a support s are

    a + b ln s - c ln(1 - s) + offset of the other kind + drift of older outcomes + effect of the level

with normal priors: a mixed logistic regression, by the normal approximation at the maximum (Breslow & Clayton
1993). The deviation of the effects is one of `DEVIATIONS`, weighed by the likelihood of the outcomes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, fsum, log

from .matrices import Matrix, Vector, cholesky, solve

__all__ = ["EDGE", "OFFSET", "Estimate", "LevelModel", "sigmoid"]

EDGE = 0.005
"""Supports nearer to 0 or 1 count as this near: beyond it they differ in certainty that no outcome shows."""
OFFSET = 0.5
"""The standard deviation of the offset of outcomes of another kind, in log-odds."""
DRIFT = 0.7
"""The standard deviation of the change of log-odds from the oldest outcome to the newest: weights of votes
are learned meanwhile, and questions change."""
MEANS = (0.0, 1.0, 1.0, 0.0, 0.0)
"""Of the priors of intercept, both slopes (the identity), offset, and drift."""
PRECISIONS = (1.0, 4.0, 4.0, OFFSET**-2, DRIFT**-2)
"""Of the same; of the first three where support is about the probability."""
DOUBTS = {1.0: 3.0, 3.0: 1.0}
"""Factors of the standard deviations of the first three, and how plausible each is: support may say little,
or nothing, or that the panel is nearly always right, or wrong."""
DEVIATIONS = {0.1: 3.0, 0.3: 3.0, 0.6: 2.0, 1.2: 1.0}
"""Standard deviations of the effects of levels, in log-odds, and how plausible each is without outcomes."""
LEVELS = 16
"""The most levels. More different supports share some, each with about as many outcomes."""
AGES = 4
"""Outcomes are put into this number of steps of age, and one more."""
NEAR = 0.03
"""A support this near to that of a level has its effect; others have one of their own, which is unknown."""
STEPS, SETTLED = 50, 1e-7
FIXED = len(MEANS)
PAIRED = tuple((i, j) for i in range(FIXED) for j in range(i + 1))

Pairs = Sequence[tuple[float, bool]]


@dataclass(frozen=True, slots=True)
class Cell:
    """Outcomes that the model does not tell apart.

    x: their features; products: of two features each, in the order of `PAIRED`. level: None for those of
    the prior.
    """

    x: Vector
    products: Vector
    level: int | None
    n: int
    hits: int

    @classmethod
    def of(cls, x: Vector, level: int | None, n: int, hits: int) -> Cell:
        return cls(x, [x[i] * x[j] for i, j in PAIRED], level, n, hits)


@dataclass(frozen=True, slots=True)
class _Prior:
    """precisions: of the coefficients. deviation: the standard deviation of effects."""

    precisions: Vector
    deviation: float

    @classmethod
    def of(cls, doubt: float, deviation: float) -> _Prior:
        return cls([p / doubt**2 if i < 3 else p for i, p in enumerate(PRECISIONS)], deviation)

    def log_determinant(self, effects: int) -> float:
        """Return the log of the determinant of the precision of all."""
        return fsum(map(log, self.precisions)) - 2 * effects * log(self.deviation)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Log-odds of a right answer, with their variance."""

    mean: float
    variance: float


@dataclass(frozen=True, slots=True)
class _Fit:
    """The maximum for one deviation, and the parts of the covariance.

    fixed: coefficients of the features. effects: by level. slopes: level -> sum of weight times features;
    weights: level -> its precision; inverse: covariance of `fixed`. plausible: log of its likelihood.
    """

    deviation: float
    fixed: Vector
    effects: Vector
    slopes: Matrix
    weights: Vector
    inverse: Matrix
    plausible: float

    def at(self, x: Vector, level: int | None) -> Estimate:
        """Return the log-odds at the features `x`, with the effect of `level`, or an unknown one."""
        mean = fsum(a * b for a, b in zip(x, self.fixed, strict=True))
        if level is None:
            return Estimate(mean, _form(x, self.inverse) + self.deviation**2)
        apart = [a - b / self.weights[level] for a, b in zip(x, self.slopes[level], strict=True)]
        return Estimate(mean + self.effects[level], _form(apart, self.inverse) + 1 / self.weights[level])


class LevelModel:
    """The model, fitted to outcomes, (support, right), oldest first.

    own, others: of the kind itself, and of the other kind. supports: the mean support of each level,
    ascending; counts: level -> outcomes; hits: level -> right ones of the kind itself; own: level -> its
    outcomes.
    """

    def __init__(self, own: Pairs, others: Pairs = ()) -> None:
        every = [raw for raw, _ in (*own, *others)]
        level_of = _levels(every)
        self.counts = [0] * (max(level_of.values()) + 1)
        self.own, self.hits = [*self.counts], [*self.counts]
        for raw, right in own:
            self.own[level_of[raw]] += 1
            self.hits[level_of[raw]] += right
        sums = [0.0] * len(self.counts)
        for raw in every:
            self.counts[level_of[raw]] += 1
            sums[level_of[raw]] += raw
        self.supports = [total / n for total, n in zip(sums, self.counts, strict=True)]
        if len(set(every)) == len(self.counts):
            self.supports = sorted(level_of)  # exact: a mean of equal numbers may differ from them
        tally: dict[tuple[int, float, float], tuple[int, int]] = {}
        for kind, pairs in ((0.0, own), (1.0, others)):
            for place, (raw, right) in enumerate(pairs, 1):
                age = round(AGES * (1 - place / len(pairs))) / AGES
                n, hits = tally.get((level_of[raw], kind, age), (0, 0))
                tally[level_of[raw], kind, age] = n + 1, hits + right
        cells = [
            Cell.of(_features(self.supports[level], kind, age), level, n, hits)
            for (level, kind, age), (n, hits) in tally.items()
        ]
        # One right and one wrong outcome of average support: a few right ones in a row do not show that
        # all are.
        mean = fsum(every) / len(every)
        cells.append(Cell.of(_features(mean, 0.0 if own else 1.0, 0.5), None, 2, 1))
        self._fits, start = list[_Fit](), ([*MEANS], [0.0] * len(self.counts))
        for doubt, deviation in product(DOUBTS, DEVIATIONS):
            plausible = log(DOUBTS[doubt] * DEVIATIONS[deviation])
            fit = _maximum(cells, _Prior.of(doubt, deviation), plausible, start)
            start = fit.fixed, fit.effects
            self._fits.append(fit)
        most = max(fit.plausible for fit in self._fits)
        shares = [exp(fit.plausible - most) for fit in self._fits]
        self._shares = [share / fsum(shares) for share in shares]

    def at(self, raw: float, age: float) -> Estimate:
        """Return the log-odds at a support; age: 0 for the newest outcomes, 1 for the oldest."""
        place = bisect_left(self.supports, raw)
        beside = range(max(place - 1, 0), min(place + 1, len(self.supports)))
        level = min(beside, key=lambda n: abs(self.supports[n] - raw))
        found = level if abs(self.supports[level] - raw) < NEAR else None
        parts = [fit.at(_features(raw, 0.0, age), found) for fit in self._fits]
        mean = fsum(w * one.mean for w, one in zip(self._shares, parts, strict=True))
        second = fsum(w * (one.variance + one.mean**2) for w, one in zip(self._shares, parts, strict=True))
        return Estimate(mean, max(second - mean**2, 0.0))


def sigmoid(logit: float) -> float:
    return 1 / (1 + exp(-min(max(logit, -35.0), 35.0)))


def _features(raw: float, kind: float, age: float) -> Vector:
    inside = min(max(raw, EDGE), 1 - EDGE)
    return [1.0, log(inside), -log(1 - inside), kind, age - 0.5]


def _levels(supports: Sequence[float]) -> dict[float, int]:
    """Return the level of each support: its own, or, of many, one with about as many outcomes as others."""
    counts: dict[float, int] = {}
    for raw in sorted(supports):
        counts[raw] = counts.get(raw, 0) + 1
    if len(counts) <= LEVELS:
        return {raw: level for level, raw in enumerate(counts)}
    drawn, seen = dict[float, int](), 0.0
    for raw, n in counts.items():
        drawn[raw] = int((seen + n / 2) * LEVELS / len(supports))
        seen += n
    used = {old: new for new, old in enumerate(sorted(set(drawn.values())))}
    return {raw: used[old] for raw, old in drawn.items()}


def _maximum(cells: Sequence[Cell], prior: _Prior, plausible: float, start: tuple[Vector, Vector]) -> _Fit:
    """Return the maximum a posteriori by Newton's method; the effects are eliminated (Schur complement)."""
    fixed, effects = [*start[0]], [*start[1]]
    for _ in range(STEPS):
        gradient, pulls, hessian, slopes, weights = _derivatives(cells, prior, fixed, effects)
        reduced, right = [[*row] for row in hessian], [*gradient]
        for slope, weight, pull in zip(slopes, weights, pulls, strict=True):
            for i in range(FIXED):
                right[i] -= slope[i] * pull / weight
                for j in range(FIXED):
                    reduced[i][j] -= slope[i] * slope[j] / weight
        lower = cholesky(reduced)
        step = solve(lower, right)
        other = [
            (pull - fsum(a * b for a, b in zip(slope, step, strict=True))) / weight
            for slope, weight, pull in zip(slopes, weights, pulls, strict=True)
        ]
        longest = max(map(abs, (*step, *other)))
        # Far from the maximum, a full step may overshoot.
        part = min(1.0, 2.0 / longest) if longest else 1.0
        fixed = [a + part * b for a, b in zip(fixed, step, strict=True)]
        effects = [a + part * b for a, b in zip(effects, other, strict=True)]
        if longest < SETTLED:
            break
    inverse = [solve(lower, [float(i == j) for j in range(FIXED)]) for i in range(FIXED)]
    determinant = 2 * fsum(log(lower[i][i]) for i in range(FIXED)) + fsum(map(log, weights))
    apart = (prior.log_determinant(len(effects)) - determinant) / 2
    value = plausible + _value(cells, prior, fixed, effects) + apart
    return _Fit(prior.deviation, fixed, effects, slopes, weights, inverse, value)


def _derivatives(
    cells: Sequence[Cell], prior: _Prior, fixed: Vector, effects: Vector
) -> tuple[Vector, Vector, Matrix, Matrix, Vector]:
    """Return the gradient by coefficients and by effects, and the blocks of the negative Hessian."""
    gradient = [-p * (b - m) for p, b, m in zip(prior.precisions, fixed, MEANS, strict=True)]
    curved = [prior.precisions[i] if i == j else 0.0 for i, j in PAIRED]
    pulls = [-effect / prior.deviation**2 for effect in effects]
    slopes, weights = [[0.0] * FIXED for _ in effects], [prior.deviation**-2] * len(effects)
    for cell, p in _chances(cells, fixed, effects):
        apart, weight = cell.hits - cell.n * p, cell.n * p * (1 - p)
        gradient = [a + apart * b for a, b in zip(gradient, cell.x, strict=True)]
        curved = [a + weight * b for a, b in zip(curved, cell.products, strict=True)]
        level = cell.level
        if level is not None:
            pulls[level] += apart
            weights[level] += weight
            slopes[level] = [a + weight * b for a, b in zip(slopes[level], cell.x, strict=True)]
    hessian = [[0.0] * FIXED for _ in range(FIXED)]
    for (i, j), value in zip(PAIRED, curved, strict=True):
        hessian[i][j] = hessian[j][i] = value
    return gradient, pulls, hessian, slopes, weights


def _value(cells: Sequence[Cell], prior: _Prior, fixed: Vector, effects: Vector) -> float:
    """Return the log-posterior, up to a constant that is the same for every prior."""
    likely = fsum(
        cell.hits * log(p) + (cell.n - cell.hits) * log(1 - p) for cell, p in _chances(cells, fixed, effects)
    )
    pull = fsum(p * (b - m) ** 2 for p, b, m in zip(prior.precisions, fixed, MEANS, strict=True))
    return likely - (pull + fsum(effect**2 for effect in effects) / prior.deviation**2) / 2


def _chances(cells: Sequence[Cell], fixed: Vector, effects: Vector) -> Iterator[tuple[Cell, float]]:
    for cell in cells:
        logit = sum([a * b for a, b in zip(cell.x, fixed, strict=True)])
        p = sigmoid(logit + (0.0 if cell.level is None else effects[cell.level]))
        yield cell, min(max(p, 1e-12), 1 - 1e-12)


def _form(x: Vector, matrix: Matrix) -> float:
    return fsum(a * b * c for a, row in zip(x, matrix, strict=True) for b, c in zip(x, row, strict=True))
