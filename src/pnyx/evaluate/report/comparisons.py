"""Compare each arm with each baseline, on the questions that both answered."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

from ..analysis.arms import MAJORITY, ORACLE, SINGLE, Column, is_panel, total_cost
from ..analysis.log import Row
from ..analysis.statistics import holm, mcnemar, minimum_detectable, paired_difference

__all__ = ["compare", "pairs"]


def pairs(columns: Sequence[Column], baselines: Collection[str] = ()) -> list[dict[str, Any]]:
    """Every arm against each baseline: the best single model, the majority and samples at equal cost.

    baselines: models outside the panel that arms are compared with too.

    p_holm: `p` adjusted for the number of panel arms compared with the same baseline; None for other arms.
    """
    by_name = {column.name: column for column in columns}
    found = []
    for to in columns:
        if to.name not in (SINGLE, MAJORITY, *baselines) and to.kind != "samples":
            continue
        against = [
            compare(arm, to, by_name[ORACLE] if to.name == SINGLE else None)
            for arm in columns
            if arm is not to and arm.rows.keys() & to.rows.keys()
        ]
        family = [pair for pair in against if is_panel(pair["arm"], by_name[pair["arm"]].kind)]
        for pair, adjusted in zip(family, holm([pair["p"] for pair in family]), strict=True):
            pair["p_holm"] = adjusted
        found += against
    return found


def compare(arm: Column, to: Column, oracle: Column | None = None) -> dict[str, Any]:
    """The accuracy of `arm` minus that of `to`, with counts and tests.

    n, rescues (only `arm` was right) and regressions (only `to` was right) are counts. safety_multiple:
    rescues / regressions; None without regressions. oracle_gap_closed: the share of the gap from `to` to
    `oracle` that `arm` closes; None without a gap. detectable: the smallest difference that these questions
    detect four times in five. cost_ratio, token_ratio: the cost of `arm` over that of `to`, in USD and in
    tokens; None if one is unknown or that of `to` is 0.
    """
    ids = [id for id in arm.rows if id in to.rows]
    ours, theirs = [arm.rows[id] for id in ids], [to.rows[id] for id in ids]
    rescues = sum(a.correct and not b.correct for a, b in zip(ours, theirs, strict=True))
    regressions = sum(b.correct and not a.correct for a, b in zip(ours, theirs, strict=True))
    n, differing = len(ids), rescues + regressions
    gap = sum(oracle.rows[id].correct - to.rows[id].correct for id in ids) if oracle else 0
    return {
        "arm": arm.name,
        "to": to.name,
        "n": n,
        "difference": asdict(paired_difference(rescues, regressions, n)),
        "p": mcnemar(rescues, regressions),
        "p_holm": None,
        "rescues": rescues,
        "regressions": regressions,
        "safety_multiple": rescues / regressions if regressions else None,
        "oracle_gap_closed": (rescues - regressions) / gap if gap > 0 else None,
        "detectable": minimum_detectable(n, max(differing, 1) / n),
        "cost_ratio": _ratio(total_cost(ours), total_cost(theirs)),
        "token_ratio": _ratio(_tokens(ours), _tokens(theirs)),
    }


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    return ours / theirs if ours is not None and theirs else None


def _tokens(rows: Sequence[Row]) -> int:
    return sum(row.input_tokens + row.output_tokens for row in rows)
