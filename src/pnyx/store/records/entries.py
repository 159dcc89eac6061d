"""The rows of events, as functions of a connection."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, insert, select

from ...core.documents import check, stamp
from ...core.events import Event, from_json, to_json
from ...errors import Unreadable
from ..documents.contents import RunContents, pack, unpack
from ..documents.conversion import read_unpacked
from ..prepared import Prepared
from ..schema import events

__all__ = ["PAGE", "PROMPTS", "add_events", "log"]

PAGE = 50
"""Events that a follower reads at once: others may go on between two pages. They wait in memory for a client
that does not read."""
PROMPTS = ("prompt", "system")
"""The texts of an event that are long, and that few readers need."""


def add_events(
    connection: Connection, run_id: str, last: int, batch: Sequence[Event], used: RunContents | None = None
) -> None:
    """Insert events of a run, the last of which has the number `last`. used: see `pack`."""
    numbered = enumerate(batch, last - len(batch) + 1)
    documents = [stamp(to_json(item) | {"run_id": run_id, "seq": seq}) for seq, item in numbered]
    packed = pack(connection, run_id, documents, used)
    rows = [
        {"run_id": run_id, "seq": document["seq"], "type": item.type, "body": "", "packed": stored}
        for item, document, stored in zip(batch, documents, packed, strict=True)
    ]
    _ADD(connection, *rows)


def log(
    connection: Connection,
    run_id: str,
    after: int = 0,
    limit: int | None = None,
    prompts: bool = True,
    only: Collection[str] = (),
    newest: int | None = None,
) -> list[Event]:
    """Return the stored events of a run with a `seq` greater than `after`, in order. Raises `Unreadable`.

    limit: at most so many, the first; newest: the last. only: those of these types; empty: of all. prompts:
    False reads no long prompts; `prompt` and `system` are "" then.
    """
    query = select(events.c.seq, events.c.body, events.c.packed)
    query = query.where(events.c.run_id == run_id, events.c.seq > after)
    if only:
        query = query.where(events.c.type.in_(only))
    order = events.c.seq if newest is None else events.c.seq.desc()
    rows = connection.execute(query.order_by(order).limit(limit if newest is None else newest)).all()
    stored = [(row, f"event {row.seq} of run {run_id}") for row in (rows if newest is None else rows[::-1])]
    packed = [(row.packed, what) for row, what in stored if row.packed is not None]
    found = iter(unpack(connection, packed, () if prompts else PROMPTS))
    # An event of an earlier version, which is not converted yet.
    documents = [
        read_unpacked(connection, row.body, what) if row.packed is None else check(next(found), what)
        for row, what in stored
    ]
    return [_event(run_id, document) for document in documents]


def _event(run_id: str, document: Mapping[str, Any]) -> Event:
    try:
        return from_json(document)
    except Unreadable as exc:
        raise Unreadable(f"run {run_id}: {exc}") from exc


_ADD = Prepared(insert(events))
