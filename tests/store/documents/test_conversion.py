"""Rows of earlier versions are read as they are, and converted while others read; a kill loses nothing."""

from __future__ import annotations

import asyncio
import json
import lzma
import multiprocessing
import os
import signal
import sqlite3
import time
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select, text

from pnyx.core.events import CallStarted, to_json
from pnyx.errors import Unreadable
from pnyx.store import Database, engine
from pnyx.store.documents import conversion
from pnyx.store.documents.conversion import convert, is_pending
from pnyx.store.documents.unpacking import read_contents
from pnyx.store.records import runs as store
from pnyx.store.schema import content_uses, events
from tests.store.conftest import migrate, open_empty
from tests.support.stored import rows_of_file

OLD = Path("tests/run/previous_version/pnyx-0.1.0.db.xz")
FILE = "\n".join(f"{n}| what line {n} of the file says" for n in range(40))
HASH = sha256(FILE.encode()).hexdigest()


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The home of an earlier version, with a run inside every protocol."""
    file = tmp_path / "old.db"
    file.write_bytes(lzma.decompress(OLD.read_bytes()))
    return file


def stored(file: Path) -> dict[tuple[str, int], Any]:
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute("SELECT run_id, seq, body FROM events").fetchall()
    return {(run_id, seq): json.loads(body) for run_id, seq, body in rows}


def read(file: Path) -> dict[tuple[str, int], Any]:
    return {(run_id, seq): json.loads(body) for run_id, seq, _, body in rows_of_file(file)}


def left(file: Path) -> tuple[int, list[str]]:
    """The number of events that are not converted, and the run up to which all are."""
    with closing(sqlite3.connect(file, timeout=120)) as connection:
        (events,) = connection.execute("SELECT count(*) FROM events WHERE packed IS NULL").fetchone()
        return events, [done for (done,) in connection.execute("SELECT done FROM conversions")]


async def test_an_old_home_is_converted_when_it_is_opened(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "CONVERT_S", 60.0)  # else a busy machine leaves the rest for later
    before = stored(old)
    with closing(sqlite3.connect(old)) as connection:
        query = "SELECT id, question, spec, result FROM runs"
        rows = {row[0]: row[1:] for row in connection.execute(query)}
    database = await Database.open(old)
    assert left(old) == (0, [])
    assert read(old) == before
    found = await database.read(lambda c: {id: store.find(c, id) for id in rows})
    listed = await database.read(lambda c: store.listing(c, limit=1000))
    assert {row.id for row in listed} == rows.keys()
    for id, (question, spec, result) in rows.items():
        row = found[id].check()
        assert (row.question, row.spec) == (question, json.loads(spec))
        expected = json.loads(result or "null")
        for name in ("version", "format"):
            (expected or {}).pop(name, None)
        assert row.result == expected
    await database.close()
    with closing(sqlite3.connect(old)) as connection:
        bodies, packed, texts = connection.execute(
            "SELECT (SELECT sum(length(body)) FROM events), (SELECT sum(length(packed)) FROM events),"
            " (SELECT sum(length(content)) FROM contents)"
        ).fetchone()
    assert bodies == 0
    assert packed + texts < sum(len(json.dumps(one)) for one in before.values()) / 4


def convert_slowly(file: Path) -> None:
    conversion.TRANSACTION_S, conversion.BATCH = 0.0, 1

    async def run() -> None:
        database = await Database.open(file)
        await convert(database)
        await database.close()

    asyncio.run(run())


def open_once(file: Path) -> None:
    async def run() -> None:
        await (await Database.open(file)).close()

    asyncio.run(run())


def test_a_killed_conversion_goes_on_and_others_read_meanwhile(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stored(old)
    with monkeypatch.context() as patch:
        patch.setattr(engine, "CONVERT_S", 0.0)
        open_once(old)
    counts = []
    for _ in range(3):
        process = multiprocessing.get_context("fork").Process(target=convert_slowly, args=(old,))
        process.start()
        at, until = left(old)[0], time.monotonic() + 120
        while left(old)[0] > at - 20 and time.monotonic() < until:
            time.sleep(0.005)
        assert read(old) == before
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        counts.append(left(old)[0])
        assert read(old) == before
    assert 0 < counts[2] < counts[1] < counts[0] < len(before)
    convert_slowly(old)
    assert left(old) == (0, [])
    assert read(old) == before


def fill(connection: Connection) -> None:
    """A run of revision 0015 with a file, a damaged event, and one with a later format."""
    migrate(connection, "0015")
    spec = {"question": "~Why?", "files": [{"name": "f", "content": HASH}]}
    values = {"id": "one", "spec": json.dumps(spec), "sha256": HASH, "content": FILE}
    for statement in (
        "INSERT INTO runs (id, owner, epoch, seq, status, created_at, updated_at, protocol, question, spec)"
        " VALUES (:id, 'local', 1, 4, 'paused', '2026', '2026', 'single', '\x02~Why?', :spec)",
        "INSERT INTO contents VALUES (:sha256, :content)",
    ):
        connection.execute(text(statement), values)
    prompt = {"prompt": "Before.\n\nAfter.", "prompt_contents": [[8, HASH]]}
    for seq, body in enumerate(
        (json.dumps(event(1) | prompt), "{", json.dumps(event(3) | {"format": 99})), 1
    ):
        row = {"seq": seq, "body": body}
        connection.execute(text("INSERT INTO events VALUES ('one', :seq, 'call_started', :body)"), row)


def event(seq: int) -> dict[str, Any]:
    started = CallStarted(
        run_id="one", attempt=1, fingerprint="f", model="m", prompt_id="p", prompt_sha256="s", prompt=""
    )
    return to_json(started) | {"seq": seq}


async def test_files_are_kept_and_damaged_events_stay_as_they_are(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await open_empty(database_url, monkeypatch)
    await database._backend.write([fill], repeatable=True)
    await database.close()
    database = await Database.open(database_url)
    assert not await database.read(is_pending)
    row = (await database.read(lambda c: store.find(c, "one"))).check()
    assert row.question == "\x02~Why?"
    query = select(events.c.seq, events.c.body, events.c.packed.is_(None)).order_by(events.c.seq)
    first, *others = await database.read(lambda c: [tuple(row) for row in c.execute(query)])
    assert first == (1, "", False)
    assert [(seq, kept) for seq, _, kept in others] == [(2, True), (3, True)]
    assert others[0][1] == "{"
    with pytest.raises(Unreadable, match="event 2 of run one is damaged"):
        await database.read(lambda c: store.log(c, "one"))
    (started,) = await database.read(lambda c: store.log(c, "one", limit=1))
    assert isinstance(started, CallStarted)
    assert started.prompt == f"Before.\n{FILE}\nAfter."
    assert await database.read(lambda c: read_contents(c, [HASH])) == {HASH: FILE}
    uses = select(content_uses.c.run_id)
    assert set(await database.read(lambda c: c.execute(uses).scalars().all())) == {"one"}
    await database.close()
