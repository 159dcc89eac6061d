"""Conversations: runs that belong together, and databases older than conversations."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import text

from pnyx.errors import NotFound
from pnyx.store import Database
from pnyx.store.records import runs as store
from pnyx.store.schema import REVISION


def row(id: str, at: str = "2026-01-01T00:00:00.000Z", owner: str = "local", **spec: str) -> store.RunRow:
    return store.RunRow.new(id, owner, at, "single", "Why?", spec)


async def fill(database: Database, *rows: store.RunRow) -> None:
    for each in rows:
        await database.write(lambda c, each=each: store.create(c, each))  # type: ignore[misc]


async def find(database: Database, prefix: str, owner: str | None = None) -> list[str]:
    return [r.id for r in await database.read(lambda c: store.conversation(c, prefix, owner))]


async def test_a_conversation_is_found_by_its_id_or_by_that_of_a_run_and_is_in_order(
    database_url: str,
) -> None:
    database = await Database.open(database_url)
    await fill(
        database,
        row("r3", "2026-01-03T00:00:00.000Z", conversation="talk1"),
        row("r1", "2026-01-01T00:00:00.000Z", conversation="talk1"),
        row("r2", "2026-01-02T00:00:00.000Z", conversation="talk2"),
        row("r4"),
        row("talk"),
        row("r5", owner="else", conversation="talk1x"),
        row("r6", owner="else", conversation="talk1"),
    )
    assert await find(database, "talk1", "local") == ["r1", "r3"]
    assert await find(database, "r3", "local") == ["r1", "r3"]
    assert await find(database, "talk2") == ["r2"]
    for unknown in ("", "r4", "nope", "%"):
        with pytest.raises(NotFound, match="no conversation"):
            await find(database, unknown, "local")
    with pytest.raises(NotFound, match="not unique: talk1, talk2; type more characters"):
        await find(database, "talk", "local")
    with pytest.raises(NotFound):
        await find(database, "r5", "local")
    assert await find(database, "talk1") == [
        "r1",
        "r6",
        "r3",
    ]  # an exact id, although it is also a prefix of another one
    (one,) = await database.read(lambda c: store.conversation(c, "talk2"))
    assert one.conversation == "talk2"
    await database.close()


async def test_an_old_database_is_migrated_and_keeps_its_runs(old_url: str) -> None:
    database = await Database.open(old_url)
    revision = await database.read(
        lambda c: c.execute(text("SELECT version_num FROM alembic_version")).scalar()
    )
    assert revision == REVISION
    (old,) = await database.read(store.listing)
    assert (old.id, old.status, old.conversation) == ("old", "paused", None)
    await fill(database, row("new", conversation="talk"))
    assert await find(database, "talk") == ["new"]
    await database.close()


async def test_an_old_database_opened_by_several_processes_is_migrated_once(old_url: str) -> None:
    opened = await asyncio.gather(*(Database.open(old_url) for _ in range(3)))
    for database in opened:
        assert [r.id for r in await database.read(store.listing)] == ["old"]
        await database.close()
