"""Calibration: maps the support of an answer to how often such answers of the same panel were right.

A curve is learned from the outcomes of one protocol, one panel and one rule of support. Votes that asked the
strongest seats first, and those that asked all, are two kinds of outcomes of one protocol: while one kind has
fewer than `ENOUGH`, the other counts too, with an offset that is learned (partial pooling, Gelman & Hill
2007). The curve is beta calibration (Kull, Silva Filho & Flach 2017), a logistic curve with three parameters,
which the outcomes of each level of support correct (`levels`). With fewer than `ENOUGH` outcomes there is no
calibrated confidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..core.voting.stopping import STRONGEST_FIRST
from .curves import LEVEL, Curve, fit_beta

__all__ = [
    "ENOUGH",
    "Bin",
    "CalibratedConfidence",
    "Calibration",
    "Outcome",
    "brier",
    "calibrate",
    "cross_fitted",
    "ece",
    "fit",
    "from_dict",
    "others",
    "protocol_of",
    "reliability_bins",
]

ENOUGH = 20
"""The fewest outcomes from which a confidence is calibrated."""
FOLDS = 5
BINS = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """A decision that turned out right or wrong.

    protocol: its measure, such as "voting" or "voting, strongest first". raw: its support, in [0, 1]. panel:
    its models, each once, sorted. rule: the name of the rule of its support; supports by different rules are
    not comparable.
    """

    protocol: str
    raw: float
    right: bool
    panel: tuple[str, ...] = ()
    rule: str | None = None

    @property
    def kind(self) -> tuple[str, tuple[str, ...], str | None]:
        """What it is an outcome of: decisions of one kind are calibrated together."""
        return self.protocol, self.panel, self.rule


@dataclass(frozen=True, slots=True)
class CalibratedConfidence:
    """A confidence learned from outcomes. low, high: its interval at the level `curves.LEVEL`.

    n, right: the outcomes behind it, and how many of them were right. method: beta.
    """

    confidence: float
    low: float
    high: float
    n: int
    right: int
    method: str

    @property
    def rule(self) -> str:
        """The text for `Decision.confidence_rule`."""
        return f"{self.method} calibration on {self.n} outcomes of this panel"

    def to_dict(self, measure: str, panel: Sequence[str], rule: str | None) -> dict[str, Any]:
        """Return `detail.calibration`: what the confidence was learned from."""
        return {
            "n": self.n,
            "right": self.right,
            "low": self.low,
            "high": self.high,
            "level": LEVEL,
            "method": self.method,
            "protocol": measure,
            "panel": list(panel),
            "rule": rule,
        }


@dataclass(frozen=True, slots=True)
class Calibration:
    """The curves of one panel, by measure and rule of support. Stored as JSON.

    panel: its models, each once, sorted. measures: measure -> rule of support -> curve.
    """

    panel: tuple[str, ...] = ()
    measures: Mapping[str, Mapping[str, Curve]] = field(default_factory=dict)

    def of(self, measure: str, rule: str | None, raw: float) -> CalibratedConfidence | None:
        """Return the confidence of a decision with the support `raw`, or None with too few outcomes."""
        curve = self.measures.get(measure, {}).get(rule or "")
        other, other_rule = _other_kind(measure, rule or "")
        if curve is not None:
            confidence, low, high = curve.at(raw)
        elif (curve := self.measures.get(other, {}).get(other_rule)) is not None:
            confidence, low, high = curve.at_other(raw)
        else:
            return None
        return CalibratedConfidence(confidence, low, high, curve.n, curve.right, curve.method)

    def only(self, protocol: str) -> Calibration:
        """Return the calibration without the curves of other protocols."""
        own = {name: curves for name, curves in self.measures.items() if protocol_of(name) == protocol}
        return Calibration(self.panel, own)


@dataclass(frozen=True, slots=True)
class Bin:
    """Decisions of similar confidence, for a reliability diagram. right: share of right ones."""

    low: float
    high: float
    n: int
    confidence: float
    right: float


def calibrate(outcomes: Iterable[Outcome], panel: Iterable[str] = ()) -> Calibration:
    """Learn the calibration of a panel from the outcomes that are its own; others do not count."""
    models = tuple(sorted(set(panel)))
    kinds: dict[tuple[str, str], list[tuple[float, bool]]] = {}
    for one in outcomes:
        if one.panel == models:
            kinds.setdefault((one.protocol, one.rule or ""), []).append((one.raw, one.right))
    measures: dict[str, dict[str, Curve]] = {}
    for (measure, rule), pairs in kinds.items():
        if (curve := fit(pairs, kinds.get(_other_kind(measure, rule), ()))) is not None:
            measures.setdefault(measure, {})[rule] = curve
    return Calibration(models, measures)


def others(outcome: Outcome, outcomes: Iterable[Outcome]) -> list[tuple[float, bool]]:
    """Return (support, right) of the outcomes of the other kind that count for the kind of `outcome` too."""
    measure, rule = _other_kind(outcome.protocol, outcome.rule or "")
    kind = measure, outcome.panel, rule
    return [(one.raw, one.right) for one in outcomes if (one.protocol, one.panel, one.rule or "") == kind]


def fit(pairs: Sequence[tuple[float, bool]], others: Sequence[tuple[float, bool]] = ()) -> Curve | None:
    """Return the curve of (support, right), or None with fewer than `ENOUGH` of them.

    others: those of the other kind, which count too while there are fewer than `ENOUGH` of the kind itself.
    """
    if len(pairs) + len(others) < ENOUGH:
        return None
    return fit_beta(pairs, others if len(pairs) < ENOUGH else ())


def cross_fitted(
    pairs: Sequence[tuple[float, bool]], others: Sequence[tuple[float, bool]] = ()
) -> list[tuple[float, bool]]:
    """Return (confidence, right) of each outcome, its confidence learned from the other folds and `others`.

    Empty if those have too few outcomes.
    """
    found = []
    for fold in range(FOLDS):
        curve = fit([pair for n, pair in enumerate(pairs) if n % FOLDS != fold], others)
        if curve is not None:
            found += [(curve.at(raw)[0], right) for raw, right in pairs[fold::FOLDS]]
    return found


def from_dict(stored: Mapping[str, Any]) -> Calibration:
    """Return the calibration that `dataclasses.asdict` turned into a dict, also after a JSON round trip.

    That of an earlier version was learned from vote shares, of all panels together. It is no calibration of
    a posterior, so it has no curves here.
    """
    measures = stored.get("measures", {})
    return Calibration(
        tuple(stored.get("panel", ())),
        {
            measure: {rule: Curve.from_dict(curve) for rule, curve in curves.items()}
            for measure, curves in measures.items()
        },
    )


def brier(pairs: Iterable[tuple[float, bool]]) -> float:
    """Return the Brier score: the mean squared error of confidence against outcomes, in [0, 1]."""
    squares = [(confidence - right) ** 2 for confidence, right in pairs]
    return sum(squares) / len(squares) if squares else 0.0


def ece(pairs: Iterable[tuple[float, bool]]) -> float:
    """Return the expected calibration error, in [0, 1]: the mean difference of confidence and share right."""
    full = reliability_bins(pairs)
    total = sum(b.n for b in full)
    return sum(b.n * abs(b.confidence - b.right) for b in full) / total if total else 0.0


def reliability_bins(pairs: Iterable[tuple[float, bool]]) -> tuple[Bin, ...]:
    """Return the pairs in `BINS` bins of equal width, lowest first, without empty bins."""
    groups: dict[int, list[tuple[float, bool]]] = {}
    for confidence, right in pairs:
        groups.setdefault(min(int(confidence * BINS), BINS - 1), []).append((confidence, right))
    return tuple(
        Bin(k / BINS, (k + 1) / BINS, len(g), sum(c for c, _ in g) / len(g), sum(r for _, r in g) / len(g))
        for k, g in sorted(groups.items())
    )


def _other_kind(measure: str, rule: str) -> tuple[str, str]:
    """Return measure and rule of votes that asked all seats, for those of strongest first; or back."""
    suffix = f", {STRONGEST_FIRST}"
    if measure.endswith(suffix):
        return measure.removesuffix(suffix), rule.removesuffix(suffix)
    return f"{measure}{suffix}", f"{rule}{suffix}"


def protocol_of(measure: str) -> str:
    """Return the protocol of a measure: "voting" for "voting, strongest first"."""
    return measure.partition(",")[0]
