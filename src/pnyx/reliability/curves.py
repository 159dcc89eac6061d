"""The curve of beta calibration, with its interval."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any, TypeAlias

from .levels import EDGE, NEAR, OFFSET, LevelModel, sigmoid

__all__ = ["LEVEL", "Curve", "fit_beta", "score_interval"]

LEVEL = 0.9
"""The level of intervals."""
Z = 1.6449
"""Standard errors on each side of an interval at `LEVEL`."""
MOST = 0.995
"""No confidence exceeds it, nor is below 1 minus it: a finite number of outcomes excludes no error."""
GRID = (EDGE, *(k / 10 for k in range(1, 10)), 1 - EDGE)
"""Supports of knots besides those of the outcomes."""
SPEAKS = 30
"""The outcomes of a level from which on its interval contains that of their share (Wilson): near 0 and 1 the
normal approximation leans towards the prior."""
DIGITS = 6

Knot: TypeAlias = tuple[float, float, float, float]
"""(support, share right, low, high)"""


@dataclass(frozen=True, slots=True)
class Curve:
    """A non-decreasing map of [0, 1] into itself, with an interval.

    method: beta. n, right: the outcomes behind it, and how many were right. knots: ascending;
    linear between them, constant beyond.
    """

    method: str
    n: int
    right: int
    knots: tuple[Knot, ...]

    def at(self, raw: float) -> tuple[float, float, float]:
        """Return the share of right answers at the support `raw`, and the ends of its interval."""
        value, low, high = _between(self.knots, raw)
        value = min(max(value, 1 - MOST), MOST)
        return value, min(low, value), max(high, value)

    def at_other(self, raw: float) -> tuple[float, float, float]:
        """Return `at` for outcomes of another kind, of which none are known: the interval is wider."""
        value, *ends = self.at(raw)
        middle, offset = _logit(value), Z * OFFSET
        low, high = (sqrt((_logit(min(max(e, 1e-9), 1 - 1e-9)) - middle) ** 2 + offset**2) for e in ends)
        return value, sigmoid(middle - low), sigmoid(middle + high)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Curve:
        """Return the curve that `dataclasses.asdict` turned into a dict."""
        knots = tuple((raw, value, low, high) for raw, value, low, high in stored["knots"])
        return cls(stored["method"], stored["n"], stored["right"], knots)


def fit_beta(pairs: Iterable[tuple[float, bool]], others: Iterable[tuple[float, bool]] = ()) -> Curve:
    """Return the beta calibration of (support, right), oldest first, as a maximum a posteriori.

    others: outcomes of another kind, whose log-odds differ from those of `pairs` by an offset that is learned
    too. With few outcomes of both kinds, the interval contains what is not known of it. The interval also
    contains what a level of support may be off the curve, and how far the newest outcomes may be from all
    (`levels`).
    """
    own, other = list(pairs), list(others)
    model, every = LevelModel(own, other), [*own, *other]
    supports = dict(zip(model.supports, model.counts, strict=True))
    supports |= {raw: 0 for raw in GRID if all(abs(raw - known) >= NEAR for known in model.supports)}
    last_wrong = max((raw for raw, right in every if not right), default=-1.0)
    first_right = min((raw for raw, right in every if right), default=2.0)
    level_of = {raw: (n, hits) for raw, n, hits in zip(model.supports, model.own, model.hits, strict=True)}
    knots = list[Knot]()
    for raw in sorted(supports):
        whole, newest = model.at(raw, 0.5), model.at(raw, 0.0)
        low = sigmoid(min(one.mean - Z * sqrt(one.variance) for one in (whole, newest)))
        high = sigmoid(max(one.mean + Z * sqrt(one.variance) for one in (whole, newest)))
        n, hits = level_of.get(raw, (0, 0))
        if n >= SPEAKS:
            least, most = score_interval(hits, n, Z)
            low, high = min(low, least), max(high, most)
        # Nothing says that some are wrong where none was.
        ends = 0.0 if raw < first_right else low, 1.0 if raw > last_wrong else high
        knots.append((raw, sigmoid(whole.mean), *ends))
    values = _non_decreasing([knot[1] for knot in knots], [1 + supports[knot[0]] for knot in knots])
    joined = zip(knots, values, strict=True)
    shown = tuple(
        (raw, round(value, DIGITS), round(min(low, value), DIGITS), round(max(high, value), DIGITS))
        for (raw, _, low, high), value in joined
    )
    return Curve("beta", len(every), sum(right for _, right in every), shown)


def score_interval(hits: int, n: int, z: float) -> tuple[float, float]:
    """Return the ends of the score interval of `hits` in `n` (Wilson 1927), `z` standard errors wide."""
    share = hits / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return middle - half, middle + half


def _between(knots: Sequence[Knot], raw: float) -> tuple[float, float, float]:
    above = bisect_right(knots, raw, key=lambda knot: knot[0])
    if above in (0, len(knots)):
        return knots[min(above, len(knots) - 1)][1:]
    (x0, *before), (x1, *after) = knots[above - 1 : above + 1]
    part = (raw - x0) / (x1 - x0)
    value, low, high = (a + (b - a) * part for a, b in zip(before, after, strict=True))
    return value, low, high


def _non_decreasing(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the non-decreasing values closest to `values` (least squares; pool adjacent violators)."""
    # Each block: its mean, its weight, and the number of its values.
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        mean, total, size = value, float(weight), 1
        while blocks and blocks[-1][0] >= mean:
            before, heavy, n = blocks.pop()
            mean, total, size = (before * heavy + mean * total) / (heavy + total), heavy + total, n + size
        blocks.append((mean, total, size))
    return [mean for mean, _, size in blocks for _ in range(size)]


def _logit(share: float) -> float:
    return log(share / (1 - share))
