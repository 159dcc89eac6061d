"""The action of `pnyx cost`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ....core.models import NUSD, money
from ....evaluate.owners import OWNER as EVALUATIONS
from ....store.money.cost_sums import CostSum
from ....store.money.costs import TOKENS
from ....store.money.ledger import Account
from ...access.keys import LOCAL
from ...process.open_settings import open_settings
from ...records.runs import RunRecords
from ...render.terminal import columns, flat
from ...views.costs import first_day, sum_costs, sums_by, sums_by_run
from ...views.transcript import paid
from ..records import with_records
from ..terminal.output import Stream, streams

__all__ = ["cost"]

TOGETHER = 1000
"""Rows that are written at once."""
MOST_RUNS = 1000
"""Runs in a table by run, the dearest; JSON has all."""
OTHERS = "counted: the runs of this command line, of the server's keys and of evaluations; --by key has each"
NAMES = {LOCAL: "(command line)", EVALUATIONS: "(evaluations)"}
"""The owners of runs that are no key of the server, in the table; no key has such a name."""


def cost(by: str, days: int | None, as_json: bool) -> int:
    output, settings = streams(), open_settings()

    async def read(stored: RunRecords) -> tuple[str, str, Sequence[Any], list[CostSum], Account]:
        now = stored.now()
        today, since = now[:10], first_day(now, days) if days else ""
        spent = await stored.spending(since)
        found: Sequence[Any]
        if by == "run":
            found = await stored.run_spending(since, most=None if as_json else MOST_RUNS)
        else:
            found = sums_by(spent, by, since)
        return today, since, found, spent, await stored.account(f"day:{today}")

    today, since, found, spent, account = with_records(settings, read)
    rows = sums_by_run(found) if by == "run" else iter(found)
    total, cap = sum_costs(spent, since), settings.budget.day_usd
    if as_json:
        day = {"day": today, "spent_usd": account.spent_nusd / NUSD, "cap_usd": cap}
        day["reserved_usd"] = account.reserved_nusd / NUSD
        document: dict[str, Any] = {
            "by": by,
            "since": since or None,
            "rows": [],
            "total": total,
            "today": day,
        }
        _write(document, rows, output.out)
    elif found:
        output.out.lines(_table(by, list(rows), total, output.out))
        if by == "run" and (more := total["runs"] - len(found)) > 0:
            runs = "run, which costs" if more == 1 else "runs, which cost"
            output.note(f"… and {more:,} more {runs} less; --json lists all")
        if by != "key" and any(one.owner != LOCAL for one in spent):
            output.note(OTHERS)
        if cap is not None:
            output.note(f"today (UTC): {_of(account)} of the daily budget of {money(cap)}")
    else:
        output.note("no calls yet" if days is None else "no calls in these days")
    return 0


def _write(document: Mapping[str, Any], rows: Iterator[dict[str, Any]], stream: Stream) -> None:
    """Write the document with these rows, as `json.dumps(…, indent=2)` does, without all in memory."""
    head, name, tail = json.dumps(document, indent=2).partition('"rows": [')
    # Separators are written by C, which an indent is not: 100,000 rows would take two seconds more.
    encode = json.JSONEncoder(separators=(",\n      ", ": ")).encode
    stream.write(head + name)
    before = end = ""
    while part := list(islice(rows, TOGETHER)):
        written = (f"\n    {{\n      {encode(row)[1:-1]}\n    }}" for row in part)
        stream.write(before + ",".join(written))
        before, end = ",", "\n  "
    stream.write(f"{end}{tail}\n")


def _table(by: str, rows: Sequence[dict[str, Any]], total: dict[str, Any], stream: Stream) -> Iterator[str]:
    counts = ("runs", "calls", *TOKENS)
    heads = [by, *(name.removesuffix("_tokens") for name in counts), "cost"]
    lines = [
        [
            NAMES.get(row[by], row[by]) if by == "key" else flat(row[by]),
            *(f"{row[name]:,}" for name in counts),
            _paid(row),
        ]
        for row in rows
    ]
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
