"""Stored rows as JSON: tests that look at them, or damage them, do not depend on how they are packed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, create_engine, inspect, select, update
from sqlalchemy.engine import URL

from pnyx.store.documents.conversion import read_unpacked
from pnyx.store.documents.unpacking import unpack, unpack_columns
from pnyx.store.schema import events, runs

__all__ = ["as_json", "bodies", "file_as_json", "in_file", "results", "rows_of_events", "rows_of_file"]

T = TypeVar("T")


def rows_of_events(connection: Connection) -> list[tuple[str, int, str, str]]:
    """(run, seq, type, JSON) of every event, in order."""
    old = "packed" not in {column["name"] for column in inspect(connection).get_columns("events")}
    columns = [events.c.run_id, events.c.seq, events.c.type, events.c.body]
    query = select(*columns, *(() if old else (events.c.packed,))).order_by(events.c.run_id, events.c.seq)
    out = []
    for run_id, seq, kind, body, *packed in connection.execute(query).all():
        if not packed or packed[0] is None:
            document: Any = read_unpacked(connection, body, "an event")
        else:
            (document,) = unpack(connection, [(packed[0], f"event {seq}")])
        out.append((run_id, seq, kind, json.dumps(document)))
    return out


def bodies(connection: Connection, run_id: str | None = None) -> list[str]:
    """The JSON of every event, or of those of a run."""
    return [body for run, _, _, body in rows_of_events(connection) if run_id in (None, run)]


def as_json(connection: Connection) -> None:
    """Store every row as an earlier version did, so that SQL can change it."""
    for run_id, seq, _, body in rows_of_events(connection):
        place = (events.c.run_id == run_id) & (events.c.seq == seq)
        connection.execute(update(events).where(place).values(body=body, packed=None))
    query = select(runs.c.id, runs.c.question, runs.c.spec, runs.c.result)
    for id, *columns in connection.execute(query).all():
        question, spec, result = unpack_columns(connection, [(text, f"run {id}") for text in columns])
        texts = [one if one is None or isinstance(one, str) else json.dumps(one) for one in (spec, result)]
        values = {"question": question, "spec": texts[0], "result": texts[1]}
        connection.execute(update(runs).where(runs.c.id == id).values(**values))


def results(file: Path) -> list[tuple[str, str, Any]]:
    """(question, id, result) of every run in a file, newest first; None: without a result."""
    query = select(runs.c.question, runs.c.id, runs.c.result).order_by(runs.c.created_at.desc())

    def read(connection: Connection) -> list[tuple[str, str, Any]]:
        found = []
        for packed_question, id, packed in connection.execute(query).all():
            columns = [(packed_question, f"run {id}"), (packed, f"run {id}")]
            question, result = unpack_columns(connection, columns)
            found.append((question, id, json.loads(result) if isinstance(result, str) else result))
        return found

    return in_file(file, read)


def in_file(file: Path, work: Callable[[Connection], T]) -> T:
    """What `work` makes of a connection to an SQLite file; what it writes is committed."""
    engine = create_engine(URL.create("sqlite", database=str(file)))
    try:
        with engine.begin() as connection:
            return work(connection)
    finally:
        engine.dispose()


def file_as_json(file: Path) -> None:
    """`as_json` of an SQLite file."""
    in_file(file, as_json)


def rows_of_file(file: Path) -> list[tuple[str, int, str, str]]:
    """`rows_of_events` of an SQLite file."""
    return in_file(file, rows_of_events)
