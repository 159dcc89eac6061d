"""Lookups of runs use an index."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, event, insert, text

from pnyx.config.schema import KEEP
from pnyx.errors import NotFound
from pnyx.run.leases.lease import is_active
from pnyx.store import Database
from pnyx.store.money.cost_sums import cost_sums
from pnyx.store.money.costs import costs_of
from pnyx.store.records import runs as store
from pnyx.store.records.labels import LabelChange, change_labels, read_labels
from pnyx.store.records.pruning import Rule, prune_some
from pnyx.store.schema import runs
from tests.support.rows import rows

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
MANY = 3000
RESULT: dict[str, Any] = {"answer": "So.", "final_answer": None, "dissent": []}


def name(n: int) -> str:
    """Return a different id for every number, spread over all prefixes."""
    drawn = n * 2654435761 % 2**32
    return "".join(ALPHABET[drawn >> 5 * i & 31] for i in range(6)) + "zzzzzz"


def fill(connection: Connection) -> None:
    many = [
        {
            **{"id": name(n), "owner": "local" if n % 10 else "phone", "epoch": 1, "seq": 0},
            **{"status": "decided", "created_at": f"2026-01-01T{n:06}", "updated_at": "2026"},
            **{"protocol": "single", "question": "Why?", "spec": '{"question": "Why?"}'},
            "conversation": name(n // 3) if n % 3 else None,
        }
        for n in range(MANY)
    ]
    connection.execute(insert(runs), many)
    for n in range(0, MANY, 50):
        change_labels(connection, name(n), LabelChange(add=["work", "a"], pinned=n % 100 == 0))


@pytest.fixture
async def full(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    await database.write(fill)
    if database_url.startswith("postgresql"):
        await database.write(lambda c: c.execute(text("ANALYZE")).rowcount)
    yield database
    await database.close()


def plans(connection: Connection, work: Callable[[Connection], Any]) -> list[str]:
    """Return the query plan of each statement of `work`."""
    seen: list[tuple[str, Any]] = []

    def note(_: object, __: object, statement: str, parameters: Any, *___: object) -> None:
        seen.append((statement, parameters))

    event.listen(connection, "before_cursor_execute", note)
    try:
        work(connection)
    except NotFound:
        pass
    finally:
        event.remove(connection, "before_cursor_execute", note)
    if connection.dialect.name == "postgresql":
        # Small tables are read whole, whatever indexes there are.
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
    explain = "EXPLAIN QUERY PLAN " if connection.dialect.name == "sqlite" else "EXPLAIN "
    return [
        "\n".join(str(row) for row in connection.exec_driver_sql(explain + statement, parameters))
        for statement, parameters in seen
    ]


AFTER = ("2026-01-01T001500", name(1500))
WORKS: dict[str, Callable[[Connection], Any]] = {
    "whole": lambda c: store.find(c, name(7)),
    "whole, an owner's": lambda c: store.find(c, name(7), "local"),
    "prefix": lambda c: store.find(c, name(7)[:5]),
    "prefix, an owner's": lambda c: store.find(c, name(7)[:5], "local"),
    "unknown": lambda c: store.find(c, "zzzzzz", "local"),
    "newest": lambda c: store.listing(c),
    "newest, except an owner's": lambda c: store.listing(c, except_owner="eval"),
    "newest, after another": lambda c: store.listing(c, after=AFTER),
    "with a tag": lambda c: store.listing(c, tag="work"),
    "with a tag, an owner's, after another": lambda c: store.listing(c, tag="a", owner="local", after=AFTER),
    "pinned": lambda c: store.listing(c, pinned=True),
    "with a tag, pinned, of a status": lambda c: store.listing(c, tag="a", pinned=True, status="decided"),
    "of a status": lambda c: store.listing(c, status="paused"),
    "of a status, after another": lambda c: store.listing(c, status="paused", after=AFTER),
    "ids with a prefix": lambda c: store.ids(c, "local", name(7)[:5], 20),
    "labels": lambda c: read_labels(c, [name(1), name(2)]),
    "costs since a day": lambda c: cost_sums(c, "2026-01-01"),
    "costs of a run": lambda c: costs_of(c, name(1)),
    "old runs": lambda c: prune_some(c, Rule("2020", KEEP), 50, is_active, ("2019", "x")),
    "conversation": lambda c: store.conversation(c, name(7)[:5]),
    "conversation, an owner's": lambda c: store.conversation(c, name(7)[:5], "local"),
}


@rows("work", WORKS)
async def test_lookups_use_an_index(full: Database, work: str) -> None:
    found = await full.write(lambda c: plans(c, WORKS[work]))
    assert found
    for plan in found:
        assert "Seq Scan" not in plan, plan
        for table in ("runs", "labels", "run_costs", "events", "outcomes"):
            assert f"SCAN {table}'" not in plan, plan
        if "owner's" not in work or "tag" not in work:
            assert "runs_by_owner" not in plan, plan
        if "after" in work and "tag" not in work and "SEARCH" in plan:
            assert "created_at<?" in plan, plan


async def test_a_unique_prefix_finds_a_run_and_an_ambiguous_one_lists_candidates(full: Database) -> None:
    for n in (0, 7, MANY - 1):
        for length in (6, 9, 12):
            found = await full.read(partial(store.find, prefix=name(n)[:length]))
            assert found.id == name(n)
    with pytest.raises(NotFound, match=r"not unique: 7.*, 7.*, 7.* …"):
        await full.read(lambda c: store.find(c, "7"))
    with pytest.raises(NotFound, match="no run"):
        await full.read(lambda c: store.find(c, name(7), "phone"))


@rows("prefix", ["", "%", "_", "a~", "A", "7\0", "\ud83d", "7' OR '1'='1"])
async def test_a_prefix_of_no_id_finds_nothing(full: Database, prefix: str) -> None:
    for work in (store.find, store.conversation):
        with pytest.raises(NotFound):
            await full.read(partial(work, prefix=prefix))


async def test_pages_of_the_list_are_the_list(full: Database) -> None:
    # Many runs of a batch begin in the same moment.
    same = text("UPDATE runs SET created_at = substr(created_at, 1, 15)")
    await full.write(lambda c: c.execute(same).rowcount)
    whole = await full.read(partial(store.listing, limit=90, owner="local"))
    assert len({row.created_at for row in whole}) < len(whole)
    paged: list[store.RunRow] = []
    while len(paged) < len(whole):
        after = (paged[-1].created_at, paged[-1].id) if paged else None
        paged += await full.read(partial(store.listing, limit=7, owner="local", after=after))
    assert [row.id for row in paged[:90]] == [row.id for row in whole]
    start = whole[0].id[:2]
    found = await full.read(partial(store.listing, limit=MANY, owner="local", prefix=start))
    assert sorted(row.id for row in found) == sorted(
        name(n) for n in range(MANY) if n % 10 and name(n).startswith(start)
    )


@rows("more", [{"after": ("2026-01-01T001500", name(7))}, {"prefix": name(7)[:3]}])
async def test_a_page_of_an_owners_runs_uses_an_index(full: Database, more: dict[str, Any]) -> None:
    (plan,) = await full.write(lambda c: plans(c, partial(store.listing, owner="local", limit=26, **more)))
    assert "Seq Scan" not in plan, plan
    assert "SCAN runs'" not in plan, plan


@pytest.mark.parametrize("odd", ["a\0b", "\ud800"])
@pytest.mark.parametrize("name", ["status", "owner", "tag", "protocol", "since"])
async def test_no_run_has_what_is_not_text(database_url: str, name: str, odd: str) -> None:
    database = await Database.open(database_url)
    filters: dict[str, Any] = {name: odd}
    assert await database.read(partial(store.listing, **filters)) == []
    await database.close()


async def test_a_list_has_no_spec_of_runs_that_are_over(full: Database) -> None:
    def read(connection: Connection) -> tuple[list[store.RunRow], store.RunRow]:
        store.patch(connection, name(MANY - 1), {"status": "consensus", "result": RESULT})
        return store.listing(connection, limit=2), store.find(connection, name(MANY - 1))

    (over, open), whole = await full.write(read)
    assert (over.id, over.spec, over.result, over.problem) == (name(MANY - 1), {}, RESULT, None)
    assert (open.spec["question"], whole.spec["question"]) == ("Why?", "Why?")
