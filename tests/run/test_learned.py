"""What runs learn from outcomes: of all that are recorded when they start."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection

from pnyx.core.models import Seat
from pnyx.reliability.feedback import JudgedRun
from pnyx.run import learned
from pnyx.run.calls.limits import Limits
from pnyx.run.learned import LearnedHistory
from pnyx.run.spec import Spec
from pnyx.store import Database
from pnyx.store.records import outcomes
from pnyx.store.records import runs as store

MODELS = ("lab:one", "lab:two", "lab:three")


def judge(connection: Connection, right: str, first: int, count: int) -> None:
    """Record that `right` alone was right in so many runs."""
    for n in range(first, first + count):
        id, time = f"r{n}", f"2026-01-01T00:{n // 60:02}:{n % 60:02}.000Z"
        store.create(connection, store.RunRow.new(id, "local", time, "voting", f"Question {n}?", {}))
        answers = tuple((model, "x" if model == right else "y") for model in MODELS)
        outcomes.record(connection, id, "local", time, JudgedRun("voting", "success", 0.5, answers, "x"))


async def test_a_run_has_the_weights_of_the_outcomes_that_were_recorded_before_it(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned, "FRESH_S", 0.0)
    database = await Database.open(database_url)
    seats = tuple(Seat(f"Participant {n}", model) for n, model in enumerate(MODELS))
    spec = Spec(question="Why?", protocol="voting", seats=seats, limits=Limits(30.0, 100, 0))
    history = LearnedHistory(database)

    async def judged() -> list[int | None]:
        return [seat.judged for seat in (await history.apply(spec)).seats]

    assert await judged() == [None] * 3
    await database.write(lambda c: judge(c, "lab:one", 0, 10))
    assert await judged() == [10] * 3
    first = (await history.apply(spec)).seats
    assert (await history.apply(spec)).seats == first
    await database.write(lambda c: judge(c, "lab:two", 10, 60))
    assert await judged() == [70] * 3
    one, two, three = ((seat.weight or 0.0) for seat in (await history.apply(spec)).seats)
    assert max(one, three) < two
    await database.close()
