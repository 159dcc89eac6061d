"""What runs are still expected to need of a shared cap."""

from __future__ import annotations

from sqlalchemy import Connection, select

from pnyx.store import Database
from pnyx.store.money import holds
from pnyx.store.records import runs as store
from pnyx.store.schema import holds as table

DAY = "day:2026-01-01"


def begin(connection: Connection, run_id: str) -> None:
    store.create(connection, store.RunRow.new(run_id, "local", "2026-01-01", "voting", "Why?", {}))
    holds.keep(connection, holds.Hold(run_id, {DAY: "day", f"run:{run_id}": f"run:{run_id}"}, 100))


async def test_the_end_of_a_run_takes_the_holds_of_runs_that_ended_without_their_own(
    database_url: str,
) -> None:
    database = await Database.open(database_url)

    def work(connection: Connection) -> set[str]:
        for run_id in ("ends", "paused", "runs"):
            begin(connection, run_id)
        assert holds.total(connection, "day") == 300
        # Its process was killed, and another one paused it.
        store.patch(connection, "paused", {"status": "paused"})
        holds.end(connection, "ends")
        assert holds.by_scope(connection) == {"day": (1, 100), "run:runs": (1, 100)}
        return set(connection.scalars(select(table.c.run_id)))

    assert await database.write(work) == {"runs"}
    await database.close()


async def test_without_sums_of_calls_the_usual_factor_is_that_of_the_runs_of_version_0_1(
    database_url: str,
) -> None:
    database = await Database.open(database_url)

    def work(connection: Connection) -> tuple[float | None, ...]:
        found = [holds.usual_factor(connection)]
        holds.learn(connection, "consensus", planned=100, spent=200)
        holds.learn(connection, "voting", planned=300, spent=200)
        found.append(holds.usual_factor(connection))
        holds.learn(connection, holds.calls_of("consensus"), planned=10, spent=5)
        return (*found, holds.usual_factor(connection))

    assert await database.write(work) == (None, 1.0, 0.5)
    await database.close()
