"""Outcomes: which ones the history holds, and how they are stored."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from pnyx.reliability.feedback import JudgedRun
from pnyx.store import Database
from pnyx.store.records import outcomes
from pnyx.store.records import runs as store
from tests.store.conftest import migrate, open_empty


def judge(connection: Connection, id: str, owner: str, time: str, answer: str) -> None:
    store.create(connection, store.RunRow.new(id, owner, time, "voting", "Why?", {}))
    outcomes.record(
        connection, id, "local", time, JudgedRun("voting", "success", 0.5, (("a:b", answer),), answer)
    )


async def test_an_evaluation_does_not_push_out_outcomes_of_own_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "HISTORY_LIMIT", 4)
    database = await Database.open(f"sqlite:///{tmp_path / 'pnyx.db'}")

    def write(connection: Connection) -> None:
        for n in range(3):
            judge(connection, f"own{n}", "local", f"2026-01-0{n + 1}T00:00:00+00:00", f"own {n}")
        for n in range(5):
            judge(connection, f"graded{n}", "eval", f"2026-02-0{n + 1}T00:00:00+00:00", f"graded {n}")

    await database.write(write)
    found = await database.read(lambda c: outcomes.history(c, "local"))
    await database.close()
    assert [one.gold for one in found] == ["own 0", "own 1", "own 2", "graded 4"]


async def test_the_outcome_of_a_repeated_run_replaces_the_earlier_one(
    database_url: str,
) -> None:
    database = await Database.open(database_url)
    # run: owner, batch, question, protocol, options
    made = {
        "earlier": ("eval", "one", "Why?", "voting", {"swap": False}),
        "elsewhere": ("eval", "two", "Why?", "voting", {"swap": False}),
        "another question": ("eval", "one", "How?", "voting", {"swap": False}),
        "another arm": ("eval", "one", "Why?", "voting", {"swap": True}),
        "another protocol": ("eval", "one", "Why?", "council", {}),
        "another owner": ("local", "one", "Why?", "voting", {"swap": False}),
        "latest": ("eval", "one", "Why?", "voting", {"swap": False}),
    }

    def write(connection: Connection) -> None:
        for id, (owner, batch, question, protocol, options) in made.items():
            spec = {"batch": batch, "options": options}
            store.create(connection, store.RunRow.new(id, owner, "2026-01-01", protocol, question, spec))
            outcomes.record(
                connection, id, "local", "2026-01-01", JudgedRun(protocol, "success", 0.5, (), id)
            )
        outcomes.forget_earlier(connection, "eval", {"latest"})

    await database.write(write)
    found = await database.read(lambda c: outcomes.history(c, "local"))
    await database.close()
    assert {one.gold for one in found} == made.keys() - {"earlier"}


@pytest.mark.parametrize("answer", ["4\0", "4\ud83d"])
async def test_a_right_answer_with_characters_that_cannot_be_stored_stays_right(
    database_url: str, answer: str
) -> None:
    database = await Database.open(database_url)
    await database.write(lambda c: judge(c, "r", "local", "2026-01-01T00:00:00+00:00", answer))
    (found,) = await database.read(lambda c: outcomes.history(c, "local"))
    await database.close()
    assert found.gold == "4\ufffd"
    assert found.answers == (("a:b", found.gold),)


ROWS = (
    (
        "runs",
        "id, owner, epoch, seq, status, created_at, updated_at, protocol, question, spec",
        ":id, 'local', 1, 0, 'majority', 'x', 'x', 'voting', 'q', :spec",
    ),
    (
        "outcomes",
        "run_id, owner, judged_at, protocol, result, raw, answers",
        ":id, 'local', 'x', 'voting', 'success', 1, '[]'",
    ),
)


async def test_a_migration_names_the_panels_of_stored_outcomes(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = {"known": '{"seats": [{"model": "b"}, {"model": "a"}, {"model": "b"}]}', "odd": "{}"}

    def fill(connection: Connection) -> None:
        migrate(connection, "0008")
        for id, spec in specs.items():
            for table, columns, values in ROWS:
                connection.execute(
                    text(f"INSERT INTO {table} ({columns}) VALUES ({values})"), {"id": id, "spec": spec}
                )
        migrate(connection, "head")

    database = await open_empty(database_url, monkeypatch)
    await database._backend.write([fill], repeatable=True)
    judged = await database.read(lambda c: outcomes.history(c, "local"))
    await database.close()
    assert [one.panel for one in judged] == [("a", "b"), ()]
