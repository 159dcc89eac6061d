"""How well an arm's confidence predicts that it is right: calibration, and risk against coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from ...reliability.calibration import brier, ece, reliability_bins
from .arms import Column

__all__ = ["confidence", "risk_coverage"]

POINTS = 100
"""The most points of a curve. More cannot be distinguished in a plot."""


def confidence(column: Column) -> dict[str, Any] | None:
    """The figures of an arm's support, and of the confidence learned from it; None if its answers have none.

    n: answers with support; coverage is their share. raw: support as if it were a probability. calibrated:
    the confidence that a live run shows, cross-fitted; None with too few outcomes. Its `outcomes` are the
    fewest and the most behind a confidence. risk_coverage: (share answered, share wrong among those), most
    confident first. area: the mean of that risk over all coverages (Geifman & El-Yaniv 2017).
    """
    rated = [(row.confidence, row) for row in column.rows.values() if row.confidence is not None]
    if not rated:
        return None
    raw = [(value, row.correct) for value, row in rated]
    points, area = risk_coverage(raw)
    share = len(raw) / len(column.rows)
    return {
        "rules": dict(Counter(row.rule or "" for _, row in rated).most_common()),
        "n": len(raw),
        "raw": _calibration(raw),
        "calibrated": _calibrated(column),
        "risk_coverage": [[share * coverage, risk] for coverage, risk in points],
        "area": area,
    }


def _calibrated(column: Column) -> dict[str, Any] | None:
    found = column.calibrated
    if not found:
        return None
    behind = [one.n for one in found.values()]
    pairs = [(one.confidence, column.rows[id].correct) for id, one in found.items()]
    return {**_calibration(pairs), "n": len(pairs), "outcomes": [min(behind), max(behind)]}


def _calibration(pairs: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    return {"ece": ece(pairs), "brier": brier(pairs), "bins": [asdict(b) for b in reliability_bins(pairs)]}


def risk_coverage(pairs: Iterable[tuple[float, bool]]) -> tuple[list[tuple[float, float]], float]:
    """(coverage, risk) at each threshold of confidence, highest first; and the area.

    Answers of equal confidence count together; within them the area uses the expected risk, so the order of
    the pairs makes no difference. Curves are thinned evenly to `POINTS`; the last point always stays. Raises
    `ValueError` if there are no pairs.
    """
    groups: dict[float, list[bool]] = {}
    for value, right in pairs:
        groups.setdefault(value, []).append(right)
    total = sum(map(len, groups.values()))
    if not total:
        raise ValueError("a risk-coverage curve needs at least one answer")
    points, area, n, wrong = list[tuple[float, float]](), 0.0, 0, 0
    for value in sorted(groups, reverse=True):
        size, errors = len(groups[value]), groups[value].count(False)
        area += sum((wrong + k * errors / size) / (n + k) for k in range(1, size + 1))
        n, wrong = n + size, wrong + errors
        points.append((n / total, wrong / n))
    step = max(1, -(-len(points) // POINTS))
    return points[::-1][::step][::-1], area / total
