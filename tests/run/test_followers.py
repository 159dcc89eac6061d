"""What waits for a follower that does not read is bounded, and it misses nothing and has nothing twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, cast
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.events import (
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    PhaseEntered,
    RunFinished,
    Token,
)
from pnyx.run import broadcast as broadcast_module
from pnyx.run.broadcast import Broadcast, TextWanted, _Unread
from pnyx.store.records.entries import Page
from tests.support.panels import Host
from tests.support.processes import Node, fixed_reply
from tests.support.properties import examples

NOW = "2026-01-01T00:00:00Z"
KEYS = ("/1", "/1", "/2")
REQUEST: dict[str, Any] = {"attempt": 1, "model": "m", "prompt_id": "p", "prompt_sha256": "0", "prompt": "?"}
ROOM, LARGEST = 10**9, 2500
"""Bytes of everything that may wait, and of one event, at most."""
TURNS = 10
"""Turns of the event loop after which everything that may happen has happened."""
Step: TypeAlias = tuple[str, str, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("start", "text", "text", "restart", "end", "fail", "publish", "read", "phase")),
        st.sampled_from(KEYS),
        st.integers(1, 4),
    ),
    max_size=60,
)


class FakeRun:
    """A run whose calls do what a test says, its journal, and one follower that reads when it may.

    An event is in the journal before it is published, which `publish` delays. versions: by call, its text
    after each change.
    """

    def __init__(self) -> None:
        self.journal: list[Event] = []
        self.published = 0
        self.calls: dict[str, str] = {}
        self.versions: dict[str, list[str]] = {}
        self.broadcast = Broadcast(cast(Any, self), "r")
        self.broadcast.open()
        self.had: list[Event] = []
        self.may_read, self.reads_all = asyncio.Semaphore(0), False

    async def read(self, work: partial[Page]) -> Page:
        """Stands in for `Database.read`: three events a page, each when the follower may read."""
        if not self.reads_all:
            await self.may_read.acquire()
        after, page = work.keywords["after"], Page()
        page += self.journal[after : after + 3]
        page.has_more = len(self.journal) > after + 3
        await asyncio.sleep(0)
        return page

    async def follow(self) -> None:
        async with aclosing(self.broadcast.events(tokens=True)) as events:
            async for event in events:
                self.had.append(event)
                if not self.reads_all:
                    await self.may_read.acquire()

    async def act(self, what: str, key: str, n: int) -> None:
        call = self.calls.get(key, "")
        common: dict[str, Any] = {"run_id": "r", "time": NOW, "key": key}
        outcome: dict[str, Any] = {**common, "attempt": 1, "fingerprint": call, "model": "m"}
        match what:
            case "start" if not call:
                call = self.calls[key] = str(len(self.versions))
                self.versions[call] = [""]
                self.commit(CallStarted(**{**REQUEST, **common, "fingerprint": call}))
                self.publish()  # the request is sent after that
            case "text" | "restart" if call:
                versions, piece, again = self.versions[call], f"{len(self.journal)}," * n, what == "restart"
                versions.append(piece if again else versions[-1] + piece)
                self.broadcast.publish(Token(**common, text=piece, restart=again))
            case "end" if call:
                self.commit(CallFinished(**outcome, text=self.versions[self.calls.pop(key)][-1]))
            case "fail" if call:
                self.calls.pop(key)
                self.commit(CallFailed(**outcome, kind="busy", message="", final=False))
            case "phase":
                self.commit(PhaseEntered(**common, protocol="single", answer="x" * 100 * n))
            case "publish":
                self.publish()
            case "read":
                for _ in range(n):
                    self.may_read.release()
        for _ in range(TURNS):
            await asyncio.sleep(0)

    def commit(self, event: Event) -> None:
        self.journal.append(replace(event, seq=len(self.journal) + 1))

    def publish(self) -> None:
        for event in self.journal[self.published :]:
            self.broadcast.publish(event, event.seq)
        self.published = len(self.journal)

    def finish(self) -> None:
        self.commit(RunFinished(run_id="r", time=NOW, status="decided", result={}))
        self.publish()
        self.broadcast.close()
        self.reads_all = True
        self.may_read.release()


def waiting(broadcast: Broadcast) -> int:
    """The bytes that wait for the followers of a run."""
    total = 0
    for follower in broadcast._followers:
        for one, size in follower._waiting:
            total += one.size if isinstance(one, _Unread) else size
        assert follower._size == total
    return total


def check_texts(had: list[Event], versions: dict[str, list[str]], complete: bool) -> None:
    """Check that texts come within their call, each piece once. versions: as in `FakeRun`."""
    open_calls: dict[str, tuple[CallStarted, str]] = {}
    for event in had:
        match event:
            case CallStarted():
                open_calls[event.key] = (event, "")
            case Token():
                call, text = open_calls[event.key]
                text = event.text if event.restart else text + event.text
                assert any(one.startswith(text) for one in versions[call.fingerprint])
                open_calls[event.key] = (call, text)
            case CallFinished() | CallFailed():
                call, text = open_calls.pop(event.key)
                if complete:
                    assert text == versions[call.fingerprint][-1]


@examples(300)
@given(steps=STEPS, room=st.sampled_from([100, 400, ROOM]), joins=st.integers(0, 3), eager=st.booleans())
def test_whatever_it_reads_when_a_follower_has_every_event_once_and_each_text_within_its_call(
    steps: list[Step], room: int, joins: int, eager: bool
) -> None:
    async def scenario() -> None:
        run = FakeRun()
        run.reads_all = eager
        reader: asyncio.Task[None] | None = None
        for n, step in enumerate(steps):
            if n == joins:
                reader = asyncio.create_task(run.follow())
            await run.act(*step)
            assert waiting(run.broadcast) <= max(room, LARGEST)
        reader = reader or asyncio.create_task(run.follow())
        run.finish()
        await reader
        assert [event for event in run.had if not isinstance(event, Token)] == run.journal
        check_texts(run.had, run.versions, complete=eager and joins == 0)

    with patch.object(broadcast_module, "MOST_WAITING", room):
        asyncio.run(scenario())


MOST = 20_000


async def test_a_follower_that_reads_nothing_during_a_run_has_all_of_it_later_and_little_waits(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All events of the run waited in memory for it."""
    monkeypatch.setattr(broadcast_module, "MOST_WAITING", MOST)
    node, most = make(Host(fixed_reply)), 0
    handle = await node.start(options={"rounds": 3})
    broadcast = handle.context.broadcast
    add = broadcast_module._Follower.add

    def measured(*args: Any) -> None:
        nonlocal most
        add(*args)
        most = max(most, waiting(broadcast))

    monkeypatch.setattr(broadcast_module._Follower, "add", measured)
    async with aclosing(handle.events(tokens=True)) as events:
        had = [await anext(events)]
        result = await handle.result()
        had += [event async for event in events]
    log = await node.log(handle.run_id)
    assert result.usage["calls"] == 12
    assert [event for event in had if not isinstance(event, Token)] == log
    assert 0 < most <= max(MOST, max(map(broadcast_module._size, log)))


@given(st.lists(st.sampled_from((False, "answer", True))))
def test_text_is_streamed_for_the_follower_that_wants_most_of_it(wanted: list[TextWanted]) -> None:
    broadcast = FakeRun().broadcast
    for one in wanted:
        broadcast.want_text(one)
    assert broadcast.wants(answer=True) == any(wanted)
    assert broadcast.wants(answer=False) == (True in wanted)
