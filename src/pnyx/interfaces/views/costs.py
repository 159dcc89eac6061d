"""What calls cost, summed by model, provider, protocol, saved panel, day, run or key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from ...core.models import NUSD
from ...store.money.cost_sums import CostSum
from ...store.money.costs import TOKENS, CallCosts, RunSum

__all__ = ["BY", "first_day", "sum_costs", "sums_by", "sums_by_model", "sums_by_run"]

NO_PANEL = "no saved panel"
"""The group of runs whose request named no panel."""
BY: Mapping[str, Callable[[CostSum], str]] = {
    "model": lambda spent: spent.model,
    "provider": lambda spent: spent.model.partition(":")[0],
    "protocol": lambda spent: spent.protocol,
    "panel": lambda spent: spent.panel or NO_PANEL,
    "day": lambda spent: spent.day,
    "key": lambda spent: spent.owner,
}


def first_day(now: str, days: int) -> str:
    """The first of the last `days` days. now: the time of the database, whose days the sums have."""
    return (date.fromisoformat(now[:10]) - timedelta(days=days - 1)).isoformat()


def sums_by(spent: Sequence[CostSum], by: str, since: str) -> list[dict[str, Any]]:
    """The totals of each group, dearest first; days newest first. by: a key of `BY`. since: the first day."""
    groups: dict[str, list[CostSum]] = {}
    for one in spent:
        groups.setdefault(BY[by](one), []).append(one)
    return _sorted([{by: name, **sum_costs(group, since, by)} for name, group in groups.items()], by)


def _sorted(rows: list[dict[str, Any]], by: str) -> list[dict[str, Any]]:
    rows.sort(key=lambda row: row["day"] if by == "day" else (row["known_usd"], row["calls"]), reverse=True)
    return rows


def sum_costs(spent: Iterable[CostSum], since: str, by: str = "") -> dict[str, Any]:
    """The totals of one group. cost_usd: None if a part of it is unknown; known_usd: the known part."""
    group = list(spent)
    return _totals(group, sum(one.runs for one in group if _counts(one, since or "0", by)))


def _counts(one: CostSum, since: str, by: str) -> bool:
    """Whether the runs of a row are in no other row of the group, see `CostSum`."""
    match by:
        case "model":
            return one.before_model < since
        case "provider":
            return one.before_provider < since
        case "day":
            return one.before_run != one.day
        case _:
            return one.before_run < since


def sums_by_run(spent: Iterable[RunSum]) -> Iterator[dict[str, Any]]:
    """The totals of each run, in their order."""
    for one in spent:
        tokens = one.input_tokens, one.cached_tokens, one.output_tokens
        yield {"run": one.run_id, **_row(1, one.calls, *tokens, one.cost_nusd / NUSD, one.unpriced)}


def sums_by_model(spent: Sequence[CallCosts]) -> list[dict[str, Any]]:
    """The totals of each model that one run called, dearest first."""
    groups: dict[str, list[CallCosts]] = {}
    for one in spent:
        groups.setdefault(one.model, []).append(one)
    return _sorted([{"model": name, **_totals(group, 1)} for name, group in groups.items()], "model")


def _totals(group: Sequence[CostSum | CallCosts], runs: int) -> dict[str, Any]:
    known, unpriced = round(sum(one.cost_usd for one in group), 9), sum(one.unpriced for one in group)
    calls, input, cached, output = (sum(getattr(one, name) for one in group) for name in ("calls", *TOKENS))
    return _row(runs, calls, input, cached, output, known, unpriced)


def _row(
    runs: int, calls: int, input: int, cached: int, output: int, known: float, unpriced: int
) -> dict[str, Any]:
    """The sums of a group. known: the USD of its calls with a price."""
    return {
        "runs": runs,
        "calls": calls,
        "input_tokens": input,
        "cached_tokens": cached,
        "output_tokens": output,
        "cost_usd": None if unpriced else known,
        "known_usd": known,
        "unpriced_calls": unpriced,
    }
