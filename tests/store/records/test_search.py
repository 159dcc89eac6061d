"""Recall: runs are found by their question, answer and dissent, alike on both databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from pnyx.errors import UsageError
from pnyx.store import Database
from pnyx.store.copying import backup, restore
from pnyx.store.records import runs as store
from pnyx.store.records import search as search_module
from pnyx.store.records.search import search

SYNTAX = "\"'` AND OR NOT NEAR(a b, 2) {answer}: run: - ^ * & | ! <-> <2> ( ) [ ] \\ ; -- /* %_ $$ :query"


def outcome(answer: str, *dissent: str, final: str | None = None) -> dict[str, Any]:
    seats = [{"seat": "Participant A", "model": "lab:a", "text": text} for text in dissent]
    return {"answer": answer, "final_answer": final, "dissent": seats}


async def add_run(
    database: Database,
    id: str,
    question: str,
    result: dict[str, Any] | None = None,
    owner: str = "local",
    at: str = "2026-01-01T00:00:00.000Z",
) -> None:
    def write(connection: Connection) -> None:
        store.create(connection, store.RunRow.new(id, owner, at, "single", question, {}))
        if result is not None:
            store.patch(connection, id, {"result": result})

    await database.write(write)


async def found(database: Database, text: str, limit: int = 10, **owners: Any) -> list[str]:
    hits = await database.read(lambda c: search(c, text, limit, **owners))
    return [("" if hits.every else "some: ") + hit.row.id for hit in hits]


@pytest.fixture
async def database(database_url: str) -> Any:
    database = await Database.open(database_url)
    yield database
    await database.close()


async def test_a_run_is_found_by_its_question_answer_final_answer_and_dissent(database: Database) -> None:
    await add_run(
        database, "one", "Should we host it?", outcome("Yes: backups.", "The staff is small.", final="rent")
    )
    await add_run(database, "two", "And the others?")
    for word in ("host", "backups", "rent", "staff"):
        assert await found(database, word) == ["one"]
    assert await found(database, "others") == ["two"]
    assert await found(database, "participant") == await found(database, "one") == []


async def test_words_match_in_every_form_case_and_accent(database: Database) -> None:
    await add_run(database, "one", "Which DEBATES about the Café?", outcome("Running costs, für Zoë."))
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


async def test_runs_with_all_words_are_found_or_else_with_some(database: Database) -> None:
    await add_run(database, "question", "A database in the cloud?")
    await add_run(database, "both", "A database?", outcome("In the cloud."))
    await add_run(database, "one", "A cloud?")
    assert sorted(await found(database, "cloud database")) == ["both", "question"]
    assert await found(database, "what is the database of the cloud") == await found(
        database, "database cloud"
    )
    assert (await found(database, "cloud database rain"))[2:] == ["some: one"]
    assert await found(database, "rain snow") == await found(database, "rain") == []


async def test_words_in_double_quotes_match_as_a_phrase(database: Database) -> None:
    await add_run(database, "one", "The state of the art?")
    await add_run(database, "two", "The art of the state, and state of an art?")
    assert sorted(await found(database, "state of the art")) == ["one", "two"]
    assert await found(database, '"state of the art"') == ["one"]
    assert await found(database, '"art of the state" "state of an art"') == ["two"]
    assert await found(database, '"the state art"') == []


async def test_scripts_without_spaces_are_searched_within(database: Database) -> None:
    await add_run(database, "one", "日本の首都は\uff1f", outcome("東京です。"))
    await add_run(database, "two", "서울은 어디에 있나요?")
    assert await found(database, "首都") == await found(database, "東京 日本") == ["one"]
    assert await found(database, "京東") == []
    assert await found(database, "서울") == ["two"]


async def test_a_query_is_never_read_as_syntax(database: Database) -> None:
    await add_run(database, "one", f"Why {SYNTAX}?", outcome(f"{SYNTAX} \0 \ud83d 🎉 <b>bold</b>"))
    await add_run(database, "two", "Nothing near it.")
    assert await found(database, SYNTAX) == ["one"]
    for character in SYNTAX.split():
        assert await found(database, f"bold {character}") in (["one"], ["some: one"]), character
        assert await found(database, f'{character}"bold') in (["one"], ["some: one"]), character
    assert await found(database, "two OR bold") == ["some: one"]
    assert await found(database, "🎉 bold\0") == ["one"]
    for nothing in ("", "🎉", '""', "\0", "* ( )"):
        with pytest.raises(UsageError):
            await found(database, nothing)


async def test_questions_rank_above_answers_and_newer_runs_first_among_equals(
    database: Database,
) -> None:
    await add_run(database, "answer", "What was measured?", outcome("The latency of it."))
    await add_run(database, "question", "What was the latency?", outcome("It was measured."))
    assert await found(database, "latency") == ["question", "answer"]
    await add_run(
        database, "later", "What was the latency?", outcome("It was measured."), at="2026-02-01T00:00:00.000Z"
    )
    assert await found(database, "latency") == ["later", "question", "answer"]
    assert await found(database, "latency", 1) == ["later"]


async def test_runs_with_more_of_the_words_come_first(database: Database) -> None:
    await add_run(database, "often", "Cost?", outcome("The cost, the cost, and again the cost."))
    await add_run(database, "more", "Something else.", outcome("Its cost beside much else, and its latency."))
    assert await found(database, "cost latency weather") == ["some: more", "some: often"]


async def test_owners_find_only_their_own_runs(database: Database) -> None:
    await add_run(database, "mine", "The cost?", owner="ada")
    await add_run(database, "theirs", "The cost?", owner="ben")
    assert await found(database, "cost", owner="ada") == ["mine"]
    assert await found(database, "cost", except_owner="ada") == ["theirs"]
    assert sorted(await found(database, "cost")) == ["mine", "theirs"]
    assert await found(database, "cost weather", owner="nobody") == []


async def test_a_new_result_replaces_the_old_one_in_the_index(database: Database) -> None:
    await add_run(database, "abcing", "Whither?", outcome("To the mountains."))
    await add_run(database, "abced", "Whither?", outcome("To the rivers."))
    for answer in ("To the seaside.", "To the islands."):
        await database.write(lambda c, a=answer: store.patch(c, "abcing", {"result": outcome(a)}))  # type: ignore[misc]
    await database.write(lambda c: store.patch(c, "abcing", {"stop": "cancel"}))
    assert await found(database, "mountains") == await found(database, "seaside") == []
    assert await found(database, "islands whither") == ["abcing"]
    assert await found(database, "rivers") == ["abced"]


async def test_a_write_that_was_rolled_back_is_not_found(database: Database) -> None:
    await add_run(database, "one", "The cost?")
    with pytest.raises(Exception, match="run one already exists"):
        await add_run(database, "one", "The weather?")
    assert (await found(database, "cost"), await found(database, "weather")) == (["one"], [])


async def test_a_snippet_marks_the_match_in_its_context(database: Database) -> None:
    long = "So it goes. " * 60
    await add_run(database, "one", "The question of costs?", outcome(f"{long}Renting **costs** more. {long}"))
    await add_run(database, "two", "What does it cost?", outcome("Nothing."))
    hits = await database.read(lambda c: search(c, "cost", 10))
    marked = {hit.row.id: [piece for piece, hit in hit.snippet if hit] for hit in hits}
    whole = {hit.row.id: "".join(piece for piece, _ in hit.snippet) for hit in hits}
    assert marked == {"one": ["costs"], "two": ["cost"]}
    assert "Renting **costs** more." in whole["one"]
    assert whole["two"] == "What does it cost?"


async def test_runs_from_before_recall_are_found(old_url: str) -> None:
    database = await Database.open(old_url)
    assert await found(database, "why") == await found(database, "cafe because") == ["old"]
    await database.write(lambda c: store.patch(c, "old", {"result": outcome("It is new.")}))
    assert (await found(database, "cafe"), await found(database, "new")) == ([], ["old"])
    await database.close()


async def test_more_runs_than_one_batch_are_all_indexed(
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
    restored = await Database.open(tmp_path / "restored.db")
    await restore(restored, tmp_path / "all.pnyx")
    for n in (0, 499, 500, 1099):
        assert await found(restored, f"n{n}") == [f"r{n}"]
    assert len(await found(restored, "number", 2000)) == 1100
    await restored.close()
    await database.close()


async def check_restore(database: Database, url: str | Path, folder: Path) -> None:
    await add_run(database, "one", "The cafés?", outcome("東京 \0 \ud83d", "Not so."))
    await backup(database, folder / "all.pnyx")
    restored = await Database.open(url)
    await restore(restored, folder / "all.pnyx")
    for each in (restored, await Database.open(folder / "all.pnyx")):
        assert await found(each, "cafe 東京") == ["one"]
        await each.write(lambda c: store.patch(c, "one", {"result": outcome("Changed.")}))
        assert (await found(each, "東京"), await found(each, "changed")) == ([], ["one"])
        await each.close()


async def test_runs_in_a_backup_and_in_a_restored_database_are_found(
    database: Database, tmp_path: Path
) -> None:
    await check_restore(database, tmp_path / "restored.db", tmp_path)


async def test_runs_restored_into_postgresql_are_found(postgres_url: str, tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "here.db")
    await check_restore(database, postgres_url, tmp_path)
    await database.close()


async def test_very_long_texts_are_indexed(database: Database) -> None:
    rare = "".join(map(chr, range(0x4E00, 0x9FA5))) + "".join(map(chr, range(0x20000, 0x2A6D0)))
    await add_run(database, "one", rare, outcome(rare[::-1] + "x" * 3000 + "ﷺ " * 100_000))
    assert await found(database, rare[3] + rare[4]) == ["one"]


@pytest.mark.parametrize(
    ("query", "answer", "marked"),
    [
        ("rented cafés", "Rent a café; renting cafes rents.", ["Rent", "café", "renting", "cafes", "rents"]),
        ('"rent it" later', "Rent is later: renting it, it rents.", ["later", "renting", "it"]),
        ('"a b a"', "A b a b a, a b.", ["A", "b", "a", "b", "a"]),
        ("東京", "京東 東京", ["東", "京"]),
        ("who", "Who knows who.", ["Who", "who"]),
    ],
)
async def test_words_with_the_stem_of_a_word_and_whole_phrases_are_marked(
    database: Database, query: str, answer: str, marked: list[str]
) -> None:
    await add_run(database, "one", "Rent it? 東京? a b a; who?", outcome(answer))
    (hit,) = await database.read(lambda c: search(c, query, 10))
    assert [piece for piece, is_hit in hit.snippet if is_hit] == marked


async def test_a_final_answer_in_the_answer_is_not_repeated(database: Database) -> None:
    await add_run(database, "one", "How?", outcome("Rent it.", "Buy it.", final="Rent"))
    await add_run(database, "two", "How?", outcome("That one.", final="Rent"))
    hits = await database.read(lambda c: search(c, "rent", 10))
    snippets = {hit.row.id: "".join(piece for piece, _ in hit.snippet) for hit in hits}
    assert snippets == {"one": "Rent it. — Buy it.", "two": "That one. — Rent"}


async def test_among_many_runs_the_best_ones_are_found_as_in_all(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await Database.open(sqlite_url)
    for n in range(60):
        owner = ("local", "phone", "rare")[0 if n % 10 else 1 if n % 20 else 2]
        answer = outcome(" ".join(["common"] * (n % 7 + 1) + ["filler"] * (n % 5)))
        await add_run(database, f"run{n:02}", "common?", answer, owner, f"2026-01-{n % 28 + 1:02}")
    asked: list[dict[str, Any]] = [{}, {"owner": "phone"}, {"owner": "rare"}, {"except_owner": "local"}]
    for owners in asked:
        for limit in (1, 3, 10):
            monkeypatch.setattr(search_module, "BEST", 100)
            whole = await found(database, "common", limit, **owners)
            assert whole
            monkeypatch.setattr(search_module, "BEST", 2)
            some = await found(database, "common", limit, **owners)
            assert len(some) == len(whole)
            # Runs that rank alike may be others.
            if not owners:
                assert set(some[:1]) <= set(await found(database, "common", 60))
    assert await found(database, "common", owner="rare") == await found(database, "common", 60, owner="rare")
    await database.close()


@pytest.mark.parametrize("many", [2, 5, 100])
async def test_a_frequent_word_hides_no_rare_one(
    database: Database, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    for name, value in {"RANKED": 2, "BEST": 2, "MANY": many}.items():
        monkeypatch.setattr(search_module, name, value)
    await add_run(database, "old", "Costs of a zeppelin?", at="2025-01-01T00:00:00.000Z")
    for n in range(6):
        await add_run(database, f"new{n}", "Costs of a server?", at=f"2026-01-0{n + 1}T00:00:00.000Z")
    assert await found(database, "costs zeppelin nowhere", limit=1) == ["some: old"]
    assert await found(database, "costs server", limit=1) == ["new5"]
    assert len(await found(database, "costs", limit=5)) == 5
    # Words that are frequent, and a phrase of them that only an old run has.
    await add_run(database, "first", "A server costs nothing?", at="2024-01-01T00:00:00.000Z")
    assert await found(database, '"server costs"', limit=1) == ["first"]
    await add_run(database, "hers", "Costs of a server?", owner="ada", at="2023-01-01T00:00:00.000Z")
    assert await found(database, "costs server", limit=3, owner="ada") == ["hers"]
