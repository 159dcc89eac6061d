"""Runs in lists: those that are not over are summed up from their events."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, event, update

from pnyx.core.events import CallFinished, Event, PhaseEntered, RunFinished
from pnyx.errors import ProviderError
from pnyx.interfaces.views import records
from pnyx.interfaces.views.records import read_run, read_runs, read_summary, search_runs
from pnyx.providers.base import Call
from pnyx.store import Database
from pnyx.store.records import runs as store
from pnyx.store.schema import events
from tests.interfaces.events import RESULT
from tests.support.panels import Host
from tests.support.processes import Node, fixed_reply, spec


def lost(call: Call) -> str | Exception:
    return ProviderError("timeout", "no answer", billed=True) if call.model == "small" else fixed_reply(call)


@pytest.mark.parametrize("rule", [fixed_reply, lost])
async def test_a_long_run_that_is_not_over_is_listed_from_a_few_of_its_events(
    database_url: str, monkeypatch: pytest.MonkeyPatch, rule: object
) -> None:
    node = Node(await Database.open(database_url), Host(rule))  # type: ignore[arg-type]
    done = await (await node.start(options={"rounds": 2})).result()
    log = [one for one in await node.log(done.run_id) if not isinstance(one, RunFinished)]
    asked = spec(options={"rounds": 2})

    def copy(connection: Connection) -> None:
        old = store.find(connection, done.run_id)
        row = store.RunRow.new("gone", "local", old.created_at, old.protocol, old.question, asked.to_json())
        store.create(connection, row)
        store.append(connection, "gone", 1, log, payer=asked.payer)

    await node.database.write(copy)
    whole = (await node.database.read(lambda c: read_run(c, "gone"))).result

    async def listed() -> object:
        found = await node.database.read(lambda c: read_runs(c, limit=5))
        return next(one.result for one in found if one.row.id == "gone")

    assert await listed() == whole
    monkeypatch.setattr(records, "LONG", 3)
    monkeypatch.setattr(records, "RECENT", 2)
    read = list[str]()
    real = store.log

    def note(*args: Any, **named: Any) -> list[Event]:
        found = real(*args, **named)
        read.extend(type(one).__name__ for one in found)
        return found

    monkeypatch.setattr(store, "log", note)
    assert await listed() == whole
    assert read.count(CallFinished.__name__) <= 1
    assert sum(isinstance(one, PhaseEntered) for one in log) > 4
    assert len(read) <= 8
    await node.runner.close()


async def test_runs_that_are_not_over_are_listed_with_few_statements(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As each is read by itself; a damaged one keeps none from being listed."""
    node = Node(await Database.open(database_url), Host(fixed_reply))
    done = await (await node.start()).result()
    log = [one for one in await node.log(done.run_id) if not isinstance(one, RunFinished)]
    monkeypatch.setattr(records, "TOGETHER", 4 * len(log))

    def list_them(connection: Connection) -> tuple[list[records.Record], int]:
        statements = list[str]()
        note = partial(_note, statements)
        event.listen(connection, "before_cursor_execute", note)
        found = read_runs(connection, limit=100)
        event.remove(connection, "before_cursor_execute", note)
        return found, len(statements)

    def copy(connection: Connection, name: str) -> None:
        old = store.find(connection, done.run_id)
        store.create(connection, store.RunRow.new(name, "local", old.created_at, "voting", "Why?", old.spec))
        store.append(connection, name, 1, log[: len(log) - len(name) % 3])

    for n in range(12):
        await node.database.write(partial(copy, name=f"gone{'x' * n}"))
    found, statements = await node.database.read(list_them)
    assert statements <= 12
    for one in found:
        alone = await node.database.read(partial(read_summary, prefix=one.row.id))
        assert one.result == alone.result
    damage = update(events).where(events.c.run_id == "gone", events.c.seq == 2).values(packed=b"x")
    await node.database.write(lambda c: c.execute(damage).rowcount)
    listed, _ = await node.database.read(list_them)
    assert [one.result for one in listed if one.row.id != "gone"] == [
        one.result for one in found if one.row.id != "gone"
    ]
    assert next(one.result for one in listed if one.row.id == "gone").stop_reason == "unreadable"
    await node.runner.close()


@pytest.mark.parametrize("status", [None, "paused", "decided", "running"])
async def test_a_page_of_a_list_ends_where_its_texts_are_long_and_none_is_missing(
    database_url: str, monkeypatch: pytest.MonkeyPatch, status: str | None
) -> None:
    database = await Database.open(database_url)

    def fill(connection: Connection) -> None:
        for n in range(60):
            # Pairs are of the same moment. The process of some of the paused ones is gone.
            time, question = f"2026-01-01T00:00:{n // 2:02}.000Z", f"{n} " + "long " * (500 * (n % 3))
            row = store.RunRow.new(
                f"run{n * 37 % 60:02}", "local", time, "single", question, {"question": question}
            )
            kind = ("paused", "running", "decided")[n // 3 % 3]
            result = RESULT | {"run_id": row.id, "status": kind, "question": question}
            store.create(connection, replace(row, status=kind, result=None if kind == "running" else result))

    await database.write(fill)
    whole = await database.read(lambda c: read_runs(c, status, 100))
    assert not whole.has_more
    monkeypatch.setattr(store, "LIST_CHARS", 6000)
    pages, place = list[records.RunPage](), None
    while not pages or pages[-1].has_more:
        page = await database.read(partial(read_runs, status=status, limit=20, after=place))
        pages.append(page)
        if page:
            place = page[-1].row.created_at, page[-1].row.id
    assert [one.row.id for page in pages for one in page] == [one.row.id for one in whole]
    assert all(len(page) == 1 or sum(len(one.row.question) for one in page) <= 12_000 for page in pages)
    assert len(pages) > 3 or status == "running"
    assert bool(whole) == (status != "running")
    await database.close()


async def test_a_search_ends_where_its_texts_are_long(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await Database.open(database_url)

    def fill(connection: Connection) -> None:
        for n in range(30):
            text = "evidence " * 200
            row = store.RunRow.new(f"run{n:02}", "local", "2026", "single", text, {"question": text})
            store.create(connection, row)

    await database.write(fill)
    assert len((await database.read(lambda c: search_runs(c, "evidence", 30))).hits) == 30
    monkeypatch.setattr(store, "LIST_CHARS", 5000)
    assert len((await database.read(lambda c: search_runs(c, "evidence", 30))).hits) == 2
    await database.close()


def _note(statements: list[str], *details: Any) -> None:
    statements.append(details[2])
