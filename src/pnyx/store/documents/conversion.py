"""Rows of earlier versions: how they are read, and how they become those of this version while others read.

Earlier versions stored an event as JSON. Since files are stored apart, the prompts lacked the contents of
files, and noted their places.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from sqlalchemy import ColumnElement, Connection, delete, select, update

from ...core.documents import read
from ...errors import Unreadable
from ..records.run_filters import COLUMNS
from ..records.run_row import pack_texts, read_rows
from ..schema import conversions, events, runs
from .contents import pack
from .packing import PACKED
from .unpacking import read_contents, unpack, unpack_columns

__all__ = ["convert", "is_pending", "read_unpacked"]

T = TypeVar("T")
NAME = "texts"
"""The row of `conversions` that there is until all rows are converted."""
BATCH = 20
"""Events that are converted together: with prompts, each may be a megabyte."""
TRANSACTION_S = 0.03
"""Seconds of work in one transaction, which the runs of this process wait for."""

PLACES = "prompt_contents"
"""The field of a stored event with [place, hash] of each content that was taken out of its prompt."""


class Writer(Protocol):
    """A `Database`."""

    async def write(self, work: Callable[[Connection], T]) -> T: ...


def read_unpacked(connection: Connection, body: str, what: str) -> dict[str, Any]:
    """The event that an earlier version stored as `body`. what: its name in messages. Raises `Unreadable`."""
    document = read(body, what)
    if PLACES in document:
        places = document.pop(PLACES)
        found = read_contents(connection, {name for _, name in places})
        document["prompt"] = _whole(document["prompt"], places, found, what)
    return document


def _whole(rest: str, places: Iterable[tuple[int, str]], found: Mapping[str, str], what: str) -> str:
    out, length, done = [], 0, 0
    for at, name in places:
        if name not in found:
            raise Unreadable(f"{what}: the content of a file is gone; restore it from a backup")
        before = rest[done : done + at - length]
        done += len(before)
        out += [before, found[name]]
        length = at + len(found[name])
    return "".join(out) + rest[done:]


async def convert(database: Writer, within: float = math.inf) -> bool:
    """Convert the rows of earlier versions, run by run. Return whether all are converted.

    within: seconds after which it returns; the next call goes on, in this process or another. Others read
    and write between its transactions, and a process that is killed loses one of them.
    """
    until = time.monotonic() + within
    while time.monotonic() < until:
        if await database.write(_convert_some):
            return True
    return False


def is_pending(connection: Connection) -> bool:
    """Whether rows of an earlier version are not converted yet."""
    return (
        connection.execute(select(conversions.c.name).where(conversions.c.name == NAME)).first() is not None
    )


def _convert_some(connection: Connection) -> bool:
    """Convert for a short time. Return whether nothing is left."""
    until = time.monotonic() + TRANSACTION_S
    while not _convert_part(connection):
        if time.monotonic() >= until:
            return False
    return True


def _convert_part(connection: Connection) -> bool:
    """Convert some events of one run, or its row if they are converted. Return whether nothing is left."""
    state = select(conversions.c.done).where(conversions.c.name == NAME).with_for_update()
    done = connection.execute(state).scalar()
    if done is None:
        return True
    ids = select(runs.c.id).where(_ordered(connection, runs.c.id) > done)
    run_id = connection.execute(ids.order_by(_ordered(connection, runs.c.id)).limit(1)).scalar()
    if run_id is None:
        connection.execute(delete(conversions).where(conversions.c.name == NAME))
        return True
    old = select(events.c.seq, events.c.body).where(events.c.run_id == run_id, events.c.packed.is_(None))
    found = connection.execute(old.order_by(events.c.seq).limit(BATCH)).all()
    converted = [_convert_event(connection, run_id, seq, body) for seq, body in found]
    if len(found) < BATCH or not any(converted):
        _convert_row(connection, run_id)
        connection.execute(update(conversions).where(conversions.c.name == NAME).values(done=run_id))
    return False


def _ordered(connection: Connection, column: ColumnElement[Any]) -> ColumnElement[Any]:
    """The column in an order that is the same on every server."""
    return column.collate("BINARY" if connection.dialect.name == "sqlite" else "C")


def _convert_event(connection: Connection, run_id: str, seq: int, body: str) -> bool:
    """Pack an event, and return whether it would be read as it was; else, if damaged, it stays as it is."""
    what = f"event {seq} of run {run_id}"
    try:
        document = read_unpacked(connection, body, what)
        (packed,) = pack(connection, run_id, [document])
        (again,) = unpack(connection, [(packed, what)])
    except Unreadable:
        return False
    if json.dumps(again) == json.dumps(document):
        place = (events.c.run_id == run_id) & (events.c.seq == seq)
        connection.execute(update(events).where(place).values(packed=packed, body=""))
        return True
    return False


def _convert_row(connection: Connection, run_id: str) -> None:
    """Pack what a run's row has as text. What would not be read as it was stays as it is."""
    (row,) = read_rows(connection, connection.execute(select(*COLUMNS).where(runs.c.id == run_id)))
    if row.problem is not None:
        return
    stored = connection.execute(select(runs.c.spec, runs.c.result).where(runs.c.id == run_id)).one()
    texts: dict[str, Any] = {"question": row.question}
    for name, text in stored._mapping.items():
        if text is not None and not text.startswith(PACKED):
            texts[name] = read(text, f"the {name} of run {run_id}")
    packed = pack_texts(connection, run_id, texts)
    again = unpack_columns(connection, [(text, f"run {run_id}") for text in packed.values()])
    same = {
        name: packed[name]
        for name, value in zip(packed, again, strict=True)
        if json.dumps(value) == json.dumps(texts[name])
    }
    if same:
        connection.execute(update(runs).where(runs.c.id == run_id).values(**same))
