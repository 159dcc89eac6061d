"""Sums of what calls cost, over all runs: few rows for each day, so that years of runs are added up at once.

The days that are over have their sums in `cost_days`; those of the last days are added up from `run_costs`. A
run counts once in any sum, though it has a row for each model and day: each row says on which earlier day the
run counted, so that a reader can leave out the runs that its other rows have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from sqlalchemy import Connection, Select, delete, insert, select, text

from ...core.models import NUSD
from ..advisory_locks import AdvisoryLock
from ..prepared import Prepared
from ..schema import cost_days, run_costs
from .costs import COUNTS, earlier

__all__ = ["CostSum", "cost_sums", "sum_up"]

OPEN_DAYS = 2
"""Days until a day counts as over: calls of a day are stored after it too, and clocks differ."""
AGAIN_DAYS = 7
"""Days that are added up again with new ones: a computer's clock may be days late."""
NEVER = "9999-99-99"
"""After every day."""


@dataclass(slots=True, kw_only=True)
class CostSum:
    """The calls of one day (UTC) with the same owner, protocol, saved panel ("" for none) and model.

    runs: how many runs made them. before_model, before_provider, before_run: the last earlier day on which
    these runs called this model, a model of its provider, or any; "" for none; the same day if another row of
    it counts them. So the runs of a period are those of rows whose day before lies before it.
    """

    day: str
    owner: str
    protocol: str
    panel: str
    model: str
    before_model: str = ""
    before_provider: str = ""
    before_run: str = ""
    runs: int = 0
    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_nusd: int = 0
    unpriced: int = 0

    @property
    def cost_usd(self) -> float:
        """The known cost, in USD."""
        return self.cost_nusd / NUSD


def cost_sums(
    connection: Connection, since: str = "", owner: str | None = None, *, today: str | None = None
) -> list[CostSum]:
    """Return the sums on and after the day `since` (ISO 8601), in no order. owner: only of their runs.

    today: ISO 8601, so that nothing is left out of days that a clock which was ahead has taken for over.
    """
    last = _last(connection)
    if today is not None:
        last = min(last, earlier(today, OPEN_DAYS))
    query = select(cost_days).where(cost_days.c.day >= since, cost_days.c.day <= last)
    if owner is not None:
        query = query.where(cost_days.c.owner == owner)
    closed = [CostSum(**row._mapping) for row in connection.execute(query)]
    return closed + [one for one in _sums(connection, last, NEVER, owner) if one.day >= since]


def sum_up(connection: Connection, today: str) -> None:
    """Store the sums of the days that are over. today: ISO 8601. Quick if there is nothing to do.

    Sums of today or of later days are those of a clock that was ahead; calls are stored on these days yet.
    """
    last = _last(connection)
    over = earlier(today, OPEN_DAYS)
    if last >= today:
        connection.execute(delete(cost_days).where(cost_days.c.day > over))
        last = _last(connection)
    if not _NEW(connection, {"last": last, "over": over}):
        return
    if connection.dialect.name == "postgresql":
        # Another process does the same.
        lock = text(f"SELECT pg_try_advisory_xact_lock({AdvisoryLock.COST_SUMS})")
        if not connection.execute(lock).scalar():
            return
    first = earlier(last, AGAIN_DAYS)
    connection.execute(delete(cost_days).where(cost_days.c.day > first))
    rows = [asdict(one) for one in _sums(connection, first, over, None)]
    if rows:
        connection.execute(insert(cost_days), rows)


def _last(connection: Connection) -> str:
    """Return the last day whose sums are stored; "" for none."""
    return _LAST(connection, {})[0][0] or ""


def _sums(connection: Connection, after: str, until: str, owner: str | None) -> list[CostSum]:
    """Return the sums of the days after `after`, up to `until`."""
    sums: dict[tuple[str, ...], CostSum] = {}
    for day, counts in _rows(connection, after, until, owner):
        key = tuple(day.values())
        found = sums.get(key)
        if found is None:
            found = sums[key] = CostSum(**day)
        found.runs += 1
        for name, count in counts.items():
            setattr(found, name, getattr(found, name) + count)
    return list(sums.values())


def _rows(
    connection: Connection, after: str, until: str, owner: str | None
) -> Iterator[tuple[dict[str, Any], Mapping[str, int]]]:
    """Yield the key of the sum and the counts of each row of these days."""
    run_id, before = "", dict[tuple[str, str], str]()
    query = _query(after, until, owner).execution_options(stream_results=True)
    for row in connection.execute(query):
        if row.run_id != run_id:
            run_id, before = row.run_id, {}
        provider = row.model.partition(":")[0]
        places = {"before_model": row.model, "before_provider": provider, "before_run": ""}
        days = {name: before.get((name, of), "") for name, of in places.items()}
        before.update(dict.fromkeys(places.items(), row.day))
        if row.day > after:
            yield (
                {name: getattr(row, name) for name in _GROUP} | days,
                {name: getattr(row, name) for name in COUNTS},
            )


def _query(after: str, until: str, owner: str | None) -> Select[Any]:
    """All rows, of earlier days too, of the runs with calls on these days: run by run, day by day."""
    days = select(run_costs.c.run_id).where(run_costs.c.day > after, run_costs.c.day <= until)
    if owner is not None:
        days = days.where(run_costs.c.owner == owner)
    chosen = select(run_costs).where(run_costs.c.run_id.in_(days), run_costs.c.day <= until)
    return chosen.order_by(run_costs.c.run_id, run_costs.c.day, run_costs.c.model)


_LAST = Prepared(text("SELECT MAX(day) FROM cost_days"))
_NEW = Prepared(text("SELECT 1 FROM run_costs WHERE day > :last AND day <= :over LIMIT 1"))
_GROUP = tuple(field.name for field in fields(CostSum))[:5]
