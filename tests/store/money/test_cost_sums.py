"""Sums of costs over all runs: as if every row were added up, whichever days are summed up already."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, delete, func, insert, select

from pnyx.interfaces.views.costs import BY, NO_PANEL, sum_costs, sums_by
from pnyx.store import Database
from pnyx.store.money.cost_sums import CostSum, cost_sums, sum_up
from pnyx.store.money.costs import COUNTS
from pnyx.store.schema import cost_days, metadata, run_costs
from tests.support.properties import examples

DAYS = [f"2026-01-{n:02}" for n in range(1, 29)]
MODELS = ("a:x", "a:y", "b:x")
RUNS = {
    f"run{n}": (("ada", "ben")[n % 2], ("voting", "consensus")[n % 3 == 0], ("", "fast")[n % 5 == 0])
    for n in range(8)
}
"""Run -> owner, protocol, saved panel."""
ROWS = st.lists(
    st.tuples(st.sampled_from(list(RUNS)), st.sampled_from(DAYS), st.sampled_from(MODELS)),
    unique=True, max_size=40,
)  # fmt: skip


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    engine = create_engine(f"sqlite:///{tmp_path_factory.mktemp('costs') / 'costs.db'}")
    with engine.begin() as connection:
        metadata.create_all(connection, tables=[run_costs, cost_days])
        yield connection
    engine.dispose()


def full_row(run_id: str, day: str, model: str) -> dict[str, object]:
    owner, protocol, panel = RUNS[run_id]
    counts = {name: (len(run_id + day + model) * n + int(day[-2:])) for n, name in enumerate(COUNTS)}
    key = {"run_id": run_id, "day": day, "model": model}
    return {**key, "owner": owner, "protocol": protocol, "panel": panel, **counts}


def plain(
    rows: list[dict[str, object]], by: str, since: str, owner: str | None
) -> dict[str, tuple[int, ...]]:
    """The number of runs and the sums of each group, straight from the rows."""

    def group(row: dict[str, object]) -> str:
        name = {"key": "owner", "provider": "model"}.get(by, by)
        value = str(row[name]) if name else ""
        if by == "panel":
            return value or NO_PANEL
        return value.partition(":")[0] if by == "provider" else value

    groups: dict[str, list[dict[str, object]]] = {}
    for row in rows:
        if str(row["day"]) >= since and owner in (None, row["owner"]):
            groups.setdefault(group(row), []).append(row)
    return {
        name: (len({row["run_id"] for row in of}), *(sum(int(str(row[n])) for row in of) for n in COUNTS))
        for name, of in groups.items()
    }


def summed(group: dict[str, object]) -> tuple[int, ...]:
    names = ("runs", "calls", "input_tokens", "cached_tokens", "output_tokens")
    return tuple(int(str(group[name])) for name in names)


@examples(60)
@given(
    ROWS,
    st.lists(st.sampled_from(DAYS), max_size=3),
    st.sampled_from(["", *DAYS[::5]]),
    st.sampled_from(["ada", None]),
)
def test_sums_are_those_of_the_rows(
    connection: Connection,
    drawn: list[tuple[str, str, str]],
    todays: list[str],
    since: str,
    owner: str | None,
) -> None:
    for table in (run_costs, cost_days):
        connection.execute(delete(table))
    rows = [full_row(*one) for one in drawn]
    # Rows arrive day by day, and in between some process sums up.
    for day in DAYS:
        if arrived := [row for row in rows if row["day"] == day]:
            connection.execute(insert(run_costs), arrived)
        if day in todays:
            sum_up(connection, day)
    found = cost_sums(connection, since, owner)
    for by in BY:
        groups = {str(row[by]): summed(row) for row in sums_by(found, by, since)}
        assert groups == {name: sums[:5] for name, sums in plain(rows, by, since, owner).items()}, by
    whole = plain(rows, "", since, owner).get("", (0,) * 7)
    assert summed(sum_costs(found, since)) == whole[:5]
    assert sum(one.cost_nusd for one in found) == whole[5]


def test_late_rows_are_added_up_with_the_next_day(connection: Connection) -> None:
    for table in (run_costs, cost_days):
        connection.execute(delete(table))

    def calls() -> int:
        return sum(one.calls for one in cost_sums(connection))

    connection.execute(insert(run_costs), [full_row("run0", "2026-01-05", "a:x")])
    sum_up(connection, "2026-01-10")
    assert connection.execute(select(func.count()).select_from(cost_days)).scalar() == 1
    late = full_row("run1", "2026-01-03", "a:x")
    connection.execute(insert(run_costs), [late, full_row("run1", "2026-01-09", "a:x")])
    sum_up(connection, "2026-01-12")
    total = connection.execute(select(func.sum(run_costs.c.calls))).scalar()
    assert calls() == total


@pytest.mark.parametrize("ahead", ["2026-01-06", "2026-01-09", "2027-03-01"])
def test_what_is_stored_after_a_clock_was_ahead_is_counted(connection: Connection, ahead: str) -> None:
    """The days that such a clock took for over were closed for good."""
    for table in (run_costs, cost_days):
        connection.execute(delete(table))

    def store(run: str, day: str) -> None:
        connection.execute(insert(run_costs), [full_row(run, day, "a:x")])

    def check(today: str) -> None:
        total = connection.execute(select(func.sum(run_costs.c.calls))).scalar()
        assert sum(one.calls for one in cost_sums(connection, today=today)) == total

    store("run0", "2026-01-05")
    sum_up(connection, "2026-01-05")
    store("run1", ahead)  # the clock is ahead for a while
    sum_up(connection, ahead)
    store("run2", "2027-03-05")
    sum_up(connection, "2027-03-08")
    for number, day in enumerate(("2026-01-05", "2026-01-05", "2026-01-06", "2026-01-08", "2026-01-20"), 3):
        store(f"run{number}", day)
        check(day)
        sum_up(connection, day)
        check(day)


@pytest.mark.parametrize("day", ["2026", "0000-00-00", "9999-12-31"])
def test_a_clock_that_is_wrong_stops_no_run(connection: Connection, day: str) -> None:
    connection.execute(delete(run_costs))
    connection.execute(delete(cost_days))
    connection.execute(insert(run_costs), [full_row("run0", "2026-01-05", "a:x") | {"day": day}])
    for today in (day, "2026-01-10", "2030-01-01"):
        sum_up(connection, today)
    assert [one.runs for one in cost_sums(connection)] == [1]


async def test_both_databases_sum_up_when_a_run_begins(database_url: str, tmp_path: Path) -> None:
    database = await Database.open(database_url)
    rows = [full_row(run_id, day, model) for run_id in RUNS for day in DAYS[:9:3] for model in MODELS]
    await database.write(lambda c: c.execute(insert(run_costs), rows).rowcount)
    before: list[CostSum] = await database.read(cost_sums, snapshot=True)
    await database.write(lambda c: sum_up(c, "2026-01-05"))
    assert (
        await database.read(lambda c: c.execute(select(func.max(cost_days.c.day))).scalar())
    ) == "2026-01-01"
    await database.write(lambda c: sum_up(c, "2026-02-01"))
    after = await database.read(cost_sums, snapshot=True)
    assert sorted(map(str, after)) == sorted(map(str, before))
    await database.close()
