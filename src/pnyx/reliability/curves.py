"""The curves of calibration: beta calibration, and isotonic regression. Both with intervals."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Any

__all__ = ["LEVEL", "Curve", "fit_beta", "fit_isotonic"]

LEVEL = 0.9
"""The level of intervals."""
Z = 1.6449
"""Standard errors on each side of an interval at `LEVEL`."""
EDGE = 0.005
"""Supports nearer to 0 or 1 count as this near: beyond it they differ in certainty that no outcome shows."""
PRECISION = (1.0, 4.0, 4.0, 4.0)
"""Precision of the prior of the intercept and of both slopes, whose means are 0, 1 and 1: the identity; and
of the offset of outcomes of another kind, whose mean is 0."""
MOST = 0.995
"""No curve exceeds it, nor is below 1 minus it: a finite number of outcomes excludes no error."""
STEPS = 50
SETTLED = 1e-9

Vector = list[float]


@dataclass(frozen=True, slots=True)
class Curve:
    """A non-decreasing map of [0, 1] into itself, with an interval.

    method: isotonic | beta. n, right: the outcomes behind it, and how many were right. isotonic: knots, each
    (support, share right, low, high), ascending; linear between them, constant beyond. beta: coefficients
    (intercept, slope of ln s, slope of -ln(1 - s)) and their covariance.
    """

    method: str
    n: int
    right: int
    knots: tuple[tuple[float, float, float, float], ...] = ()
    coefficients: tuple[float, ...] = ()
    covariance: tuple[tuple[float, ...], ...] = ()

    def at(self, raw: float) -> tuple[float, float, float]:
        """Return the share of right answers at the support `raw`, and the ends of its interval."""
        found = self._beta(raw) if self.method == "beta" else self._isotonic(raw)
        value, low, high = (min(max(one, 1 - MOST), MOST) for one in found)
        return value, min(low, value), max(high, value)

    def at_other(self, raw: float) -> tuple[float, float, float]:
        """Return `at` for outcomes of another kind, of which none are known: the interval is wider."""
        value, *ends = self.at(raw)
        offset = Z**2 / PRECISION[3]
        middle = _logit(value)
        low, high = (sqrt((_logit(end) - middle) ** 2 + offset) for end in ends)
        return value, _sigmoid(middle - low), _sigmoid(middle + high)

    def _beta(self, raw: float) -> tuple[float, float, float]:
        x = _features(raw)
        logit = sum(a * b for a, b in zip(x, self.coefficients, strict=True))
        variance = sum(x[i] * x[j] * c for i, row in enumerate(self.covariance) for j, c in enumerate(row))
        error = Z * sqrt(max(variance, 0.0))
        return _sigmoid(logit), _sigmoid(logit - error), _sigmoid(logit + error)

    def _isotonic(self, raw: float) -> tuple[float, float, float]:
        above = bisect_right(self.knots, raw, key=lambda knot: knot[0])
        if above in (0, len(self.knots)):
            return self.knots[min(above, len(self.knots) - 1)][1:]
        (x0, *before), (x1, *after) = self.knots[above - 1 : above + 1]
        part = (raw - x0) / (x1 - x0)
        value, low, high = (a + (b - a) * part for a, b in zip(before, after, strict=True))
        return value, low, high

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Curve:
        """Return the curve that `dataclasses.asdict` turned into a dict."""
        knots = tuple((raw, value, low, high) for raw, value, low, high in stored["knots"])
        covariance = tuple(tuple(row) for row in stored["covariance"])
        counts = stored["method"], stored["n"], stored["right"]
        return cls(*counts, knots, tuple(stored["coefficients"]), covariance)


def fit_isotonic(pairs: Iterable[tuple[float, bool]]) -> Curve:
    """Return the non-decreasing least-squares fit of (support, right), with knots at both ends of each level.

    The interval is that of the share in its level (Wilson).
    """
    # Each block: lowest support, highest support, number of outcomes, number of right ones.
    blocks: list[tuple[float, float, int, int]] = []
    for raw, (n, hits) in _counts(pairs):
        low, high = raw, raw
        while blocks and blocks[-1][3] * n >= hits * blocks[-1][2]:
            before = blocks.pop()
            low, n, hits = before[0], n + before[2], hits + before[3]
        blocks.append((low, high, n, hits))
    knots = [
        (raw, hits / n, *_wilson(hits, n)) for low, high, n, hits in blocks for raw in sorted({low, high})
    ]
    return Curve("isotonic", sum(b[2] for b in blocks), sum(b[3] for b in blocks), tuple(knots))


def fit_beta(pairs: Iterable[tuple[float, bool]], others: Iterable[tuple[float, bool]] = ()) -> Curve:
    """Return the beta calibration of (support, right), as a maximum a posteriori.

    others: outcomes of another kind, whose log-odds differ from those of `pairs` by an offset that is learned
    too. With few outcomes of both kinds, the interval contains what is not known of it.

    Both slopes are at least 0, so that it never decreases. One right and one wrong outcome of average support
    are added, since a few right ones in a row do not show that all are. The covariance is that of the normal
    approximation at the maximum (Laplace).
    """
    own, other = _counts(pairs), _counts(others)
    counts = [*own, *other]
    total = sum(n for _, (n, _) in counts)
    middle = sum(raw * n for raw, (n, _) in counts) / total
    data = [([*_features(raw), 0.0], n, hits) for raw, (n, hits) in own]
    data += [([*_features(raw), 1.0], n, hits) for raw, (n, hits) in other]
    data.append(([*_features(middle), 0.0 if own else 1.0], 2, 1))
    free = [0, 1, 2, 3] if other else [0, 1, 2]
    while True:
        coefficients, hessian = _maximum(data, free)
        negative = [i for i in free if i in (1, 2) and coefficients[i] < 0]
        if not negative:
            break
        free.remove(min(negative, key=lambda i: coefficients[i]))
    covariance = [[0.0] * 4 for _ in range(4)]
    for column, i in enumerate(free):
        unit = [float(column == k) for k in range(len(free))]
        for k, value in zip(free, _solve(hessian, unit), strict=True):
            covariance[k][i] = value
    right = sum(hits for _, (_, hits) in counts)
    rows = tuple(tuple(row[:3]) for row in covariance[:3])
    return Curve("beta", total, right, coefficients=tuple(coefficients[:3]), covariance=rows)


def _maximum(data: Sequence[tuple[Vector, int, int]], free: Sequence[int]) -> tuple[Vector, list[Vector]]:
    """Return the coefficients of the maximum, 0 for those not free, and the Hessian of the free ones.

    By Newton's method, with steps of at most 2 in any coefficient; the posterior is strictly concave.
    """
    mean = (0.0, 1.0, 1.0, 0.0)
    b = [mean[i] if i in free else 0.0 for i in range(4)]
    for _ in range(STEPS):
        gradient = [-PRECISION[i] * (b[i] - mean[i]) for i in free]
        hessian = [[PRECISION[i] if i == j else 0.0 for j in free] for i in free]
        for x, n, hits in data:
            p = _sigmoid(sum(a * c for a, c in zip(x, b, strict=True)))
            for k, i in enumerate(free):
                gradient[k] += (hits - n * p) * x[i]
                for m, j in enumerate(free):
                    hessian[k][m] += n * p * (1 - p) * x[i] * x[j]
        step = _solve(hessian, gradient)
        longest = max(map(abs, step))
        for k, i in enumerate(free):
            b[i] += step[k] * min(1.0, 2.0 / longest if longest else 1.0)
        if longest < SETTLED:
            break
    return b, hessian


def _solve(matrix: Sequence[Vector], right: Sequence[float]) -> Vector:
    """Return the solution of a positive definite system of linear equations (Gauss)."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k, row in enumerate(rows):
        for other in rows[k + 1 :]:
            factor = other[k] / row[k]
            for m in range(k, len(row)):
                other[m] -= factor * row[m]
    out = [0.0] * len(rows)
    for k in reversed(range(len(rows))):
        known = sum(rows[k][m] * out[m] for m in range(k + 1, len(rows)))
        out[k] = (rows[k][-1] - known) / rows[k][k]
    return out


def _features(raw: float) -> Vector:
    inside = min(max(raw, EDGE), 1 - EDGE)
    return [1.0, log(inside), -log(1 - inside)]


def _counts(pairs: Iterable[tuple[float, bool]]) -> list[tuple[float, tuple[int, int]]]:
    """Return each support with its number of outcomes and of right ones, ascending."""
    seen: dict[float, tuple[int, int]] = {}
    for raw, right in pairs:
        n, hits = seen.get(raw, (0, 0))
        seen[raw] = n + 1, hits + right
    return sorted(seen.items())


def _wilson(hits: int, n: int) -> tuple[float, float]:
    share, square = hits / n, Z * Z / n
    middle = (share + square / 2) / (1 + square)
    half = Z * sqrt(share * (1 - share) / n + square / (4 * n)) / (1 + square)
    return middle - half, middle + half


def _logit(share: float) -> float:
    return log(share / (1 - share))


def _sigmoid(logit: float) -> float:
    return 1 / (1 + exp(-min(max(logit, -35.0), 35.0)))
