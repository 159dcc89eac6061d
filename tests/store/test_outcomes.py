"""What is learned from when more was judged than is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Connection

from pnyx.reliability.feedback import Judged
from pnyx.store import Database, outcomes
from pnyx.store import runs as store


def judge(connection: Connection, id: str, owner: str, time: str, answer: str) -> None:
    store.create(connection, store.RunRow.new(id, owner, time, "voting", "Why?", {}))
    outcomes.record(
        connection, id, "local", time, Judged("voting", "success", 0.5, (("a:b", answer),), answer)
    )


async def test_an_evaluation_does_not_crowd_out_what_became_of_real_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "MOST", 4)
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


async def test_what_is_judged_again_in_another_run_takes_the_place_of_the_earlier_one(
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
            outcomes.record(connection, id, "local", "2026-01-01", Judged(protocol, "success", 0.5, (), id))
        outcomes.forget_earlier(connection, "eval", {"latest"})

    await database.write(write)
    found = await database.read(lambda c: outcomes.history(c, "local"))
    await database.close()
    assert {one.gold for one in found} == made.keys() - {"earlier"}


@pytest.mark.parametrize("said", ["4\0", "4\ud83d"])
async def test_an_answer_that_no_database_takes_as_it_is_stays_the_right_one(
    database_url: str, said: str
) -> None:
    database = await Database.open(database_url)
    await database.write(lambda c: judge(c, "r", "local", "2026-01-01T00:00:00+00:00", said))
    (found,) = await database.read(lambda c: outcomes.history(c, "local"))
    await database.close()
    assert found.gold == "4\ufffd"
    assert found.answers == (("a:b", found.gold),)
