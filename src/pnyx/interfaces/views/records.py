"""Stored runs as interfaces show them: a result object for every run, and its events."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from ...core.decision import STATUSES, Status
from ...core.events import Event
from ...core.search_terms import Snippet
from ...errors import Unreadable
from ...run.lease import is_alive, is_waiting
from ...run.result import Result, Summary
from ...run.run_rows import prior_elapsed_s
from ...store import runs as store
from ...store.search import search

__all__ = [
    "Recalled",
    "Record",
    "read_recalled",
    "read_run",
    "read_runs",
    "read_turns",
]

STORED: Mapping[str, Sequence[tuple[str, bool | None]]] = {
    "waiting": (("running", None),),
    "running": (("running", True),),
    "paused": (("running", True), ("paused", None)),
}
"""How runs that are not over are stored: the status, and whether a process has taken them up. One whose
process is gone is stored as running, and is in truth paused, or waiting where that was a worker."""


@dataclass(frozen=True, slots=True)
class Record:
    """A run as stored. result: the object of the contract, made of the events where there is none yet."""

    row: store.RunRow
    result: Result
    events: tuple[Event, ...] = ()

    @property
    def document(self) -> dict[str, Any]:
        """The result as the object of the contract. A run that goes on has no reason why it stopped: null."""
        told = self.result.to_json()
        return told | {"stop_reason": None} if self.result.status in ("running", "waiting") else told


@dataclass(frozen=True, slots=True)
class Recalled:
    """Runs that were looked for, best first, each with where that stands in it.

    every: whether they have all that was looked for; else each has some of it, for none has all.
    """

    hits: tuple[tuple[Record, Snippet], ...]
    every: bool

    def to_json(self) -> list[dict[str, Any]]:
        """Result objects, each with its `snippet`, when it was begun, and whether it has all the words."""
        return [
            record.document
            | {"created_at": record.row.created_at, "all_words": self.every}
            | {"snippet": "".join(piece for piece, _ in snippet)}
            for record, snippet in self.hits
        ]


def read_run(connection: Connection, prefix: str, owner: str | None = None) -> Record:
    """The run whose id begins with `prefix`, with all its events. owner: whose it must be.

    Raises `NotFound`, `Unreadable`.
    """
    row = store.find(connection, prefix, owner).check()
    events = tuple(store.log(connection, row.id))
    return Record(row, _result(row, events), events)


def read_runs(
    connection: Connection,
    status: str | None = None,
    limit: int = 20,
    owner: str | None = None,
    but: str | None = None,
) -> list[Record]:
    """Runs, newest first, without their events. owner: whose they must be; but: whose they must not be."""
    rows: list[store.RunRow] = []
    for stored, taken in STORED.get(status or "", ((status, None),)):
        most = limit
        while True:
            listed = store.listing(
                connection, status=stored, limit=most, owner=owner, except_owner=but, has_worker=taken
            )
            found = [row for row in listed if status in (None, _status(row))]
            if len(found) >= limit or len(listed) < most:
                break
            most *= 2  # what is stored alike may be of another status
        rows += found
    rows.sort(key=lambda row: row.created_at, reverse=True)
    return [Record(row, _listed(connection, row)) for row in rows[:limit]]


def read_turns(connection: Connection, prefix: str, owner: str | None = None) -> list[Record]:
    """The runs of the conversation whose id, or a run's of it, begins with `prefix`; without their events.

    Raises `NotFound`.
    """
    return [Record(row, _listed(connection, row)) for row in store.conversation(connection, prefix, owner)]


def read_recalled(
    connection: Connection, text: str, limit: int, owner: str | None = None, but: str | None = None
) -> Recalled:
    """The runs that have the words of `text`, without their events. Raises `UsageError` where it has none.

    owner, but: as for `read_runs`.
    """
    hits, every = search(connection, text, limit, owner, but)
    rows = store.rows(connection, [hit.run_id for hit in hits])
    records = [Record(row, _listed(connection, row)) for row in rows]
    return Recalled(tuple(zip(records, (hit.snippet for hit in hits), strict=True)), every)


def _listed(connection: Connection, row: store.RunRow) -> Result:
    """The result of a run among others; of one that cannot be read, what its row says, and why."""
    try:
        row.check()
        return _result(row, () if _settled(row) else store.log(connection, row.id))
    except Unreadable as exc:
        return Result(
            run_id=row.id,
            status=row.status if row.status in STATUSES else "failed",
            stop_reason="unreadable",
            protocol=row.protocol,
            question=row.question,
            answer="",
            rounds=0,
            usage={**Summary().usage, "cost_usd": None},
            detail={"message": str(exc)},
        )


def _status(row: store.RunRow) -> str:
    return row.status if _settled(row) else _state(row)[0]


def _settled(row: store.RunRow) -> bool:
    return row.result is not None and row.status == row.result.get("status")


def _result(row: store.RunRow, events: Sequence[Event]) -> Result:
    if row.result is not None and _settled(row):
        return Result.from_json(row.result)
    summary = Summary()
    for event in events:
        summary.add(event)
    status, stop_reason, message = _state(row)
    return Result(
        run_id=row.id,
        status=status,
        stop_reason=stop_reason,
        protocol=row.protocol,
        question=row.question,
        answer=summary.answer or "",
        rounds=summary.rounds,
        seats=tuple(
            {"seat": seat.get("label", ""), "model": seat.get("model", ""), "role": seat.get("role") or None}
            for seat in row.spec.get("seats", ())
        ),
        dropped=tuple(summary.dropped),
        degraded=bool(summary.dropped),
        usage=dict(summary.usage),
        elapsed_s=prior_elapsed_s(row, events),
        detail={"message": message} if message else {},
    )


def _state(row: store.RunRow) -> tuple[Status, str, str]:
    """The status of a run that is not over, why it stopped, and what there is to say of that."""
    if is_waiting(row, time.time()):
        return "waiting", "", "a `pnyx worker` takes it up"
    if is_alive(row.worker, row.heartbeat_at, time.time()):
        return "running", "", ""
    if row.stop == "cancel":
        return (
            "paused",
            "interrupted",
            "the process that ran it is gone, and did not hear that it was cancelled",
        )
    return "paused", "interrupted", "the process that ran it is gone"
