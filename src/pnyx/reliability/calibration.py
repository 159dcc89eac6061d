"""From what a protocol feels to how often it is right: confidence calibrated on outcomes.

Isotonic regression by pooling adjacent violators (Barlow et al. 1972; for probabilities Zadrozny & Elkan
2002): the one non-decreasing curve nearest to the outcomes. Where outcomes are few it is drawn to what is
known of all protocols, and that to the plain share of right answers; without any outcome there is no
calibrated confidence.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

__all__ = [
    "Bin",
    "Calibrated",
    "Calibration",
    "Curve",
    "Outcome",
    "brier",
    "calibrate",
    "ece",
    "isotonic",
    "protocol_of",
    "reliability_bins",
    "restored",
]

SHRINK = 30
"""Outcomes that one's own curve needs to count as much as what it is drawn to."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A decision whose truth came out. raw: the confidence it was given, in [0, 1]."""

    protocol: str
    raw: float
    right: bool


@dataclass(frozen=True, slots=True)
class Curve:
    """A non-decreasing map of [0, 1] into itself: straight between knots, level beyond them.

    knots: (raw, share right), both ascending. n: outcomes it was drawn from.
    """

    knots: tuple[tuple[float, float], ...]
    n: int

    def at(self, raw: float) -> float:
        """The share of right answers at `raw`. Raises `ValueError` for a curve without knots."""
        if not self.knots:
            raise ValueError("a curve from no outcomes says nothing")
        above = bisect_right(self.knots, raw, key=lambda knot: knot[0])
        if above in (0, len(self.knots)):
            return self.knots[min(above, len(self.knots) - 1)][1]
        (x0, y0), (x1, y1) = self.knots[above - 1 : above + 1]
        # Never past the knots, whatever rounding does in between.
        return min(y1, y0 + (y1 - y0) * (raw - x0) / (x1 - x0))


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A confidence that outcomes stand behind. n: outcomes of its protocol; `rule` is for `Decision`."""

    confidence: float
    n: int

    @property
    def rule(self) -> str:
        return f"calibrated (n={self.n})"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Plain numbers to keep: the share of right answers, the curve of all outcomes, each protocol's own.

    protocols: by what a confidence is calibrated as, "voting" or, apart from it, "voting, strongest first".
    """

    share: float
    all: Curve
    protocols: Mapping[str, Curve]

    def of(self, measure: str, raw: float) -> Calibrated | None:
        """The calibrated confidence of a decision; None before there is any outcome.

        What stands apart from its protocol is drawn to the protocol's curve, as that is to the curve of all.
        """
        if not self.all.n:
            return None
        levels = dict.fromkeys((protocol_of(measure), measure))
        curves = [self.protocols[name] for name in levels if name in self.protocols]
        told = _drawn(self.all, raw, self.share)
        for curve in curves:
            told = _drawn(curve, raw, told)
        return Calibrated(told, sum(curve.n for curve in curves))

    def only(self, protocol: str) -> Calibration:
        """The same, of the curves of the protocols those of this one."""
        own = {name: curve for name, curve in self.protocols.items() if protocol_of(name) == protocol}
        return replace(self, protocols=own)


@dataclass(frozen=True, slots=True)
class Bin:
    """Decisions of like confidence, for a reliability diagram: how many, how sure, how often right."""

    low: float
    high: float
    n: int
    confidence: float
    right: float


def calibrate(outcomes: Sequence[Outcome]) -> Calibration:
    """What `outcomes` say of confidence, for each protocol and for all."""
    protocols: dict[str, list[tuple[float, bool]]] = {}
    for one in outcomes:
        protocols.setdefault(one.protocol, []).append((one.raw, one.right))
    return Calibration(
        share=(sum(one.right for one in outcomes) + 1) / (len(outcomes) + 2),
        all=isotonic([(one.raw, one.right) for one in outcomes]),
        protocols={name: isotonic(pairs) for name, pairs in protocols.items()},
    )


def restored(stored: Mapping[str, Any]) -> Calibration:
    """The calibration of what `dataclasses.asdict` made of it, also after a way through JSON."""
    protocols = {name: _restored(one) for name, one in stored["protocols"].items()}
    return Calibration(stored["share"], _restored(stored["all"]), protocols)


def _restored(stored: Mapping[str, Any]) -> Curve:
    return Curve(tuple((raw, right) for raw, right in stored["knots"]), stored["n"])


def isotonic(pairs: Iterable[tuple[float, bool]]) -> Curve:
    """The non-decreasing curve nearest to (raw, right) by least squares: knots at the ends of each level."""
    seen: dict[float, tuple[int, int]] = {}
    for raw, right in pairs:
        n, hits = seen.get(raw, (0, 0))
        seen[raw] = n + 1, hits + right
    # Each block: lowest raw, highest raw, how many, how many right.
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
    """Brier score: the mean squared distance of confidence from outcome, in [0, 1]; 0 for no pairs."""
    squares = [(confidence - right) ** 2 for confidence, right in pairs]
    return sum(squares) / len(squares) if squares else 0.0


def ece(pairs: Iterable[tuple[float, bool]], bins: int = 10) -> float:
    """Expected calibration error, in [0, 1]: how far confidence is from the share right, on average."""
    full = reliability_bins(pairs, bins)
    total = sum(b.n for b in full)
    return sum(b.n * abs(b.confidence - b.right) for b in full) / total if total else 0.0


def reliability_bins(pairs: Iterable[tuple[float, bool]], bins: int = 10) -> tuple[Bin, ...]:
    """The pairs in `bins` bins of equal width, lowest first; empty bins are left out."""
    groups: dict[int, list[tuple[float, bool]]] = {}
    for confidence, right in pairs:
        groups.setdefault(min(int(confidence * bins), bins - 1), []).append((confidence, right))
    return tuple(
        Bin(k / bins, (k + 1) / bins, len(g), sum(c for c, _ in g) / len(g), sum(r for _, r in g) / len(g))
        for k, g in sorted(groups.items())
    )


def protocol_of(measure: str) -> str:
    """The protocol of what a confidence is calibrated as: "voting" of "voting, strongest first"."""
    return measure.partition(",")[0]


def _drawn(curve: Curve, raw: float, to: float) -> float:
    """The curve at `raw`, drawn to `to` as if that were `SHRINK` further outcomes."""
    return (curve.n * curve.at(raw) + SHRINK * to) / (curve.n + SHRINK) if curve.n else to
