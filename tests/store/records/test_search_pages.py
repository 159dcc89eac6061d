"""The pages of a search: together they are the list, whatever their length."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Connection

from pnyx.store import Database
from pnyx.store.records import runs as store
from pnyx.store.records import search as search_module
from pnyx.store.records.search import Hits, Place, search
from tests.store.records.test_search import add_run, outcome


@pytest.fixture
async def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, value in {"RANKED": 4, "BEST": 2, "MANY": 9}.items():
        monkeypatch.setattr(search_module, name, value)
    database = await Database.open(database_url)
    for n in range(25):
        words = " ".join(["common"] * (n % 7 + 1) + ["filler"] * (n % 5))
        question = "rare?" if n == 3 else f"A server costs {'much' if n % 6 else 'nothing'}?"
        owner = "phone" if n % 10 == 7 else "local"
        await add_run(database, f"run{n:02}", question, outcome(words), owner, f"2026-01-{n % 9 + 1:02}")
    yield database
    await database.close()


async def pages(database: Database, text: str, limit: int, **owners: Any) -> list[Hits]:
    found: list[Hits] = []
    place: Place | None = None
    while not found or place is not None:
        hits = await database.read(lambda c, at=place: search(c, text, limit, place=at, **owners))  # type: ignore[misc]
        assert len(hits) <= limit
        assert not found or hits.every == found[0].every
        found.append(hits)
        place = hits.next
    return found


@pytest.mark.parametrize(
    ("text", "owners", "count"),
    [
        ("common", {}, 25),
        ("common", {"owner": "phone"}, 2),
        ("common", {"except_owner": "phone"}, 23),
        ("server costs", {}, 24),
        ('"server costs nothing"', {}, 5),
        ('"costs nothing" common', {"owner": "local"}, 5),
        ('"nothing costs"', {}, 0),
    ],
)
async def test_the_pages_of_a_search_are_its_list(
    database: Database, text: str, owners: dict[str, str], count: int
) -> None:
    (whole,) = await pages(database, text, 100, **owners)
    assert (len(whole), len({hit.row.id for hit in whole})) == (count, count)
    for limit in (1, 2, 3, 5, 24, 25):
        found = await pages(database, text, limit, **owners)
        assert [hit for page in found for hit in page] == whole, limit


async def test_pages_of_runs_with_some_of_the_words_have_only_such_runs(database: Database) -> None:
    for limit in (1, 3, 100):
        found = await pages(database, "rare costs nowhere", limit)
        ids = [hit.row.id for page in found for hit in page]
        assert not found[0].every
        assert len(set(ids)) == len(ids)
        # A frequent word hides no rare one on any page.
        assert "run03" in ids


async def test_a_page_ends_where_its_texts_are_too_long(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    (whole,) = await pages(database, "common", 100)
    monkeypatch.setattr(store, "LIST_CHARS", 100)
    found = await pages(database, "common", 100)
    assert len(found) > 5
    assert [hit for page in found for hit in page] == whole


async def test_the_pages_of_a_conversation_are_its_turns(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def add(connection: Connection) -> None:
        for n in range(7):
            time = f"2026-02-01T00:00:0{n // 2}.000Z"
            spec = {"conversation": "turn0"}
            store.create(connection, store.RunRow.new(f"turn{n}", "local", time, "single", "Why?", spec))

    await database.write(add)
    for limit, most_chars in ((1, 1000), (3, 1000), (7, 1000), (7, 9)):
        monkeypatch.setattr(store, "LIST_CHARS", most_chars)
        ids, after, more = list[str](), None, True
        while more:
            rows = await database.read(
                lambda c, at=after, most=limit: store.conversation(c, "turn0", "local", most, at)  # type: ignore[misc]
            )
            ids += [row.id for row in rows]
            after, more = (rows[-1].created_at, rows[-1].id), rows.has_more
        assert ids == [f"turn{n}" for n in range(7)]
