"""Calibration: maps raw confidence to how often such answers were right.

Isotonic regression by pooling adjacent violators (Barlow et al. 1972; for probabilities Zadrozny & Elkan
2002): the non-decreasing curve closest to the outcomes. With few outcomes, a protocol's curve is shrunk
towards that of all protocols, and that towards the share of right answers. Without outcomes there is no
calibrated confidence.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

__all__ = [
    "Bin",
    "CalibratedConfidence",
    "Calibration",
    "Curve",
    "Outcome",
    "brier",
    "calibrate",
    "ece",
    "from_dict",
    "isotonic",
    "protocol_of",
    "reliability_bins",
]

SHRINK = 30
"""Number of outcomes at which a curve counts as much as the value that it is shrunk towards."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A decision that turned out right or wrong. raw: its confidence before calibration, in [0, 1]."""

    protocol: str
    raw: float
    right: bool


@dataclass(frozen=True, slots=True)
class Curve:
    """A non-decreasing map of [0, 1] into itself: linear between knots, constant beyond them.

    knots: (raw, share right), both ascending. n: number of outcomes behind it.
    """

    knots: tuple[tuple[float, float], ...]
    n: int

    def at(self, raw: float) -> float:
        """Return the share of right answers at `raw`. Raises `ValueError` for a curve without knots."""
        if not self.knots:
            raise ValueError("a curve without outcomes has no values")
        above = bisect_right(self.knots, raw, key=lambda knot: knot[0])
        if above in (0, len(self.knots)):
            return self.knots[min(above, len(self.knots) - 1)][1]
        (x0, y0), (x1, y1) = self.knots[above - 1 : above + 1]
        # Rounding must not exceed the upper knot.
        return min(y1, y0 + (y1 - y0) * (raw - x0) / (x1 - x0))


@dataclass(frozen=True, slots=True)
class CalibratedConfidence:
    """A confidence learned from outcomes. n: outcomes of its protocol. rule: the text for `Decision`."""

    confidence: float
    n: int

    @property
    def rule(self) -> str:
        return f"calibrated (n={self.n})"


@dataclass(frozen=True, slots=True)
class Calibration:
    """The share of right answers, the curve of all outcomes, and a curve per measure. Stored as JSON.

    protocols: measure -> curve. A measure is a protocol such as "voting", or a variant that is calibrated
    separately, such as "voting, strongest first".
    """

    share: float
    all: Curve
    protocols: Mapping[str, Curve]

    def of(self, measure: str, raw: float) -> CalibratedConfidence | None:
        """Return the calibrated confidence of a decision, or None without any outcome.

        A variant's curve is shrunk towards its protocol's, and that towards the curve of all.
        """
        if not self.all.n:
            return None
        levels = dict.fromkeys((protocol_of(measure), measure))
        curves = [self.protocols[name] for name in levels if name in self.protocols]
        confidence = _shrunk(self.all, raw, self.share)
        for curve in curves:
            confidence = _shrunk(curve, raw, confidence)
        return CalibratedConfidence(confidence, sum(curve.n for curve in curves))

    def only(self, protocol: str) -> Calibration:
        """Return the calibration without the curves of other protocols."""
        own = {name: curve for name, curve in self.protocols.items() if protocol_of(name) == protocol}
        return replace(self, protocols=own)


@dataclass(frozen=True, slots=True)
class Bin:
    """Decisions of similar confidence, for a reliability diagram. right: share of right ones."""

    low: float
    high: float
    n: int
    confidence: float
    right: float


def calibrate(outcomes: Sequence[Outcome]) -> Calibration:
    """Learn a calibration from outcomes, for each protocol and for all."""
    protocols: dict[str, list[tuple[float, bool]]] = {}
    for outcome in outcomes:
        protocols.setdefault(outcome.protocol, []).append((outcome.raw, outcome.right))
    return Calibration(
        share=(sum(outcome.right for outcome in outcomes) + 1) / (len(outcomes) + 2),
        all=isotonic([(outcome.raw, outcome.right) for outcome in outcomes]),
        protocols={name: isotonic(pairs) for name, pairs in protocols.items()},
    )


def from_dict(stored: Mapping[str, Any]) -> Calibration:
    """Return the calibration that `dataclasses.asdict` turned into a dict, also after a JSON round trip."""
    protocols = {name: _curve(curve) for name, curve in stored["protocols"].items()}
    return Calibration(stored["share"], _curve(stored["all"]), protocols)


def _curve(stored: Mapping[str, Any]) -> Curve:
    return Curve(tuple((raw, right) for raw, right in stored["knots"]), stored["n"])


def isotonic(pairs: Iterable[tuple[float, bool]]) -> Curve:
    """Return the non-decreasing least-squares fit of (raw, right), with knots at both ends of each level."""
    seen: dict[float, tuple[int, int]] = {}
    for raw, right in pairs:
        n, hits = seen.get(raw, (0, 0))
        seen[raw] = n + 1, hits + right
    # Each block: lowest raw, highest raw, number of outcomes, number of right ones.
    blocks: list[tuple[float, float, int, int]] = []
    for raw in sorted(seen):
        low, high, n, hits = raw, raw, *seen[raw]
        while blocks and blocks[-1][3] * n >= hits * blocks[-1][2]:
            before = blocks.pop()
            low, n, hits = before[0], n + before[2], hits + before[3]
        blocks.append((low, high, n, hits))
    knots = [(raw, hits / n) for low, high, n, hits in blocks for raw in sorted({low, high})]
    return Curve(tuple(knots), sum(block[2] for block in blocks))


def brier(pairs: Iterable[tuple[float, bool]]) -> float:
    """Return the Brier score: the mean squared error of confidence against outcomes, in [0, 1]."""
    squares = [(confidence - right) ** 2 for confidence, right in pairs]
    return sum(squares) / len(squares) if squares else 0.0


def ece(pairs: Iterable[tuple[float, bool]], bins: int = 10) -> float:
    """Return the expected calibration error, in [0, 1]: the mean difference of confidence and share right."""
    full = reliability_bins(pairs, bins)
    total = sum(b.n for b in full)
    return sum(b.n * abs(b.confidence - b.right) for b in full) / total if total else 0.0


def reliability_bins(pairs: Iterable[tuple[float, bool]], bins: int = 10) -> tuple[Bin, ...]:
    """Return the pairs in `bins` bins of equal width, lowest first, without empty bins."""
    groups: dict[int, list[tuple[float, bool]]] = {}
    for confidence, right in pairs:
        groups.setdefault(min(int(confidence * bins), bins - 1), []).append((confidence, right))
    return tuple(
        Bin(k / bins, (k + 1) / bins, len(g), sum(c for c, _ in g) / len(g), sum(r for _, r in g) / len(g))
        for k, g in sorted(groups.items())
    )


def protocol_of(measure: str) -> str:
    """Return the protocol of a measure: "voting" for "voting, strongest first"."""
    return measure.partition(",")[0]


def _shrunk(curve: Curve, raw: float, target: float) -> float:
    """Return the curve at `raw`, shrunk towards `target` as if that were `SHRINK` further outcomes."""
    return (curve.n * curve.at(raw) + SHRINK * target) / (curve.n + SHRINK) if curve.n else target
