"""What calls cost, summed for each run, day and model when their events are written.

The sums are of no use to a run: they are kept when it is deleted, so that reports of costs stay right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Connection, cast, func, select, text

from ...core.events import CallFailed, CallFinished, CallStarted, Event
from ...core.models import NO_PAYER, NUSD, Payer
from ...core.text import replace_invalid
from ..prepared import Prepared
from ..schema import run_costs

__all__ = [
    "COST_COLUMNS",
    "COUNTS",
    "ON_COSTS",
    "TOKENS",
    "CallCosts",
    "RunSum",
    "add_cost_rows",
    "cost_rows",
    "costs_of",
    "earlier",
    "run_sums",
]

TOKENS = ("input_tokens", "cached_tokens", "output_tokens")
COUNTS = ("calls", *TOKENS, "cost_nusd", "unpriced")
"""The columns that are sums."""
LATE_DAYS = 1
"""Days after its request until an outcome counts on the day of the request: the sums of earlier days may be
stored, see `store.money.cost_sums`."""


@dataclass(frozen=True, slots=True)
class CallCosts:
    """The calls of a run to one model on one day (UTC), and their cost.

    calls: requests sent. cost_usd: sum of the known costs. unpriced: number of responses and failures with
    an unknown cost. owner, panel: as in `Payer`.
    """

    run_id: str
    owner: str
    protocol: str
    panel: str
    model: str
    day: str
    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0


class RunSum(NamedTuple):
    """The calls of a run, and their cost, as in `CallCosts`. cost_nusd: in billionths of a USD."""

    run_id: str
    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_nusd: int
    unpriced: int


def cost_rows(units: Iterable[tuple[str, Payer, Iterable[Event], str]]) -> list[dict[str, Any]]:
    """Return what the calls among new events of runs add to the sums: one row for each run, day and model.

    units: the id of a run, who pays for its calls, events, and the day of the request that the outcomes among
    them belong to, "" for none. So a call over midnight counts on one day, as in the ledger. Replies that a
    fork copied are neither calls nor costs of the fork.
    """
    sums: dict[tuple[str, str, str], dict[str, Any]] = {}
    for run_id, payer, batch, sent_on in units:
        if payer is NO_PAYER:
            continue
        for event in batch:
            if not isinstance(event, CallStarted | CallFinished | CallFailed):
                continue
            if isinstance(event, CallFinished) and event.copied:
                continue
            model = replace_invalid(payer.models.get(event.seat or "", event.seat or ""))
            day = event.time[:10]
            if not isinstance(event, CallStarted) and earlier(day, LATE_DAYS) <= sent_on:
                day = sent_on
            key = (run_id, day, model)
            if key not in sums:
                group = {"owner": payer.owner, "protocol": payer.protocol, "panel": payer.panel}
                sums[key] = dict(zip(_KEYS, key, strict=True)) | group | dict.fromkeys(COUNTS, 0)
            for name, count in _counts(event).items():
                sums[key][name] += count
    return [row for _, row in sorted(sums.items())]


@lru_cache(8)  # for every event, and most are of one day
def earlier(day: str, days: int) -> str:
    """The day (ISO 8601) so many days before; "" for no day, such as that of a clock that was never set."""
    try:
        return (date.fromisoformat(day) - timedelta(days=days)).isoformat()
    except (ValueError, OverflowError):
        return ""


def add_cost_rows(connection: Connection, rows: Iterable[Mapping[str, Any]]) -> None:
    for row in rows:
        _ADD(connection, row)


def _counts(event: CallStarted | CallFinished | CallFailed) -> dict[str, int]:
    if isinstance(event, CallStarted):
        return {"calls": 1}
    # A failed call has no cost, but what the ledger charged for it.
    cost = event.cost_usd if isinstance(event, CallFinished) else event.charged_usd
    counts = {name: int(getattr(event, name)) for name in TOKENS}
    return counts | ({"unpriced": 1} if cost is None else {"cost_nusd": round(cost * NUSD)})


def costs_of(connection: Connection, run_id: str) -> list[CallCosts]:
    """Return the costs of the calls of one run, in no order."""
    return [_costs(row) for row in connection.execute(select(run_costs).where(run_costs.c.run_id == run_id))]


def run_sums(
    connection: Connection, since: str = "", owner: str | None = None, most: int | None = None
) -> list[RunSum]:
    """Return what each run cost on and after the day `since` (ISO 8601, UTC), the dearest first.

    owner: only of their runs. most: only so many runs. `store.money.cost_sums` adds up those of all runs in a
    fraction of the time.
    """
    chosen = [run_costs.c.day >= since, *([] if owner is None else [run_costs.c.owner == owner])]
    # As BIGINT: the sum of such numbers is of another type on PostgreSQL.
    sums = {name: cast(func.sum(run_costs.c[name]), BigInteger) for name in COUNTS}
    order = (sums["cost_nusd"].desc(), sums["calls"].desc(), _RUN)
    if most is not None:
        # The other sums are those of these runs alone.
        dearest = select(_RUN).where(*chosen).group_by(_RUN).order_by(*order).limit(most)
        chosen.append(run_costs.c.run_id.in_(dearest))
    query = select(_RUN).add_columns(*sums.values()).where(*chosen).group_by(_RUN).order_by(*order)
    return [RunSum(*row) for row in connection.execute(query)]


def _costs(row: Any) -> CallCosts:
    values = dict(row._mapping)
    return CallCosts(cost_usd=values.pop("cost_nusd") / NUSD, **values)


_RUN = run_costs.c.run_id.concat("")
"""The run without its index: SQLite would look up each row by it, in half as much time again."""
_KEYS = ("run_id", "day", "model")
COST_COLUMNS = dict.fromkeys((*_KEYS, "owner", "protocol", "panel"), "TEXT") | dict.fromkeys(COUNTS, "BIGINT")
"""The columns of a sum and their types on PostgreSQL."""
ON_COSTS = f"ON CONFLICT ({', '.join(_KEYS)}) DO UPDATE SET " + ", ".join(
    f"{name} = run_costs.{name} + excluded.{name}" for name in COUNTS
)
_ADD = Prepared(
    text(
        f"INSERT INTO run_costs ({', '.join(COST_COLUMNS)}) "
        f"VALUES ({', '.join(f':{name}' for name in COST_COLUMNS)}) {ON_COSTS}"
    )
)
