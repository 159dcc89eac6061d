"""Finds what a disk has altered within rows: pages of SQLite have no checksums, and those of PostgreSQL may
have none.

Contents are stored under their SHA-256. Events, specs and results are frames of zstd, which have a checksum
since 0.2; those of earlier versions are known to be damaged only if they can no longer be read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, LargeBinary, cast, func, select, tuple_

from ..errors import Unreadable
from .documents.contents import LIST
from .documents.packing import PACKED, decompress, from_column, load
from .engine import Database
from .schema import content_uses, contents, events, runs

__all__ = ["Altered", "find_altered"]

ROWS = 1000
"""Rows that are read at once at most."""
BYTES = 4_000_000
"""Compressed bytes of the contents that are read at once, if it is more than one."""


@dataclass
class Altered:
    """What was found. compared: how many rows of about how many in `total`; altered: how many of them differ.

    run_ids: the runs that have those. is_complete: whether there was time for all rows.
    """

    total: int = 0
    compared: int = 0
    altered: int = 0
    run_ids: set[str] = field(default_factory=set)
    is_complete: bool = True


async def find_altered(
    database: Database, most_s: float | None, report: Callable[[Altered], None]
) -> Altered:
    """Compare stored texts, runs and events with their checksums, in short transactions, the newest first.

    most_s: seconds after which it stops; None: when it has read all. report: called with what was found so
    far after each transaction. Raises `StoreError`.
    """
    until = None if most_s is None else time.monotonic() + most_s
    found = Altered(await database.read(_count))
    for read_some in (_contents, _runs, _events):
        before: Any = None
        while True:
            before = await database.read(partial(read_some, before=before, found=found))
            if before is None:
                break
            if until is not None and time.monotonic() > until:
                found.is_complete = False
                return found
            report(found)
    return found


def _count(connection: Connection) -> int:
    counts = (select(func.count()).select_from(table) for table in (contents, events, runs))
    return sum(int(connection.execute(query).scalar_one()) for query in counts)


def _contents(connection: Connection, before: int | None, found: Altered) -> int | None:
    """Compare the next contents, and return the number of the last of them; None if there are no more."""
    sizes = select(contents.c.id, func.length(contents.c.content)).order_by(contents.c.id.desc()).limit(ROWS)
    ids: list[int] = []
    size = 0
    for id, length in connection.execute(sizes if before is None else sizes.where(contents.c.id < before)):
        size += length
        if ids and size > BYTES:
            break
        ids.append(id)
    if not ids:
        return None
    values = select(contents.c.id, *_raw(connection, contents.c.sha256, contents.c.content))
    differ = []
    for id, name, content in connection.execute(values.where(contents.c.id.between(ids[-1], ids[0]))):
        found.compared += 1
        if not _is_content(name, content):
            differ.append(id)
    if differ:
        found.altered += len(differ)
        uses = select(content_uses.c.run_id).where(content_uses.c.content_id.in_(differ)).distinct()
        found.run_ids |= set(connection.execute(uses).scalars())
    return ids[-1]


def _is_content(name: bytes, content: bytes) -> bool:
    start = LIST if content.startswith(LIST) else b""
    try:
        return sha256(start + decompress(content[len(start) :], "")).digest() == name
    except Unreadable:
        return False


def _runs(connection: Connection, before: str | None, found: Altered) -> str | None:
    columns = _raw(connection, runs.c.question, runs.c.spec, runs.c.result)
    query = select(runs.c.id, *columns).order_by(runs.c.id.desc()).limit(ROWS)
    last = None
    for run_id, *values in connection.execute(query if before is None else query.where(runs.c.id < before)):
        last = run_id
        texts = (one.decode("ascii", "replace") if isinstance(one, bytes) else one for one in values if one)
        _compare(found, run_id, (text for text in texts if text.startswith(PACKED)))
    return last


def _events(connection: Connection, before: tuple[str, int] | None, found: Altered) -> tuple[str, int] | None:
    key = (events.c.run_id, events.c.seq)
    query = select(*key, *_raw(connection, events.c.packed)).order_by(*(one.desc() for one in key))
    if before is not None:
        query = query.where(tuple_(*key) < tuple_(*before))
    last = None
    for run_id, seq, packed in connection.execute(query.limit(ROWS)):
        last = (run_id, seq)
        _compare(found, run_id, () if packed is None else (packed,))
    return last


def _compare(found: Altered, run_id: str, documents: Iterable[bytes | str]) -> None:
    """Count a row, and note its run if one of its packed documents cannot be read."""
    found.compared += 1
    try:
        for one in documents:
            load(from_column(one, "") if isinstance(one, str) else one, "")
    except Unreadable:
        found.altered += 1
        found.run_ids.add(run_id)


def _raw(connection: Connection, *columns: Any) -> tuple[Any, ...]:
    """The columns, on SQLite as bytes: a damaged row may have a value of another type, or invalid text."""
    is_file = connection.dialect.name == "sqlite"
    return tuple(cast(one, LargeBinary) for one in columns) if is_file else columns
