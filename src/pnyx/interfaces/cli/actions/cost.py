"""The action of `pnyx cost`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ....core.models import NUSD, money
from ....store.costs import TOKENS, CallCosts
from ....store.ledger import Account
from ...open_settings import open_settings
from ...render.terminal import columns, flat
from ...run_records import RunRecords
from ...views.transcript import paid
from ..records import with_records
from ..terminal.output import Stream, streams

__all__ = ["cost"]

BY: Mapping[str, Callable[[CallCosts], str]] = {
    "model": lambda spent: spent.model,
    "provider": lambda spent: spent.model.partition(":")[0],
    "protocol": lambda spent: spent.protocol,
    "day": lambda spent: spent.day,
    "run": lambda spent: spent.run_id,
    "key": lambda spent: spent.owner,
}


def cost(by: str, days: int | None, as_json: bool) -> int:
    output, settings = streams(), open_settings()
    today = datetime.now(UTC).date()
    since = (today - timedelta(days=days - 1)).isoformat() if days else ""

    async def read(stored: RunRecords) -> tuple[list[CallCosts], Account]:
        return await stored.spending(since), await stored.account(f"day:{today.isoformat()}")

    spent, account = with_records(settings, read)
    rows = [{by: name, **_sum(group)} for name, group in _group(spent, BY[by])]
    rows.sort(key=lambda row: row["day"] if by == "day" else (row["known_usd"], row["calls"]), reverse=True)
    total, cap = _sum(spent), settings.budget.day_usd
    if as_json:
        day = {"day": today.isoformat(), "spent_usd": account.spent_nusd / NUSD, "cap_usd": cap}
        day["reserved_usd"] = account.reserved_nusd / NUSD
        output.json({"by": by, "since": since or None, "rows": rows, "total": total, "today": day})
    elif rows:
        output.out.lines(_table(by, rows, total, output.out))
        if cap is not None:
            output.note(f"today (UTC): {_of(account)} of the daily budget of {money(cap)}")
    else:
        output.note("no calls yet" if days is None else "no calls in these days")
    return 0


def _group(
    spent: Iterable[CallCosts], key: Callable[[CallCosts], str]
) -> Iterable[tuple[str, list[CallCosts]]]:
    groups: dict[str, list[CallCosts]] = {}
    for one in spent:
        groups.setdefault(key(one), []).append(one)
    return groups.items()


def _sum(spent: Sequence[CallCosts]) -> dict[str, Any]:
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


def _table(by: str, rows: Sequence[dict[str, Any]], total: dict[str, Any], stream: Stream) -> Iterator[str]:
    counts = ("runs", "calls", *TOKENS)
    heads = [by, *(name.removesuffix("_tokens") for name in counts), "cost"]
    lines = [[flat(row[by]), *(f"{row[name]:,}" for name in counts), _paid(row)] for row in rows]
    last = ["total", *(f"{total[name]:,}" for name in counts), _paid(total)]
    for n, line in enumerate(columns([heads, *lines, last], right=range(1, len(heads)))):
        yield stream.paint(line, *(("bold",) if n in (0, len(lines) + 1) else ()))


def _paid(row: Mapping[str, Any]) -> str:
    return paid(row["known_usd"], row["cost_usd"] is None).removeprefix("cost ")  # as the column says


def _of(account: Account) -> str:
    reserved = f" and {money(account.reserved_nusd / NUSD)} reserved" if account.reserved_nusd else ""
    return f"{money(account.spent_nusd / NUSD)} spent{reserved}"
