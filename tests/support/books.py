"""The runs, events and accounts of a database. Only what packs events is read by the code under test."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import create_async_engine

from tests.support.stored import in_file, rows_of_events

__all__ = ["Attempt", "Books", "Run", "nusd"]

FINAL = (
    "consensus",
    "majority",
    "plurality",
    "decided",
    "stalled",
    "deadlock",
    "single",
    "failed",
    "cancelled",
)
QUERIES = {
    "runs": "SELECT id, status, seq, epoch FROM runs ORDER BY created_at, id",
    "ledger": "SELECT scope, cap_nusd, spent_nusd, reserved_nusd FROM ledger",
}


def nusd(usd: float | None) -> int:
    return round((usd or 0.0) * 1e9)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request in the journal: its intent, and its outcome or None."""

    started: Mapping[str, Any]
    outcome: Mapping[str, Any] | None

    @property
    def certain(self) -> bool:
        """Whether its cost is known, and not only reserved."""
        done = self.outcome
        return done is not None and done["type"] == "call_finished" and done["usage_flag"] is None

    @property
    def seconds(self) -> float:
        """Seconds from intent to outcome, by the journal's clock; more than its time at the host."""
        assert self.outcome is not None
        intents, ended = (datetime.fromisoformat(event["time"]) for event in (self.started, self.outcome))
        return (ended - intents).total_seconds()

    @property
    def charged(self) -> int:
        """The charge that the ledger should have for it, in nUSD."""
        done = self.outcome or {}
        return nusd(done.get("cost_usd") or done.get("charged_usd"))

    @property
    def overrun(self) -> int:
        """The charge beyond its reservation, in nUSD."""
        reserved = self.started["reserved_usd"]
        return 0 if reserved is None else max(0, self.charged - nusd(reserved))

    @property
    def kind(self) -> str:
        """How it failed, or ""; "open" without an outcome."""
        return "open" if self.outcome is None else str(self.outcome.get("kind", ""))


@dataclass(frozen=True, slots=True)
class Run:
    """A run's row and its events."""

    id: str
    status: str
    seq: int
    epoch: int
    events: Sequence[Mapping[str, Any]]

    @property
    def over(self) -> bool:
        return self.status in FINAL

    @property
    def charged(self) -> int:
        """The sum of the charges in the journal, in nUSD."""
        outcomes = [e for e in self.events if e["type"] in ("call_finished", "call_failed")]
        return sum(nusd(e.get("cost_usd") or e.get("charged_usd")) for e in outcomes)

    @property
    def attempts(self) -> list[Attempt]:
        intents: dict[tuple[str, int], Mapping[str, Any]] = {}
        done: dict[tuple[str, int], Mapping[str, Any]] = {}
        for event in self.events:
            at = (event["key"], event.get("attempt", 0))
            if event["type"] == "call_started":
                assert at not in intents, f"run {self.id}: attempt {at} was started twice"
                intents[at] = event
            elif event["type"] in ("call_finished", "call_failed") and at in intents and at not in done:
                done[at] = event
            elif event["type"] in ("call_finished", "call_failed"):
                # A dropped seat and a copy of a fork have an outcome without a request.
                charge = nusd(event.get("cost_usd") or event.get("charged_usd"))
                assert charge == 0, f"run {self.id}: {at} was charged without an intent"
        return [Attempt(event, done.get(at)) for at, event in intents.items()]


@dataclass(frozen=True, slots=True)
class Books:
    """accounts: scope -> (cap, spent, reserved) in nUSD."""

    runs: Mapping[str, Run]
    accounts: Mapping[str, tuple[int | None, int, int]]

    @classmethod
    def read(cls, url: str) -> Books:
        """Read the books at a SQLAlchemy URL; empty ones if the database does not exist."""
        rows = asyncio.run(_postgres(url)) if url.startswith("postgresql") else _sqlite(url)
        events: dict[str, list[Mapping[str, Any]]] = {}
        for run_id, seq, kind, body in rows["events"]:
            document = json.loads(body)
            assert (run_id, seq, kind) == (document["run_id"], document["seq"], document["type"])
            events.setdefault(run_id, []).append(document)
        runs = {
            id: Run(id, status, seq, epoch, events.pop(id, [])) for id, status, seq, epoch in rows["runs"]
        }
        assert not events, f"events of runs that do not exist: {list(events)}"
        return cls(runs, {scope: (cap, spent, held) for scope, cap, spent, held in rows["ledger"]})


def _read(connection: Connection) -> dict[str, list[Any]]:
    """The rows of one moment: other processes may write meanwhile."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN")
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalars().all() == ["ok"]
    tables = set(inspect(connection).get_table_names())
    found: dict[str, list[Any]] = {
        name: [tuple(row) for row in connection.execute(text(query))] if name in tables else []
        for name, query in QUERIES.items()
    }
    return found | {"events": rows_of_events(connection) if "events" in tables else []}


def _sqlite(url: str) -> dict[str, list[Any]]:
    path = Path(url.removeprefix("sqlite:///"))
    found: dict[str, list[Any]] = {name: [] for name in ("events", *QUERIES)}
    return in_file(path, _read) if path.exists() else found


async def _postgres(url: str) -> dict[str, list[Any]]:
    engine = create_async_engine(url, isolation_level="REPEATABLE READ")
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(_read)
    finally:
        await engine.dispose()
