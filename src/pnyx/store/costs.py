"""What calls cost, summed by the database from the events of their runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import JSON, ColumnElement, Connection, case, cast, func, or_, select, type_coerce

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
    """What was spent on and after the day `since` (ISO 8601, UTC), in no order; every seat's days apart, and
    some calls by themselves.

    A reply that was copied into a fork cost nothing there and is no call of its own.
    """
    odd = _odd(connection)
    told = _document(connection, odd)
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
    rows = [*map(tuple, connection.execute(query)), *_read(connection, odd, since)]
    known = _runs(connection, {row[0] for row in rows})
    return [_spent(known[row[0]], *row) for row in rows]


def _odd(connection: Connection) -> ColumnElement[bool]:
    """Whether the database may not be able to read an event, which Python still does.

    Infinite numbers are no JSON. PostgreSQL refuses to read anything of a document with a NUL or half a
    character in it; whether an escape is half of one only its neighbour tells, so all such are odd to it.
    """
    sqlite = connection.dialect.name == "sqlite"
    found = func.instr if sqlite else func.strpos
    signs = ("NaN", "Infinity") if sqlite else ("NaN", "Infinity", r"\u0000", r"\ud")
    return or_(*(found(events.c.body, sign) > 0 for sign in signs))


def _document(connection: Connection, odd: ColumnElement[bool]) -> ColumnElement[Any]:
    """The event as JSON: SQLite reads it as it is, PostgreSQL when it is cast. Empty where it is odd."""
    body = case((odd, "{}"), else_=events.c.body)
    return type_coerce(body, JSON) if connection.dialect.name == "sqlite" else cast(body, JSON)


def _read(connection: Connection, odd: ColumnElement[bool], since: str) -> Iterator[tuple[Any, ...]]:
    """The odd events, each as a row of the sums."""
    query = select(events.c.run_id, events.c.type, events.c.body).where(events.c.type.in_(KINDS), odd)
    for run_id, kind, body in connection.execution_options(stream_results=True).execute(query):
        event = json.loads(body)
        day, cost = event["time"][:10], event.get("cost_usd")
        if day < since or event.get("copied"):
            continue
        cost = event.get("charged_usd") if cost is None else cost
        tokens = (event.get(name) for name in TOKENS)
        yield run_id, event["seat"], day, kind, 1, int(cost is not None), cost, *tokens


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
