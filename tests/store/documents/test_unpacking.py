"""Many documents are read with few statements, and few of their texts at once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from sqlalchemy import Connection, func, select, update

from pnyx.store import Database
from pnyx.store.documents import unpacking
from pnyx.store.documents.contents import pack
from pnyx.store.documents.packing import LEAST
from pnyx.store.documents.unpacking import FEW, Texts, unpack_each
from pnyx.store.records import runs as store
from pnyx.store.schema import contents, runs

MANY = 4 * FEW
LONG = "An answer, which is stored apart. " * (LEAST // 20)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url)
    yield opened
    await opened.close()


@pytest.fixture
def fetches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many contents each statement reads, with the sizes of contents or with the contents."""
    found: list[int] = []
    fetch = unpacking._fetch

    def note(connection: Connection, column: str, ids: set[int]) -> dict[int, Any]:
        found.append(len(ids))
        return fetch(connection, column, ids)

    monkeypatch.setattr(unpacking, "_fetch", note)
    return found


def answer(n: int) -> dict[str, Any]:
    return {"answer": f"{LONG} {n}", "dissent": [{"text": f"{LONG} {n // 2}!"}], "n": n}


async def add_runs(database: Database) -> Sequence[str]:
    """The ids of `MANY` runs with results."""
    ids = [f"run{n:03}" for n in range(MANY)]

    def add(connection: Connection) -> None:
        for n, id in enumerate(ids):
            spec = {"question": "Why?"}
            store.create(connection, store.RunRow.new(id, "local", "2026-11-22", "voting", "Why?", spec))
            store.patch(connection, id, {"result": answer(n)})

    await database.write(add)
    return ids


async def test_the_texts_of_many_runs_are_read_with_two_statements(
    database: Database, fetches: list[int]
) -> None:
    ids = await add_runs(database)
    rows = await database.read(lambda c: store.rows(c, ids))
    assert [row.result for row in rows] == [answer(n) for n in range(MANY)]
    assert len(fetches) == 2


@pytest.mark.parametrize(("most", "least"), [(1, MANY), (1000, 10), (10**9, 1)])
async def test_texts_are_read_as_far_ahead_as_they_are_short(
    database: Database, fetches: list[int], monkeypatch: pytest.MonkeyPatch, most: int, least: int
) -> None:
    monkeypatch.setattr(unpacking, "FETCHED_BYTES", most)
    values = [answer(n) for n in range(MANY)]
    await database.write(lambda c: store.create(c, store.RunRow.new("one", "", "", "", "", {})))
    packed = await database.write(lambda c: pack(c, "one", values))
    named = [(one, f"value {n}") for n, one in enumerate(packed)]
    for texts in (None, Texts()):
        fetches.clear()
        # The texts of a value may be those of the one before, which are known already.
        read = await database.read(lambda c, texts=texts: list(unpack_each(c, named, (), texts)))  # type: ignore[misc]
        assert read == values
        assert least <= len(fetches) - 1 <= max(least, MANY // 3)
    fetches.clear()
    assert await database.read(lambda c: next(unpack_each(c, named))) == values[0]
    assert len(fetches) == 2, "who stops early reads no more"


@pytest.mark.parametrize("damaged", [(0,), (MANY // 2,), (MANY - 1,), (3, 4, MANY - 2)])
async def test_damaged_runs_of_many_are_named_and_the_others_are_read(
    database: Database, damaged: Sequence[int]
) -> None:
    ids = await add_runs(database)
    names = [ids[n] for n in damaged]
    of_these = update(runs).where(runs.c.id.in_(names))
    await database.write(lambda c: c.execute(of_these.values(result="\x01~~")))
    rows = await database.read(lambda c: store.rows(c, ids))
    assert [row.id for row in rows if row.problem is not None] == names
    assert [row.result for row in rows] == [None if n in damaged else answer(n) for n in range(MANY)]


async def test_a_run_whose_text_is_damaged_hides_no_other(database: Database) -> None:
    ids = await add_runs(database)
    last = select(func.max(contents.c.id)).scalar_subquery()
    of_last = update(contents).where(contents.c.id == last)
    await database.write(lambda c: c.execute(of_last.values(content=b"damaged")))
    rows = await database.read(lambda c: store.rows(c, ids))
    assert [row.problem is not None for row in rows] == [False] * (MANY - 1) + [True]
