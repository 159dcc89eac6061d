"""A database that a newer pnyx wrote is read as far as it can be; one row never breaks a list.

The rows are those of the version before, changed as a newer version may change them: unknown events and
fields, another format, fields that are gone, and text that is no JSON.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pnyx.core.documents import FORMAT
from pnyx.store import Database
from pnyx.store.documents.conversion import convert
from tests.interfaces.shell import pnyx
from tests.run.test_previous_version import Stored, converted, original, stored
from tests.support.serving import open_server
from tests.support.stored import file_as_json

__all__ = ["converted", "original", "stored"]

Change = Callable[[dict[str, Any]], Any]
NEWER = {"format": FORMAT + 1, "version": "7.1.0"}


def without(*names: str) -> Change:
    return lambda document: {key: value for key, value in document.items() if key not in names}


def plus(**more: Any) -> Change:
    return lambda document: {**document, **more}


def migrate(file: Path) -> None:
    """Bring the database to this version, with all its rows converted."""

    async def run() -> None:
        database = await Database.open(file)
        assert await convert(database)
        await database.close()

    asyncio.run(run())


def edit(stored: Stored, table: str, column: str, where: str, change: Change) -> int:
    """Change stored documents and return how many."""
    migrate(stored.file)
    file_as_json(stored.file)
    with closing(sqlite3.connect(stored.file)) as connection, connection:
        rows = connection.execute(f"SELECT rowid, {column} FROM {table} WHERE {where}").fetchall()
        for rowid, text in rows:
            changed = change(json.loads(text))
            body = changed if isinstance(changed, str) else json.dumps(changed)
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (body, rowid))
    return len(rows)


def insert_event(stored: Stored, run_id: str, kind: str) -> int:
    """Append an event of an unknown type to the run and return its seq."""
    migrate(stored.file)
    with closing(sqlite3.connect(stored.file)) as connection, connection:
        (seq,) = connection.execute("SELECT seq + 1 FROM runs WHERE id = ?", (run_id,)).fetchone()
        document = {"type": kind, "seq": seq, "run_id": run_id, "mood": "fine", "format": FORMAT}
        connection.execute(
            "INSERT INTO events (run_id, seq, type, body) VALUES (?, ?, ?, ?)",
            (run_id, seq, kind, json.dumps(document)),
        )
        connection.execute("UPDATE runs SET seq = ? WHERE id = ?", (seq, run_id))
    return int(seq)


def finished(stored: Stored) -> str:
    """A finished run."""
    query = "SELECT id FROM runs WHERE result IS NOT NULL AND status NOT IN ('paused', 'running') LIMIT 1"
    ((run_id,),) = stored.rows(query)
    return str(run_id)


def paused(stored: Stored) -> str:
    """A run that was stopped inside consensus."""
    query = (
        "SELECT id FROM runs WHERE protocol = 'consensus' AND status NOT IN ('decided', 'consensus') LIMIT 1"
    )
    ((run_id,),) = stored.rows(query)
    return str(run_id)


async def over_http(run_id: str) -> tuple[Any, Any, list[dict[str, Any]]]:
    """The list of runs, the run, and its events, whose stream ends in any case."""
    async with open_server() as server, server.client() as client:
        listed = await client.get("/v1/runs?limit=1000")
        one = await client.get(f"/v1/runs/{run_id}")
        stream = await client.get(f"/v1/runs/{run_id}/events")
    data = [line.removeprefix("data: ") for line in stream.text.splitlines() if line.startswith("data: ")]
    return listed, one, [json.loads(event) for event in data] or [one.json()]


def test_unknown_fields_are_ignored_and_stay_where_they_are(stored: Stored) -> None:
    run_id, more = paused(stored), {"mood": {"of": "the panel"}}
    assert edit(stored, "events", "body", "1", plus(**more)) > 100
    assert edit(stored, "runs", "spec", "1", plus(**more)) == edit(stored, "runs", "spec", "1", plus())
    edit(stored, "runs", "result", "result IS NOT NULL", plus(**more))
    assert pnyx("runs", "--limit", "1000", "--json").code == 0
    assert pnyx("show", run_id).code == 0
    resumed = pnyx("resume", run_id, "--json")
    assert resumed.code == 0, resumed.err
    file_as_json(stored.file)
    ((spec,),) = stored.rows("SELECT spec FROM runs WHERE id = ?", run_id)
    assert json.loads(spec)["mood"] == more["mood"]
    assert sum("mood" in json.loads(body) for body in stored.bodies(run_id)) > 3


def test_an_unknown_event_is_shown_as_it_is_stored_and_does_not_stop_a_resume(stored: Stored) -> None:
    run_id = paused(stored)
    seq = insert_event(stored, run_id, "panel_rested")
    file = stored.file.with_name("run.json")
    assert pnyx("export", run_id, "--format", "json", "--out", str(file)).code == 0
    exported = json.loads(file.read_text("utf-8"))
    (event,) = [event for event in exported["events"] if event["type"] == "panel_rested"]
    assert (event["seq"], event["mood"]) == (seq, "fine")
    listed, _, events = asyncio.run(over_http(run_id))
    assert (listed.status_code, len(listed.json())) == (200, len(stored.rows("SELECT id FROM runs")))
    types = [event["type"] for event in events]
    assert "panel_rested" in types
    assert types[-1] == "run_finished"
    resumed = pnyx("resume", run_id, "--json")
    assert resumed.code == 0, resumed.err


BROKEN: dict[str, tuple[str, str, Change, str]] = {
    "an event of a newer format": ("events", "body", plus(**NEWER), "written by pnyx 7.1.0"),
    "a spec of a newer format": ("runs", "spec", plus(**NEWER), "written by pnyx 7.1.0"),
    "a result of a newer format": ("runs", "result", plus(**NEWER), "written by pnyx 7.1.0"),
    "a spec without its seats": ("runs", "spec", without("seats"), "has no seats"),
    "an event without its fields": (
        *("events", "body"),
        without("protocol", "attempt", "rule", "status"),
        "has no",
    ),
    "events with a seat that is no text": ("events", "body", plus(seat=True), "seat is bool, not str | None"),
    "an event that is no JSON": ("events", "body", lambda _: "{", "damaged"),
    "a spec that is no object": ("runs", "spec", lambda _: "[]", "damaged"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_one_run_that_cannot_be_read_says_why_and_breaks_no_list(stored: Stored, name: str) -> None:
    table, column, change, why = BROKEN[name]
    run_id = finished(stored) if column == "result" else paused(stored)
    where = f"run_id = '{run_id}'" if table == "events" else f"id = '{run_id}'"
    assert edit(stored, table, column, where, change) > 0
    total = len(stored.rows("SELECT id FROM runs"))
    listed = pnyx("runs", "--limit", "1000", "--json")
    assert listed.code == 0, listed.err
    matches = {run["run_id"]: run for run in json.loads(listed.out)}
    assert len(matches) == total
    assert (pnyx("runs", "--limit", "1000")).code == 0
    # Showing the run does not need the seats.
    for verb in ("resume",) if "seats" in name else ("show", "export", "resume"):
        done = pnyx(verb, run_id, *(["--format", "json"] if verb == "export" else []))
        assert done.code == 1, (verb, done.out)
        assert why in done.err
        assert "bug in pnyx" not in done.err
    answer, one, events = asyncio.run(over_http(run_id))
    assert (answer.status_code, len(answer.json())) == (200, total)
    if "seats" not in name:
        assert (one.status_code, one.json()["error"]["type"]) == (409, "unreadable")
        assert why in one.json()["error"]["message"]
    assert events[-1].get("type") == "run_finished" or events[-1]["error"]["type"] == "unreadable"
