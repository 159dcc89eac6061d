"""The index of words: on SQLite it has no words itself, and forgets a run by the words that its row has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, text

from pnyx.store import Database
from pnyx.store.records import runs as store
from pnyx.store.records import word_index
from pnyx.store.records.deletion import delete_runs
from pnyx.store.records.search import search
from tests.store.conftest import migrate, open_empty
from tests.support.properties import examples

RESULT = ("answer", "final_answer", "dissent", "text")
WORDS = ("cost", "café", "東京", "lamps", "Ǆ", "x\0y", "ﬁne")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
RESULTS = st.none() | st.builds(
    lambda answer, dissent: {"answer": answer, "final_answer": None, "dissent": [{"text": dissent}]},
    TEXTS | TEXTS.map(lambda words: f"{words} " * 200),
    TEXTS,
)
TIME = "2026-01-01T00:00:00.000Z"


def create(connection: Connection, id: str, question: str) -> None:
    store.create(connection, store.RunRow.new(id, "local", TIME, "single", question, {}))


def found(connection: Connection, word: str) -> set[str]:
    return {hit.row.id for hit in search(connection, word, 20)}


@examples(8)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(("new", "result", "delete")), st.integers(0, 3), TEXTS, RESULTS),
        max_size=12,
    )
)
async def test_a_run_is_found_by_the_words_that_it_has_now(
    steps: list[tuple[str, int, str, Mapping[str, Any] | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    database = await Database.open(tmp_path_factory.mktemp("index") / "a.db")
    runs: dict[str, str] = {}
    texts: dict[str, str] = {}

    def work(connection: Connection) -> None:
        for kind, n, question, result in steps:
            id = f"run{n}"
            if kind == "new" and id not in runs:
                create(connection, id, question)
                runs[id], texts[id] = question, question
            elif kind == "result" and id in runs:
                store.patch(connection, id, {"result": result})
                texts[id] = f"{runs[id]} {word_index.outcome(result)}"
            elif kind == "delete" and id in runs:
                delete_runs(connection, [id])
                del runs[id], texts[id]
        for word in WORDS:
            expected = {id for id, words in texts.items() if word in words.split()}
            assert found(connection, word) == expected

    await database.write(work)
    await database.close()


async def test_words_that_were_folded_by_other_rules_lead_to_no_run(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await Database.open(sqlite_url)
    await database.write(lambda c: create(c, "old", "cafés"))
    with monkeypatch.context() as patch:
        patch.setattr(word_index, "fold_words", lambda text: f"{text} and many more words than there were")
        await database.write(lambda c: store.patch(c, "old", {"stop": "cancel", "result": None}))
        await database.write(lambda c: delete_runs(c, ["old"]))
    await database.write(lambda c: create(c, "new", "lamps"))
    assert await database.read(lambda c: found(c, "cafes")) == set()
    assert await database.read(lambda c: found(c, "lamps")) == {"new"}
    await database.close()


async def test_a_run_whose_result_is_damaged_can_be_deleted(sqlite_url: str) -> None:
    database = await Database.open(sqlite_url)
    result: Mapping[str, Any] = {"answer": "lamps", "final_answer": None, "dissent": []}
    for id in ("bad", "good"):
        await database.write(lambda c, id=id: create(c, id, "cost"))  # type: ignore[misc]
        await database.write(lambda c, id=id: store.patch(c, id, {"result": result}))  # type: ignore[misc]
    broken = text("UPDATE runs SET result = substr(result, 1, 9) WHERE id = 'bad'")
    await database.write(lambda c: c.execute(broken).rowcount)
    await database.write(lambda c: delete_runs(c, ["bad"]))
    assert await database.read(lambda c: found(c, "lamps")) == {"good"}
    await database.close()


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(RESULT), inner),
    )
)
def test_a_result_of_any_shape_has_words(result: Any) -> None:
    """Else a backup with one damaged run could not be restored."""
    document = result if isinstance(result, dict) else {"dissent": result}
    words = word_index.outcome(document)
    answer = document.get("answer")
    assert answer in words if isinstance(answer, str) else isinstance(words, str)


async def test_the_index_of_an_earlier_version_is_taken_over_without_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def earlier(connection: Connection) -> None:
        migrate(connection, "0017")
        values = f"'local', 1, 0, 'paused', '{TIME}', '{TIME}', 'single'"
        columns = "id, question, spec, owner, epoch, seq, status, created_at, updated_at, protocol"
        for id, question in (("one", "lamps cost"), ("two", "cafés")):
            row = f"INSERT INTO runs ({columns}) VALUES ('{id}', '{question}', '{{}}', {values})"
            connection.execute(text(row))
        # The second was never indexed.
        connection.execute(text("INSERT INTO recall VALUES ('one', 'lamps cost', '')"))

    old = await open_empty(str(tmp_path / "a.db"), monkeypatch)
    await old._backend.write([earlier], repeatable=True)
    await old.close()
    database = await Database.open(tmp_path / "a.db")
    assert await database.read(lambda c: [found(c, word) for word in ("lamps", "cafe")]) == [{"one"}, {"two"}]
    tables = text("SELECT name FROM sqlite_master WHERE name LIKE 'recall%'")
    names = await database.read(lambda c: set(c.execute(tables).scalars()))
    assert names == {"recall", "recall_runs"} | {
        f"recall_{part}" for part in ("data", "idx", "docsize", "config")
    }
    await database.write(lambda c: delete_runs(c, ["one"]))
    assert await database.read(lambda c: [found(c, word) for word in ("lamps", "cafe")]) == [set(), {"two"}]
    await database.close()
