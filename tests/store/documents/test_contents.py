"""Texts are stored once, and read back exactly; what no run uses is deleted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from functools import partial
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, func, select
from sqlalchemy import event as sqlalchemy_event

from pnyx.core.events import CallFinished, CallStarted, Event, UnknownEvent, to_json
from pnyx.errors import Unreadable
from pnyx.store import Database
from pnyx.store.documents.contents import (
    LIST,
    RunContents,
    add_contents,
    free_contents,
    pack,
)
from pnyx.store.documents.packing import (
    LEAST,
    LEAST_BETWEEN_TAGS,
    MARK,
    PACKED,
    Parts,
    Piece,
    compress,
    cut,
    dump,
    fill,
    from_column,
    load,
    pieces,
    to_column,
)
from pnyx.store.documents.unpacking import read_contents, unpack
from pnyx.store.records import runs as store
from pnyx.store.records.deletion import delete_runs
from pnyx.store.records.entries import PAGE, Page
from pnyx.store.schema import content_uses, contents, events, runs


def new_row(id: str, question: str = "Why?") -> store.RunRow:
    spec = {"question": question}
    return store.RunRow.new(id, "local", "2026-01-01T00:00:00.000Z", "single", question, spec)


LONG = "Evidence decides. " * 20
FENCE = "m0123456789"
TEXTS = st.lists(
    st.one_of(
        st.text(st.characters(), max_size=12),
        st.sampled_from(["\x00", "\ud800", "\udfff\ud83d", "😀", MARK, "\n", " ", f"<{FENCE} Proposal>\n"]),
        st.sampled_from(
            [f"\n</{FENCE}>\n", "<question>\n", "\n</question>", LONG, "é日本" * LEAST, f"\n{LONG}\n"]
        ),
    ),
    max_size=8,
).map("".join)
VALUES = st.recursive(
    st.one_of(TEXTS, st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(TEXTS, st.sampled_from([MARK, MARK * 2])), inner, max_size=3),
    ),
    max_leaves=6,
)


@given(TEXTS)
def test_the_parts_of_a_text_add_up_to_it(text: str) -> None:
    parts = pieces(text)
    assert "".join(parts) == text
    apart = [part for part in parts if isinstance(part, Piece)]
    assert all(len(part) >= LEAST_BETWEEN_TAGS and part == part.strip() for part in apart)


def test_a_short_question_is_a_part_of_each_prompt_and_other_short_texts_are_not() -> None:
    question = "Which of the two? " * 6
    assert LEAST_BETWEEN_TAGS <= len(question.strip()) < LEAST
    prompt = f"The question:\n<question>\n{question}\n</question>\n\n{question}\n<question>\n{question}"
    assert [part for part in pieces(prompt) if isinstance(part, Piece)] == [question.strip()]
    assert pieces(question) == [question]


@given(VALUES)
def test_a_packed_value_is_read_as_it_was(value: Any) -> None:
    numbers: dict[str, int] = {}
    found: list[Parts] = []

    def number(part: str) -> str | int:
        return numbers.setdefault(part, len(numbers)) if isinstance(part, Piece) else part

    shortened = cut(value, found)
    for text in found:
        text.parts[:] = [number(part) for part in text.parts]
    packed = dump(shortened)
    texts = {number: text for text, number in numbers.items()}
    again, places = load(packed, "it")
    assert len(places) == len(found)
    fill(places, texts, "it")
    assert json.dumps(again) == json.dumps([value])
    assert again == [value]


@given(st.binary(max_size=60))
def test_packed_bytes_are_read_from_a_column_of_text(packed: bytes) -> None:
    assert from_column(to_column(packed), "it") == packed


@pytest.mark.parametrize("column", ["|NsC1", "~~~~~", "00 00", '"0000'])
def test_a_column_that_is_no_base85_is_damaged(column: str) -> None:
    with pytest.raises(Unreadable, match="it is damaged"):
        from_column(PACKED + column, "it")


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url)
    await opened.write(lambda c: store.create(c, new_row("one")))
    await opened.write(lambda c: store.create(c, new_row("two")))
    yield opened
    await opened.close()


def started(prompt: str, system: str = "") -> CallStarted:
    return CallStarted(
        run_id="one",
        key="/1",
        attempt=1,
        fingerprint="f",
        model="m",
        prompt_id="p",
        prompt_sha256="s",
        prompt=prompt,
        system=system,
    )


def finished(text: str) -> CallFinished:
    return CallFinished(
        run_id="one", key="/1", attempt=1, fingerprint="f", model="m", text=text, reasoning=text
    )


HARD = (
    "short",
    LONG,
    LONG.strip(),
    f"  {LONG}\n\n",
    "\x00" * 300,
    "a\ud800b" * 100,
    "\ud83d" + "\ude00" * 300,
    "😀日本é" * 200,
    f"<{FENCE} Proposal>\n{LONG}\n</{FENCE}>\n\n<{FENCE} Answer>\n{LONG * 3}\n</{FENCE}>\n\nTask.\n",
)


async def test_every_event_and_row_is_read_as_it_was_written(database: Database) -> None:
    batch = [event for text in HARD for event in (started(text, LONG), finished(text))]
    unknown = {"type": "later", "run_id": "one", "new": [{MARK: LONG}, {MARK: [1]}, LONG]}
    batch.append(UnknownEvent(name="later", document=unknown))  # type: ignore[arg-type]
    await database.write(lambda c: store.append(c, "one", 1, batch))
    read = await database.read(lambda c: store.log(c, "one"))
    expected = [to_json(event) | {"run_id": "one", "seq": n} for n, event in enumerate(batch, 1)]
    stamps = ("version", "format")
    stored = [{name: v for name, v in to_json(event).items() if name not in stamps} for event in read]
    assert stored == json.loads(json.dumps(expected[:0])) + expected
    result = {"answer": LONG, "final_answer": "x\ud800", "dissent": [{"text": f"{LONG}!"}]}
    spec = {"question": LONG * 9, "options": {"x": MARK}}
    await database.write(lambda c: store.patch(c, "one", {"result": result, "spec": spec}))
    row = (await database.read(lambda c: store.find(c, "one"))).check()
    assert row.result == result
    assert {name: row.spec[name] for name in spec} == spec


async def test_a_page_of_events_is_read_alone_and_without_prompts(database: Database) -> None:
    batch = [event for n in range(5) for event in (started(LONG * n, LONG), finished(LONG + str(n)))]
    await database.write(lambda c: store.append(c, "one", 1, batch))
    page = await database.read(lambda c: store.log(c, "one", after=4, limit=3, prompts=False))
    assert [event.seq for event in page] == [5, 6, 7]
    first, second, _ = page
    assert isinstance(first, CallStarted)
    assert isinstance(second, CallFinished)
    assert (first.prompt, first.system, second.text) == ("", "", LONG + "2")


async def test_prompts_that_begin_alike_take_little_more_than_their_texts(database: Database) -> None:
    """200 calls, each of which shows all replies before it: 40 MB of prompts, 400 kB of texts."""
    replies = [f"Reply {n}: " + " ".join(f"{n * k % 977} holds" for k in range(190)) for n in range(200)]
    shown = ""
    for n, reply in enumerate(replies):
        shown += f"<{FENCE} Challenge of round 1 by Participant {n}>\n{reply}\n</{FENCE}>\n\n"
        batch: list[Event] = [started(shown + "Your task.\n"), finished(reply)]
        await database.write(partial(store.append, run_id="one", epoch=1, batch=batch))

    def sizes(connection: Connection) -> tuple[int, int]:
        of_events = connection.execute(select(func.sum(func.length(events.c.packed)))).scalar_one()
        return of_events, connection.execute(select(func.sum(func.length(contents.c.content)))).scalar_one()

    of_events, of_texts = await database.read(sizes)
    whole = sum(map(len, replies))
    assert of_events + of_texts < whole
    assert of_events < whole / 3
    last = (await database.read(lambda c: store.log(c, "one", after=398)))[0]
    assert isinstance(last, CallStarted)
    assert last.prompt == shown + "Your task.\n"


async def test_texts_of_a_write_that_was_rolled_back_are_stored_again(database: Database) -> None:
    used, name = RunContents(), sha256(LONG.strip().encode()).digest()
    write = partial(store.append, run_id="one", epoch=1, used=used)

    def fail(connection: Connection) -> None:
        write(connection, batch=[started(LONG)])
        assert used.number(name) is not None
        raise LookupError

    for batch in ([], [started(LONG)], [started(LONG, LONG)]):
        with pytest.raises(LookupError):
            await database.write(fail)
        await database.write(partial(write, batch=batch))
        used.keep()
        assert (used.number(name) is None) == (not batch)
    read = await database.read(lambda c: store.log(c, "one"))
    assert [to_json(event)["prompt"] for event in read] == [LONG, LONG]
    assert await database.read(lambda c: c.execute(select(func.count()).select_from(contents)).scalar()) == 1


async def test_writes_of_one_transaction_know_the_texts_of_each_other(database: Database) -> None:
    used, other = RunContents(), RunContents()
    works = [
        partial(store.append, run_id=run, epoch=1, batch=[started(f"{LONG}{n}")], used=known)
        for n in range(3)
        for run, known in (("one", used), ("two", other))
    ]
    await asyncio.gather(*(database.write(work) for work in works))
    for known in (used, other):
        known.keep()
        names = [sha256(f"{LONG}{n}".encode()).digest() for n in range(3)]
        assert all(known.number(name) is not None for name in names)
    for run in ("one", "two"):
        read = await database.read(partial(store.log, run_id=run))
        assert [to_json(event)["prompt"] for event in read] == [f"{LONG}{n}" for n in range(3)]
    uses = await database.read(lambda c: c.execute(select(content_uses)).all())
    assert len(uses) == 6


async def test_a_large_question_is_stored_once(database: Database) -> None:
    question = "\n".join(f"{n * n % 1009} cases of {n * 7919 % 100_003}" for n in range(40_000))
    prompt = f"The question:\n<question>\n{question}\n</question>\n\nYour task.\n"
    await database.write(lambda c: store.create(c, new_row("three", question)))
    await database.write(lambda c: store.append(c, "three", 1, [started(prompt), started(prompt)]))

    def size(connection: Connection) -> int:
        columns = (runs.c.question, runs.c.spec, events.c.packed, contents.c.content)
        return sum(connection.execute(select(func.sum(func.length(c)))).scalar_one() or 0 for c in columns)

    assert await database.read(size) < len(question) / 2
    read = await database.read(lambda c: store.find(c, "three"))
    assert (read.question, read.spec["question"]) == (question, question)


async def test_what_no_run_uses_is_deleted(database: Database) -> None:
    def kept(connection: Connection) -> tuple[int, set[str]]:
        uses = set(connection.execute(select(content_uses.c.run_id)).scalars())
        return connection.execute(select(func.count()).select_from(contents)).scalar_one(), uses

    await database.write(lambda c: store.append(c, "one", 1, [started(LONG, LONG * 2), finished(LONG + "1")]))
    await database.write(lambda c: store.append(c, "two", 1, [started(LONG, LONG * 2)]))
    await database.write(lambda c: add_contents(c, "two", {"ab" * 32: "a file"}))
    assert await database.read(kept) == (4, {"one", "two"})
    assert await database.write(lambda c: free_contents(c, ["one"])) > 0
    assert await database.read(kept) == (3, {"two"})
    assert [to_json(event)["prompt"] for event in await database.read(lambda c: store.log(c, "two"))] == [
        LONG
    ]
    assert await database.read(lambda c: read_contents(c, ["ab" * 32])) == {"ab" * 32: "a file"}
    await database.write(lambda c: free_contents(c, ["two", "none"]))
    assert await database.read(kept) == (0, set())
    with pytest.raises(Unreadable, match="event 1 of run two lacks a text; restore"):
        await database.read(lambda c: store.log(c, "two"))
    # New texts get numbers that no event has yet.
    await database.write(lambda c: store.append(c, "two", 1, [finished(LONG + "2")]))
    (event,) = await database.read(lambda c: store.log(c, "two", after=1))
    assert isinstance(event, CallFinished)
    assert event.text == LONG + "2"


async def test_a_deleted_run_takes_along_the_texts_that_no_other_run_has(database: Database) -> None:
    await database.write(lambda c: store.append(c, "one", 1, [finished(LONG), finished(f"{LONG} of one")]))
    await database.write(lambda c: store.append(c, "two", 1, [finished(LONG)]))
    await database.write(lambda c: delete_runs(c, ["one"]))
    (event,) = await database.read(lambda c: store.log(c, "two"))
    assert isinstance(event, CallFinished)
    assert event.text == LONG
    count = select(func.count()).select_from(contents)
    assert await database.read(lambda c: c.execute(count).scalar_one()) == 1


async def test_a_text_that_contains_itself_is_damaged(database: Database) -> None:

    (packed,) = await database.write(lambda c: pack(c, "one", [LONG]))
    looped = LIST + compress(b"[1, 1]")
    await database.write(lambda c: c.execute(contents.update().values(content=looped)))
    with pytest.raises(Unreadable, match="contains itself"):
        await database.read(lambda c: unpack(c, [(packed, "it")]))


async def test_the_texts_of_many_events_are_read_with_few_statements(database: Database) -> None:
    many = [finished(f"{LONG} {n}") for n in range(4 * PAGE)]
    await database.write(lambda c: store.append(c, "one", 1, many))
    statements = list[str]()

    def read(connection: Connection) -> Page:
        def note(_: object, __: object, statement: str, *___: object) -> None:
            statements.append(statement)

        sqlalchemy_event.listen(connection, "before_cursor_execute", note)
        found = store.log(connection, "one", limit=len(many))
        sqlalchemy_event.remove(connection, "before_cursor_execute", note)
        return found

    found = await database.read(read)
    assert [one.text for one in found if isinstance(one, CallFinished)] == [one.text for one in many]
    assert len(statements) <= 5
