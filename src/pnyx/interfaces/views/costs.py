"""What calls cost, summed by model, provider, protocol, saved panel, day, run or key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...store.costs import TOKENS, CallCosts

__all__ = ["BY", "sum_costs", "sums_by"]

NO_PANEL = "no saved panel"
"""The group of runs whose request named no panel."""
BY: Mapping[str, Callable[[CallCosts], str]] = {
    "model": lambda spent: spent.model,
    "provider": lambda spent: spent.model.partition(":")[0],
    "protocol": lambda spent: spent.protocol,
    "panel": lambda spent: spent.panel or NO_PANEL,
    "day": lambda spent: spent.day,
    "run": lambda spent: spent.run_id,
    "key": lambda spent: spent.owner,
}


def sums_by(spent: Sequence[CallCosts], by: str) -> list[dict[str, Any]]:
    """The totals of each group of calls. by: a key of `BY`. Days newest first, others dearest first."""
    rows = [{by: name, **sum_costs(group)} for name, group in _group(spent, BY[by])]
    rows.sort(key=lambda row: row["day"] if by == "day" else (row["known_usd"], row["calls"]), reverse=True)
    return rows


def _group(
    spent: Iterable[CallCosts], key: Callable[[CallCosts], str]
) -> Iterable[tuple[str, list[CallCosts]]]:
    groups: dict[str, list[CallCosts]] = {}
    for one in spent:
        groups.setdefault(key(one), []).append(one)
    return groups.items()


def sum_costs(spent: Sequence[CallCosts]) -> dict[str, Any]:
    """The totals. cost_usd: None if a part of it is unknown; known_usd: the known part."""
    known, unpriced = round(sum(one.cost_usd for one in spent), 9), sum(one.unpriced for one in spent)
    return {
        "runs": len({one.run_id for one in spent}),
        "calls": sum(one.calls for one in spent),
        **{name: sum(getattr(one, name) for one in spent) for name in TOKENS},
        "cost_usd": None if unpriced else known,
        "known_usd": known,
        "unpriced_calls": unpriced,
    }
