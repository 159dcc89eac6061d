"""What calls cost, summed by the database from the events of their runs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import JSON, ColumnElement, Connection, cast, func, select, type_coerce

from .schema import events, runs

__all__ = ["Spent", "spending"]

KINDS = ("call_started", "call_finished", "call_failed")
TOKENS = ("input_tokens", "cached_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class Spent:
    """What the calls of one seat of a run came to on one day (UTC).

    calls: requests sent. cost_usd: of those whose cost is known; unpriced: how many others have an outcome.
    owner: the server's key that asked, or "local".
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


def spending(connection: Connection, since: str = "") -> list[Spent]:
    """What was spent on and after the day `since` (ISO 8601, UTC), in no order; every seat's days apart.

    A reply that was copied into a fork cost nothing there and is no call of its own.
    """
    told = _document(connection)
    day = func.substr(told["time"].as_string(), 1, 10)
    seat, copied = told["seat"].as_string(), told["copied"].as_boolean()
    # Of a call that failed, what was charged stands in for a bill.
    cost = func.coalesce(told["cost_usd"].as_float(), told["charged_usd"].as_float())
    keys: tuple[ColumnElement[Any], ...] = (events.c.run_id, seat, day, events.c.type)
    tokens = (func.sum(told[name].as_integer()) for name in TOKENS)
    query = (
        select(*keys, func.count(), func.count(cost), func.sum(cost), *tokens)
        .where(events.c.type.in_(KINDS), day >= since, func.coalesce(copied, False).is_(False))
        .group_by(*keys)
    )
    rows = connection.execute(query).all()
    known = _runs(connection, {row[0] for row in rows})
    return [_spent(known[row[0]], *row) for row in rows]


def _document(connection: Connection) -> ColumnElement[Any]:
    """The event as JSON: text that SQLite reads as it is, and PostgreSQL when it is cast."""
    if connection.dialect.name == "sqlite":
        return type_coerce(events.c.body, JSON)
    return cast(events.c.body, JSON)


def _runs(connection: Connection, ids: set[str]) -> dict[str, tuple[str, str, dict[str, str]]]:
    """run id -> its owner, its protocol, and its models by the labels of their seats."""
    query = select(runs.c.id, runs.c.owner, runs.c.protocol, runs.c.spec)
    return {
        id: (owner, protocol, {seat["label"]: seat["model"] for seat in json.loads(spec)["seats"]})
        for id, owner, protocol, spec in connection.execute(query)
        if id in ids
    }


def _spent(
    run: tuple[str, str, dict[str, str]],
    run_id: str,
    seat: str,
    day: str,
    kind: str,
    count: int,
    priced: int,
    cost: float | None,
    *tokens: int | None,
) -> Spent:
    owner, protocol, models = run
    where = (run_id, owner, protocol, models.get(seat, seat), day)
    if kind == "call_started":
        return Spent(*where, calls=count)
    read, cached, written = (one or 0 for one in tokens)
    return Spent(*where, 0, read, cached, written, cost or 0.0, unpriced=count - priced)
