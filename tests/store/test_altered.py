"""What a disk has altered within rows is found, and in which runs."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Connection, select, update

from pnyx.errors import Unreadable
from pnyx.store import Database, altered
from pnyx.store.altered import Altered, find_altered
from pnyx.store.documents.contents import LIST, pack
from pnyx.store.documents.packing import compress, decompress, from_column
from pnyx.store.schema import contents, events, runs
from tests.support.panels import Host
from tests.support.processes import Node, fixed_reply

QUESTION = "Why? " + "Because of the long reasons. " * 20


def flipped(value: Any, bit: int) -> Any:
    """The value of a column with one bit of its bytes changed. bit: counted from the end if negative."""
    data = bytearray(value if isinstance(value, bytes) else value.encode())
    place, mask = divmod(bit % (8 * len(data)), 8)
    data[place] ^= 1 << mask
    return bytes(data) if isinstance(value, bytes) else data.decode()


async def flip(database: Database, column: Any, where: Any, bit: int) -> bool:
    """Flip a bit of the value in that row, and return whether it has another meaning then."""

    def change(connection: Connection) -> bool:
        value = connection.execute(select(column).where(where)).scalar_one()
        changed = flipped(value, bit)
        connection.execute(update(column.table).where(where).values({column: changed}))
        return column is contents.c.sha256 or meaning(value) != meaning(changed)

    return await database.write(change)


def meaning(stored: Any) -> bytes | None:
    """The bytes that are stored, which some bits of a frame of zstd do not change; None if unreadable."""
    try:
        data = from_column(stored, "") if isinstance(stored, str) else bytes(stored)
        return decompress(data.removeprefix(LIST), "")
    except Unreadable:
        return None


async def find(database: Database) -> Altered:
    return await find_altered(database, None, lambda _: None)


@pytest.fixture
async def node(database_url: str) -> Any:
    node = Node(await Database.open(database_url), Host(fixed_reply))
    yield node
    await node.database.close()


async def test_every_flipped_bit_of_a_text_an_event_or_a_run_is_found(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = [(await (await node.start(question=QUESTION)).result()).run_id for _ in range(2)]
    alone = "Only one run has this text. " * 20
    many = [f"{alone}{n}" for n in range(40)]

    def store(connection: Connection) -> None:
        # A text of many parts, which are stored in groups.
        fenced = "".join(f"\n<m0123456789>\n{one}\n</m0123456789>" for one in many)
        pack(connection, first, [fenced])

    await node.database.write(store)
    whole = await find(node.database)
    assert (whole.altered, whole.run_ids, whole.is_complete) == (0, set(), True)
    assert whole.compared == whole.total > 100
    monkeypatch.setattr(altered, "ROWS", 7)  # several transactions
    monkeypatch.setattr(altered, "BYTES", 300)
    ids = await node.database.read(
        lambda c: list(c.execute(select(contents.c.id, contents.c.content).order_by(contents.c.id)))
    )
    groups = [id for id, content in ids if bytes(content).startswith(LIST)]
    assert groups
    event = (events.c.run_id == second) & (events.c.seq == 2)
    rows = [
        *((contents.c.content, contents.c.id == id, bit) for id in groups for bit in (20, 100, -1)),
        *((contents.c.content, contents.c.id == ids[-1].id, bit) for bit in range(0, 400, 37)),
        (contents.c.sha256, contents.c.id == ids[0].id, 9),
        *((events.c.packed, event, bit) for bit in range(60, 800, 83)),
        (runs.c.spec, runs.c.id == second, 8 * 40),
        (runs.c.result, runs.c.id == second, 8 * 40),
    ]
    changes = 0
    for column, where, bit in rows:
        changed = await flip(node.database, column, where, bit)
        found = await find(node.database)
        assert found.altered == changed, (str(column), bit)
        assert found.compared == whole.compared
        if changed and column.table is not contents:
            assert found.run_ids == {second}
        elif changed and where.right.value in groups:
            assert found.run_ids == {first}
        changes += changed
        await flip(node.database, column, where, bit)
    assert changes > len(rows) * 0.8
    assert await flip(node.database, contents.c.content, contents.c.id == ids[0].id, 99)
    assert (await find(node.database)).run_ids == {first, second}
    await flip(node.database, contents.c.content, contents.c.id == ids[0].id, 99)
    assert (await find(node.database)).altered == 0


async def test_a_comparison_stops_in_time_and_reports_how_far_it_is(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    await (await node.start(question=QUESTION)).result()
    monkeypatch.setattr(altered, "ROWS", 3)
    reports: list[int] = []
    found = await find_altered(node.database, None, lambda found: reports.append(found.compared))
    assert reports == sorted(set(reports))
    assert len(reports) >= found.total // 3
    part = await find_altered(node.database, 0.0, lambda _: None)
    assert (part.is_complete, part.altered) == (False, 0)
    assert 0 < part.compared <= 3 < part.total


def test_a_flipped_bit_of_a_frame_is_refused_by_who_reads_it() -> None:
    """A content that is shown is not compared with its name, so its frame must show the damage."""
    text = f"{QUESTION} {'The pump holds for 30 days. ' * 20}".encode()
    frame = compress(text)
    refused = 0
    for bit in range(8 * len(frame)):
        try:
            read = decompress(flipped(frame, bit), "a text")
        except Unreadable:
            refused += 1
        else:
            assert read == text, bit  # a bit of the frame that says nothing
    assert refused > 8 * len(frame) * 0.9
