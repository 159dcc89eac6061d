"""Labels of runs, and their deletion: on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, func, inspect, select, text

from pnyx.errors import Fenced, NotFound, Running, UsageError
from pnyx.reliability.feedback import JudgedRun
from pnyx.run.leases.lease import is_active, this_worker
from pnyx.store import Database
from pnyx.store.money import ledger
from pnyx.store.money.costs import costs_of
from pnyx.store.records import leases, outcomes, shares
from pnyx.store.records import runs as store
from pnyx.store.records.deletion import delete_run
from pnyx.store.records.labels import NO_LABELS, LabelChange, Labels, change_labels, read_labels
from pnyx.store.records.search import search
from pnyx.store.schema import runs
from tests.support.panels import Host
from tests.support.processes import Node, fixed_reply

JUDGED = JudgedRun("consensus", "success", 0.5, (("h:large", "yes"),), "yes")
TIME = "2026-01-01T00:00:00.000Z"


@pytest.fixture
async def node(database_url: str) -> AsyncIterator[Node]:
    node = Node(await Database.open(database_url), Host(fixed_reply))
    yield node
    await node.runner.close()


def mentions(connection: Connection, run_id: str) -> set[str]:
    """The tables with a row that names the run."""
    found = set()
    for table in {*inspect(connection).get_table_names(), "recall"}:
        rows = connection.execute(text(f"SELECT * FROM {table}")).all()
        if any(run_id in str(value) for row in rows for value in row):
            found.add(table)
    return {name for name in found if not name.startswith("recall_")}


async def test_a_deleted_run_leaves_only_its_costs_and_its_outcome(node: Node) -> None:
    first = await (await node.start(options={"rounds": 1}, budget_usd=1.0)).result()
    second = await (await node.start(question="And then?", options={"rounds": 1})).result()
    database, run_id = node.database, first.run_id
    await database.write(lambda c: outcomes.record(c, run_id, "local", TIME, JUDGED))
    await database.write(lambda c: change_labels(c, run_id, LabelChange(title="One", add=["a"], pinned=True)))
    await database.write(lambda c: c.execute(text("INSERT INTO holds VALUES (:r, 'day', 1)"), {"r": run_id}))
    await database.write(lambda c: shares.add(c, "a" * 12, run_id, "0" * 64, TIME, "2027-01-01"))
    costs = await database.read(lambda c: costs_of(c, run_id))
    (day,) = {one.day for one in costs}
    spent = await database.read(lambda c: ledger.read_account(c, f"day:{day}"))
    assert spent.spent_nusd > 0

    row = await database.write(lambda c: delete_run(c, run_id[:8], "local", is_active))

    assert row.id == run_id
    assert await database.read(lambda c: mentions(c, run_id)) == {"run_costs", "outcomes"}
    assert await database.read(lambda c: costs_of(c, run_id)) == costs
    assert await database.read(lambda c: ledger.read_account(c, f"day:{day}")) == spent
    assert await database.read(lambda c: outcomes.history(c, "local")) == [JUDGED]
    with pytest.raises(NotFound):
        await database.read(lambda c: store.find(c, run_id))
    words = "second" if "second" in second.answer else second.answer.split()[0]
    hits = await database.read(lambda c: search(c, words, 10))
    assert run_id not in [hit.row.id for hit in hits]
    assert (await database.read(lambda c: store.find(c, second.run_id))).result is not None


async def test_only_its_owner_deletes_a_run(node: Node) -> None:
    run = await (await node.start(owner="phone", options={"rounds": 1})).result()
    for owner in ("local", "tablet"):
        with pytest.raises(NotFound):
            await node.database.write(
                partial(delete_run, prefix=run.run_id, owner=owner, is_active=is_active)
            )
    await node.database.write(partial(delete_run, prefix=run.run_id, owner="phone", is_active=is_active))


@pytest.mark.parametrize("worker", ["here", None, "worker"])
async def test_a_run_under_way_is_not_deleted(node: Node, worker: str | None) -> None:
    name = {"here": this_worker(), None: None, "worker": f"{store.WORKER}gone:1:0"}[worker]
    row = store.RunRow.new("run1", "local", TIME, "voting", "Why?", {}, worker=name, heartbeat_at=None)
    await node.database.write(partial(store.create, row=row))
    beat = func.unixepoch() if node.database.name.endswith(".db") else func.extract("epoch", func.now())
    await node.database.write(lambda c: c.execute(runs.update().values(heartbeat_at=beat)).rowcount)
    with pytest.raises(Running, match="Cancel it first: pnyx cancel run1"):
        await node.database.write(partial(delete_run, prefix="run1", owner=None, is_active=is_active))
    await node.database.write(lambda c: store.patch(c, "run1", {"status": "paused"}))
    await node.database.write(partial(delete_run, prefix="run1", owner=None, is_active=is_active))


async def test_a_process_that_still_writes_to_a_deleted_run_is_stopped(node: Node) -> None:
    row = store.RunRow.new("run1", "local", TIME, "voting", "Why?", {})
    await node.database.write(partial(store.create, row=row))
    await node.database.write(lambda c: delete_run(c, "run1", None, lambda row: False))
    with pytest.raises(Fenced):
        await node.database.write(lambda c: store.append(c, "run1", 1, []))
    with pytest.raises(Running):
        await node.database.write(lambda c: leases.take(c, "run1", "me", TIME))


TAGS = st.lists(st.text("ab ", min_size=1).filter(str.strip), max_size=4)


@given(st.lists(st.builds(LabelChange, title=st.none() | st.text("xy ", max_size=3), tags=st.none() | TAGS,
                          add=TAGS, remove=TAGS, pinned=st.none() | st.booleans()), max_size=4))  # fmt: skip
def test_a_change_keeps_what_it_does_not_name(changes: list[LabelChange]) -> None:
    labels = NO_LABELS
    for change in changes:
        new = change.of(labels)
        assert new.pinned == (labels.pinned if change.pinned is None else change.pinned)
        if change.title is None:
            assert new.title == labels.title
        clean = {" ".join(tag.split()) for tag in change.remove}
        assert not clean & set(new.tags)
        added = {" ".join(tag.split()) for tag in (*change.add, *(change.tags or ()))}
        kept = set(labels.tags) if change.tags is None else set()
        assert set(new.tags) == (kept | added) - clean
        assert change.of(new) == new
        labels = new


async def test_labels_are_stored_as_they_are_changed(node: Node) -> None:
    row = store.RunRow.new("run1", "local", TIME, "voting", "Why?", {})
    await node.database.write(partial(store.create, row=row))

    async def change(**values: object) -> Labels:
        new = await node.database.write(
            lambda c: change_labels(c, "run1", LabelChange(**values))  # type: ignore[arg-type]
        )
        read = await node.database.read(lambda c: read_labels(c, ["run1"]))
        assert read.get("run1", NO_LABELS) == new
        return new

    assert await change(title=" Why  not? ", add=["b", "a ", "a"]) == Labels("Why not?", ("a", "b"))
    assert await change(pinned=True, remove=["b"]) == Labels("Why not?", ("a",), True)
    assert await change(title="日本", tags=["ça"]) == Labels("日本", ("ça",), True)
    assert await change(title="", tags=[], pinned=False) == NO_LABELS
    assert await node.database.read(lambda c: c.execute(text("SELECT count(*) FROM labels")).scalar()) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (LabelChange(title="x" * 201), "a title must have at most 200 characters, not 201"),
        (LabelChange(add=["x" * 61]), "a tag must have at most 60 characters, not 61"),
        (LabelChange(add=[" "]), "a tag must be text without commas, not ''"),
        (LabelChange(tags=["a,b"]), "a tag must be text without commas, not 'a,b'"),
        (LabelChange(title="\0"), "a title must not contain NUL or half a character"),
        (LabelChange(add=["\ud83d"]), "a tag must not contain NUL or half a character"),
        (LabelChange(tags=[str(n) for n in range(51)]), "a run has at most 50 tags, not 51"),
    ],
)
def test_labels_that_no_list_shows_are_refused(change: LabelChange, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        change.of(NO_LABELS)
    assert str(caught.value) == message


async def test_lists_have_the_runs_with_a_label_newest_first(node: Node) -> None:
    def fill(connection: Connection) -> None:
        for n in range(30):
            time = f"2026-01-01T00:00:{n // 3:02}.000Z"
            store.create(connection, store.RunRow.new(f"r{n:02}", "local", time, "voting", "Why?", {}))
            change = LabelChange(add=["even"] if n % 2 == 0 else [], pinned=n % 5 == 0)
            change_labels(connection, f"r{n:02}", change)

    await node.database.write(fill)
    for filters in ({"tag": "even"}, {"pinned": True}, {"tag": "even", "pinned": True}, {"tag": "odd"}, {}):
        wanted = [
            n for n in range(30)
            if (filters.get("tag") != "even" or n % 2 == 0) and (not filters.get("pinned") or n % 5 == 0)
        ] if filters.get("tag") != "odd" else []  # fmt: skip
        ids = sorted((f"r{n:02}" for n in wanted), key=lambda id: (-(int(id[1:]) // 3), id))
        found = await node.database.read(partial(store.listing, limit=50, **filters))
        assert [row.id for row in found] == ids
        paged: list[store.RunRow] = []
        while len(paged) < len(ids):
            after = (paged[-1].created_at, paged[-1].id) if paged else None
            paged += await node.database.read(partial(store.listing, limit=4, after=after, **filters))
        assert [row.id for row in paged] == ids
    assert (
        await node.database.read(lambda c: c.execute(select(func.count()).select_from(runs)).scalar()) == 30
    )
