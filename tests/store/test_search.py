"""Recall: every run is found by what was asked and said, on both databases alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from pnyx.errors import UsageError
from pnyx.store import Database
from pnyx.store import runs as store
from pnyx.store.copying import backup, restore
from pnyx.store.search import search

SYNTAX = "\"'` AND OR NOT NEAR(a b, 2) {answer}: run: - ^ * & | ! <-> <2> ( ) [ ] \\ ; -- /* %_ $$ :query"


def told(answer: str, *dissent: str, final: str | None = None) -> dict[str, Any]:
    seats = [{"seat": "Participant A", "model": "lab:a", "text": text} for text in dissent]
    return {"answer": answer, "final_answer": final, "dissent": seats}


async def asked(
    database: Database,
    id: str,
    question: str,
    result: dict[str, Any] | None = None,
    owner: str = "local",
    at: str = "2026-01-01T00:00:00.000Z",
) -> None:
    def keep(connection: Connection) -> None:
        store.create(connection, store.RunRow.new(id, owner, at, "single", question, {}))
        if result is not None:
            store.patch(connection, id, {"result": result})

    await database.write(keep)


async def found(database: Database, text: str, limit: int = 10, **whose: str) -> list[str]:
    hits, every = await database.read(lambda c: search(c, text, limit, **whose))
    return [("" if every else "some: ") + hit.run_id for hit in hits]


@pytest.fixture
async def database(database_url: str) -> Any:
    database = await Database.open(database_url)
    yield database
    await database.close()


async def test_a_run_is_found_by_its_question_answer_final_answer_and_dissent(database: Database) -> None:
    await asked(
        database, "one", "Should we host it?", told("Yes: backups.", "The staff is small.", final="rent")
    )
    await asked(database, "two", "And the others?")
    for word in ("host", "backups", "rent", "staff"):
        assert await found(database, word) == ["one"]
    assert await found(database, "others") == ["two"]
    assert await found(database, "participant") == await found(database, "one") == []


async def test_forms_case_and_accents_of_a_word_are_one(database: Database) -> None:
    await asked(database, "one", "Which DEBATES about the Café?", told("Running costs, für Zoë."))
    for word in (
        "debate",
        "debating",
        "CAFE",
        "cafés",
        "cafe\u0301",
        "run",
        "cost",
        "fur",
        "zoe",
        "\uff3aoe",
    ):
        assert await found(database, word) == ["one"], word
    assert await found(database, "debit") == []


async def test_all_words_must_occur_or_else_some_do(database: Database) -> None:
    await asked(database, "question", "A database in the cloud?")
    await asked(database, "both", "A database?", told("In the cloud."))
    await asked(database, "one", "A cloud?")
    assert sorted(await found(database, "cloud database")) == ["both", "question"]
    assert await found(database, "what is the database of the cloud") == await found(
        database, "database cloud"
    )
    assert (await found(database, "cloud database rain"))[2:] == ["some: one"]
    assert await found(database, "rain snow") == await found(database, "rain") == []


async def test_double_quotes_keep_words_together(database: Database) -> None:
    await asked(database, "one", "The state of the art?")
    await asked(database, "two", "The art of the state, and state of an art?")
    assert sorted(await found(database, "state of the art")) == ["one", "two"]
    assert await found(database, '"state of the art"') == ["one"]
    assert await found(database, '"art of the state" "state of an art"') == ["two"]
    assert await found(database, '"the state art"') == []


async def test_scripts_without_blanks_are_searched_within(database: Database) -> None:
    await asked(database, "one", "日本の首都は\uff1f", told("東京です。"))
    await asked(database, "two", "서울은 어디에 있나요?")
    assert await found(database, "首都") == await found(database, "東京 日本") == ["one"]
    assert await found(database, "京東") == []
    assert await found(database, "서울") == ["two"]


async def test_what_is_looked_for_is_never_syntax(database: Database) -> None:
    await asked(database, "one", f"Why {SYNTAX}?", told(f"{SYNTAX} \0 \ud83d 🎉 <b>bold</b>"))
    await asked(database, "two", "Nothing near it.")
    assert await found(database, SYNTAX) == ["one"]
    for character in SYNTAX.split():
        assert await found(database, f"bold {character}") in (["one"], ["some: one"]), character
        assert await found(database, f'{character}"bold') in (["one"], ["some: one"]), character
    assert await found(database, "two OR bold") == ["some: one"]
    assert await found(database, "🎉 bold\0") == ["one"]
    for nothing in ("", "🎉", '""', "\0", "* ( )"):
        with pytest.raises(UsageError):
            await found(database, nothing)


async def test_questions_weigh_more_than_answers_and_the_newest_comes_first_of_equals(
    database: Database,
) -> None:
    await asked(database, "answer", "What was measured?", told("The latency of it."))
    await asked(database, "question", "What was the latency?", told("It was measured."))
    assert await found(database, "latency") == ["question", "answer"]
    await asked(
        database, "later", "What was the latency?", told("It was measured."), at="2026-02-01T00:00:00.000Z"
    )
    assert await found(database, "latency") == ["later", "question", "answer"]
    assert await found(database, "latency", 1) == ["later"]


async def test_who_has_more_of_the_words_comes_first(database: Database) -> None:
    await asked(database, "often", "Cost?", told("The cost, the cost, and again the cost."))
    await asked(database, "more", "Something else.", told("Its cost beside much else, and its latency."))
    assert await found(database, "cost latency weather") == ["some: more", "some: often"]


async def test_owners_find_their_own(database: Database) -> None:
    await asked(database, "mine", "The cost?", owner="ada")
    await asked(database, "theirs", "The cost?", owner="ben")
    assert await found(database, "cost", owner="ada") == ["mine"]
    assert await found(database, "cost", but="ada") == ["theirs"]
    assert sorted(await found(database, "cost")) == ["mine", "theirs"]
    assert await found(database, "cost weather", owner="nobody") == []


async def test_a_new_result_takes_the_place_of_the_old_one(database: Database) -> None:
    await asked(database, "abcing", "Whither?", told("To the mountains."))
    await asked(database, "abced", "Whither?", told("To the rivers."))
    for answer in ("To the seaside.", "To the islands."):
        await database.write(lambda c, a=answer: store.patch(c, "abcing", {"result": told(a)}))  # type: ignore[misc]
    await database.write(lambda c: store.patch(c, "abcing", {"stop": "cancel"}))
    assert await found(database, "mountains") == await found(database, "seaside") == []
    assert await found(database, "islands whither") == ["abcing"]
    assert await found(database, "rivers") == ["abced"]


async def test_what_was_rolled_back_is_not_found(database: Database) -> None:
    await asked(database, "one", "The cost?")
    with pytest.raises(Exception, match="there is a run one already"):
        await asked(database, "one", "The weather?")
    assert (await found(database, "cost"), await found(database, "weather")) == (["one"], [])


async def test_a_snippet_shows_where_it_stands(database: Database) -> None:
    long = "So it goes. " * 60
    await asked(database, "one", "The question of costs?", told(f"{long}Renting **costs** more. {long}"))
    await asked(database, "two", "What does it cost?", told("Nothing."))
    hits, _ = await database.read(lambda c: search(c, "cost", 10))
    marked = {hit.run_id: [piece for piece, hit in hit.snippet if hit] for hit in hits}
    whole = {hit.run_id: "".join(piece for piece, _ in hit.snippet) for hit in hits}
    assert marked == {"one": ["costs"], "two": ["cost"]}
    assert "Renting **costs** more." in whole["one"]
    assert whole["two"] == "What does it cost?"


async def test_runs_from_before_recall_are_found(old_url: str) -> None:
    database = await Database.open(old_url)
    assert await found(database, "why") == await found(database, "cafe because") == ["old"]
    await database.write(lambda c: store.patch(c, "old", {"result": told("It is new.")}))
    assert (await found(database, "cafe"), await found(database, "new")) == ([], ["old"])
    await database.close()


async def test_more_runs_than_fit_at_once_are_all_made_known(
    old_url: str, sqlite_url: str, tmp_path: Path
) -> None:
    database = await Database.open(old_url)

    def many(connection: Connection) -> None:
        for n in range(1100):
            row = store.RunRow.new(
                f"r{n}", "local", "2026-01-01T00:00:00.000Z", "single", f"Number n{n}?", {}
            )
            store.create(connection, row)

    await database.write(many)
    await backup(database, tmp_path / "all.pnyx")
    again = await Database.open(tmp_path / "again.db")
    await restore(again, tmp_path / "all.pnyx")
    for n in (0, 499, 500, 1099):
        assert await found(again, f"n{n}") == [f"r{n}"]
    assert len(await found(again, "number", 2000)) == 1100
    await again.close()
    await database.close()


async def moved(database: Database, url: str | Path, folder: Path) -> None:
    await asked(database, "one", "The cafés?", told("東京 \0 \ud83d", "Not so."))
    await backup(database, folder / "all.pnyx")
    again = await Database.open(url)
    await restore(again, folder / "all.pnyx")
    for each in (again, await Database.open(folder / "all.pnyx")):
        assert await found(each, "cafe 東京") == ["one"]
        await each.write(lambda c: store.patch(c, "one", {"result": told("Changed.")}))
        assert (await found(each, "東京"), await found(each, "changed")) == ([], ["one"])
        await each.close()


async def test_what_is_restored_is_found_and_so_is_what_is_in_the_backup(
    database: Database, tmp_path: Path
) -> None:
    await moved(database, tmp_path / "again.db", tmp_path)


async def test_what_is_moved_into_postgresql_is_found(postgres_url: str, tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "here.db")
    await moved(database, postgres_url, tmp_path)
    await database.close()


async def test_the_longest_texts_fit(database: Database) -> None:
    rare = "".join(map(chr, range(0x4E00, 0x9FA5))) + "".join(map(chr, range(0x20000, 0x2A6D0)))
    await asked(database, "one", rare, told(rare[::-1] + "x" * 3000 + "ﷺ " * 100_000))
    assert await found(database, rare[3] + rare[4]) == ["one"]


async def test_what_the_answer_says_already_is_told_once(database: Database) -> None:
    await asked(database, "one", "How?", told("Rent it.", "Buy it.", final="Rent"))
    await asked(database, "two", "How?", told("That one.", final="Rent"))
    hits, _ = await database.read(lambda c: search(c, "rent", 10))
    told_of = {hit.run_id: "".join(piece for piece, _ in hit.snippet) for hit in hits}
    assert told_of == {"one": "Rent it. — Buy it.", "two": "That one. — Rent"}
