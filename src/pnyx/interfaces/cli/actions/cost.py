"""The action of `pnyx cost`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ....core.models import NUSD, money
from ....store.money.cost_sums import CostSum
from ....store.money.costs import TOKENS
from ....store.money.ledger import Account
from ...open_settings import open_settings
from ...render.terminal import columns, flat
from ...run_records import RunRecords
from ...views.costs import first_day, sum_calls, sum_costs, sums_by
from ...views.transcript import paid
from ..records import with_records
from ..terminal.output import Stream, streams

__all__ = ["cost"]

MOST_RUNS = 1000
"""Runs in a table by run, the dearest; JSON has all."""


def cost(by: str, days: int | None, as_json: bool) -> int:
    output, settings = streams(), open_settings()

    async def read(stored: RunRecords) -> tuple[str, str, list[dict[str, Any]], list[CostSum], Account]:
        now = stored.now()
        today, since = now[:10], first_day(now, days) if days else ""
        spent = await stored.spending(since)
        if by == "run":
            rows = sum_calls(await stored.run_spending(since, most=None if as_json else MOST_RUNS))
        else:
            rows = sums_by(spent, by, since)
        return today, since, rows, spent, await stored.account(f"day:{today}")

    today, since, rows, spent, account = with_records(settings, read)
    total, cap = sum_costs(spent, since), settings.budget.day_usd
    if as_json:
        day = {"day": today, "spent_usd": account.spent_nusd / NUSD, "cap_usd": cap}
        day["reserved_usd"] = account.reserved_nusd / NUSD
        output.json({"by": by, "since": since or None, "rows": rows, "total": total, "today": day})
    elif rows:
        output.out.lines(_table(by, rows, total, output.out))
        if by == "run" and (more := total["runs"] - len(rows)) > 0:
            runs = "run, which costs" if more == 1 else "runs, which cost"
            output.note(f"… and {more:,} more {runs} less; --json lists all")
        if cap is not None:
            output.note(f"today (UTC): {_of(account)} of the daily budget of {money(cap)}")
    else:
        output.note("no calls yet" if days is None else "no calls in these days")
    return 0


def _table(by: str, rows: Sequence[dict[str, Any]], total: dict[str, Any], stream: Stream) -> Iterator[str]:
    counts = ("runs", "calls", *TOKENS)
    heads = [by, *(name.removesuffix("_tokens") for name in counts), "cost"]
    lines = [[flat(row[by]), *(f"{row[name]:,}" for name in counts), _paid(row)] for row in rows]
    last = ["total", *(f"{total[name]:,}" for name in counts), _paid(total)]
    right = range(1, len(heads))
    least = [heads.index(name) for name in ("cached", "runs", "input", "output")]
    for n, line in enumerate(columns([heads, *lines, last], right, stream.width, least)):
        yield stream.paint(line, *(("bold",) if n in (0, len(lines) + 1) else ()))


def _paid(row: Mapping[str, Any]) -> str:
    return paid(row["known_usd"], row["cost_usd"] is None).removeprefix("cost ")  # as the column says


def _of(account: Account) -> str:
    reserved = f" and {money(account.reserved_nusd / NUSD)} reserved" if account.reserved_nusd else ""
    return f"{money(account.spent_nusd / NUSD)} spent{reserved}"
