"""Whether an arm knows when it is right: calibration, and what is left out by answering only when sure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from ...reliability.calibration import brier, ece, reliability_bins
from .arms import Column

__all__ = ["confidence", "risk_coverage"]

POINTS = 100
"""Of a curve, at most: more cannot be told apart on a page."""


def confidence(column: Column) -> dict[str, Any] | None:
    """The figures of an arm's confidence; None where it gave none.

    n: answers with a confidence; coverage is their share. calibrated: cross-fitted, None before there are
    outcomes to learn from. risk_coverage: (share answered, share wrong among those), the surest first. area:
    the mean of that risk over all coverages (Geifman & El-Yaniv 2017).
    """
    sure = [(row.confidence, row) for row in column.rows.values() if row.confidence is not None]
    if not sure:
        return None
    raw = [(told, row.correct) for told, row in sure]
    points, area = risk_coverage(raw)
    share = len(raw) / len(column.rows)
    return {
        "rules": dict(Counter(row.rule or "" for _, row in sure).most_common()),
        "n": len(raw),
        "raw": _calibration(raw),
        "calibrated": _calibration(
            [(told, column.rows[id].correct) for id, told in column.calibrated.items()]
        ),
        "risk_coverage": [[share * coverage, risk] for coverage, risk in points],
        "area": area,
    }


def _calibration(pairs: Sequence[tuple[float, bool]]) -> dict[str, Any] | None:
    if not pairs:
        return None
    return {"ece": ece(pairs), "brier": brier(pairs), "bins": [asdict(b) for b in reliability_bins(pairs)]}


def risk_coverage(pairs: Iterable[tuple[float, bool]]) -> tuple[list[tuple[float, float]], float]:
    """(coverage, risk) for each confidence from which on one might answer, the highest first; the area.

    What is equally sure is answered together; inside such a group the area counts the expected risk, so the
    order of the pairs makes no difference. Thinned evenly to `POINTS`, the last kept. Raises `ValueError` for
    no pairs.
    """
    groups: dict[float, list[bool]] = {}
    for told, right in pairs:
        groups.setdefault(told, []).append(right)
    total = sum(map(len, groups.values()))
    if not total:
        raise ValueError("a curve of no answers")
    points, area, n, wrong = list[tuple[float, float]](), 0.0, 0, 0
    for told in sorted(groups, reverse=True):
        size, errors = len(groups[told]), groups[told].count(False)
        area += sum((wrong + k * errors / size) / (n + k) for k in range(1, size + 1))
        n, wrong = n + size, wrong + errors
        points.append((n / total, wrong / n))
    step = max(1, -(-len(points) // POINTS))
    return points[::-1][::step][::-1], area / total
