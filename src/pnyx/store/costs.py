"""The cost of calls, summed by the database from the events of their runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import JSON, ColumnElement, Connection, case, cast, func, or_, select, type_coerce

from .schema import events, runs

__all__ = ["CallCosts", "call_costs"]

KINDS = ("call_started", "call_finished", "call_failed")
TOKENS = ("input_tokens", "cached_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class CallCosts:
    """The calls of one seat of a run on one day (UTC), and their cost.

    calls: requests sent. cost_usd: sum of the known costs. unpriced: number of responses and failures with
    an unknown cost. owner: name of the server's key that started the run, or "local".
    """

    run_id: str
    owner: str
    protocol: str
    model: str
    day: str
    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0


def call_costs(connection: Connection, since: str = "") -> list[CallCosts]:
    """Return the costs of calls on and after the day `since` (ISO 8601, UTC), in no order.

    A seat and day may have several entries: sum them. Replies that a fork copied are neither calls nor
    costs of the fork.
    """
    unreadable = _is_unreadable(connection)
    document = _document(connection, unreadable)
    day = func.substr(document["time"].as_string(), 1, 10)
    seat, copied = document["seat"].as_string(), document["copied"].as_boolean()
    # A failed call has no cost, but what the ledger charged for it.
    cost = func.coalesce(document["cost_usd"].as_float(), document["charged_usd"].as_float())
    keys: tuple[ColumnElement[Any], ...] = (events.c.run_id, seat, day, events.c.type)
    tokens = (func.sum(document[name].as_integer()) for name in TOKENS)
    query = (
        select(*keys, func.count(), func.count(cost), func.sum(cost), *tokens)
        .where(events.c.type.in_(KINDS), day >= since, func.coalesce(copied, False).is_(False))
        .group_by(*keys)
    )
    rows = [*map(tuple, connection.execute(query)), *_parse_unreadable(connection, unreadable, since)]
    known = _runs(connection, {row[0] for row in rows})
    return [_costs(known[row[0]], *row) for row in rows]


def _is_unreadable(connection: Connection) -> ColumnElement[bool]:
    """Whether an event may be JSON that Python reads and the database does not.

    Infinite numbers are not JSON. PostgreSQL rejects a whole document with a NUL or a lone surrogate in it.
    Whether an escaped surrogate is alone depends on its neighbour, so every one counts as unreadable.
    """
    sqlite = connection.dialect.name == "sqlite"
    found = func.instr if sqlite else func.strpos
    signs = ("NaN", "Infinity") if sqlite else ("NaN", "Infinity", r"\u0000", r"\ud")
    return or_(*(found(events.c.body, sign) > 0 for sign in signs))


def _document(connection: Connection, unreadable: ColumnElement[bool]) -> ColumnElement[Any]:
    """Return the event as JSON, empty if it is unreadable. SQLite reads the text, PostgreSQL needs a cast."""
    body = case((unreadable, "{}"), else_=events.c.body)
    return type_coerce(body, JSON) if connection.dialect.name == "sqlite" else cast(body, JSON)


def _parse_unreadable(
    connection: Connection, unreadable: ColumnElement[bool], since: str
) -> Iterator[tuple[Any, ...]]:
    """Yield a row of the sums for each event that the database cannot read."""
    query = select(events.c.run_id, events.c.type, events.c.body).where(events.c.type.in_(KINDS), unreadable)
    for run_id, kind, body in connection.execution_options(stream_results=True).execute(query):
        event = json.loads(body)
        day, cost = event["time"][:10], event.get("cost_usd")
        if day < since or event.get("copied"):
            continue
        cost = event.get("charged_usd") if cost is None else cost
        tokens = (event.get(name) for name in TOKENS)
        yield run_id, event["seat"], day, kind, 1, int(cost is not None), cost, *tokens


def _runs(connection: Connection, ids: set[str]) -> dict[str, tuple[str, str, dict[str, str]]]:
    """Return run id -> (owner, protocol, seat label -> model)."""
    query = select(runs.c.id, runs.c.owner, runs.c.protocol, runs.c.spec)
    return {
        id: (owner, protocol, {seat["label"]: seat["model"] for seat in json.loads(spec)["seats"]})
        for id, owner, protocol, spec in connection.execute(query)
        if id in ids
    }


def _costs(
    run: tuple[str, str, dict[str, str]],
    run_id: str,
    seat: str,
    day: str,
    kind: str,
    count: int,
    priced: int,
    cost: float | None,
    *tokens: int | None,
) -> CallCosts:
    owner, protocol, models = run
    group = (run_id, owner, protocol, models.get(seat, seat), day)
    if kind == "call_started":
        return CallCosts(*group, calls=count)
    new, cached, output = (count or 0 for count in tokens)
    return CallCosts(*group, 0, new, cached, output, cost or 0.0, unpriced=count - priced)
