"""What clients do not read stays in memory: it is bounded for each key, and holds up nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, MutableMapping
from typing import Any

import pytest

from pnyx.core.events import Event, UnknownEvent
from pnyx.interfaces.http import paced_send, runs, usage
from pnyx.interfaces.http.paced_send import PacedSend
from pnyx.interfaces.http.state import Turns
from pnyx.interfaces.http.streaming import encoded
from pnyx.interfaces.http.usage import KeyUsage
from pnyx.interfaces.service import RunService
from tests.support.scripted import ScriptedHost
from tests.support.serving import open_server
from tests.support.waiting import until

MANY = 8
EVENT = UnknownEvent(name="later", document={"type": "later"})


class Client:
    """Reads nothing until `reads` is set."""

    def __init__(self, key_usage: KeyUsage, owner: str = "ann") -> None:
        self.reads, self.sent = asyncio.Event(), list[MutableMapping[str, Any]]()
        self.paced = PacedSend(self.receive, key_usage, owner)

    async def receive(self, message: MutableMapping[str, Any]) -> None:
        self.sent.append(message)
        if message["type"] == "http.response.body" and message.get("more_body"):
            await self.reads.wait()

    async def answer(self, body: bytes) -> None:
        start = {"type": "http.response.start", "headers": [(b"content-length", str(len(body)).encode())]}
        try:
            await self.paced.send(start)
            await self.paced.send({"type": "http.response.body", "body": body})
        finally:
            self.paced.end()

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


async def test_a_key_has_few_long_responses_that_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "MOST_UNSENT", 5 * paced_send.PART)
    long, short, counts = bytes(3 * paced_send.PART), b"short", KeyUsage(MANY)
    first, second, other, brief = (Client(counts, owner) for owner in ("ann", "ann", "ben", "ann"))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(first.answer(long))
        await until(lambda: len(first.sent) == 2)
        assert len(first.body) == paced_send.PART, "a part waits until the one before is read"
        await second.answer(long)
        assert (second.paced.refused, second.sent) == (True, [])
        await brief.answer(short)
        assert brief.body == short
        other.reads.set()
        await other.answer(long)
        assert other.body == long
        first.reads.set()
    assert first.body == long
    again = Client(counts)
    again.reads.set()
    await again.answer(long)
    assert again.body == long


async def test_a_single_response_may_be_longer_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "MOST_UNSENT", paced_send.PART)
    client = Client(KeyUsage(MANY))
    client.reads.set()
    await client.answer(bytes(9 * paced_send.PART + 1))
    assert len(client.body) == 9 * paced_send.PART + 1


async def test_the_refusal_is_a_429_of_the_api(lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeyUsage, "hold", lambda *_: False)
    monkeypatch.setattr(paced_send, "PART", 10)
    async with open_server() as server, server.client() as client:
        answer = await client.get("/v1/protocols")
    assert (answer.status_code, answer.json()["error"]["type"]) == (429, "over_limit")
    assert "have not read" in answer.json()["error"]["message"]
    assert answer.headers["retry-after"]


async def test_one_key_reads_its_long_runs_one_after_another(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported, active, most = runs.exported, 0, 0

    async def counted(*args: Any) -> Any:
        nonlocal active, most
        active, most = active + 1, max(most, active + 1)
        for _ in range(20):
            await asyncio.sleep(0)
        answer = await exported(*args)
        active -= 1
        return answer

    monkeypatch.setattr(runs, "exported", counted)
    async with open_server() as server, server.client() as client:
        run = (await client.post("/v1/runs", json={"question": "Why?", "wait": True})).json()["run_id"]
        answers = await asyncio.gather(*(client.get(f"/v1/runs/{run}/export") for _ in range(MANY)))
        assert not server.app.state.long_reads, "a lock that nobody holds is forgotten"
    assert [answer.status_code for answer in answers] == [200] * MANY
    assert most == 1


async def test_followers_of_a_key_read_pages_one_after_another(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    news, active, most = RunService.news, 0, 0

    async def counted(*args: Any, **options: Any) -> Any:
        nonlocal active, most
        active, most = active + 1, max(most, active + 1)
        for _ in range(20):
            await asyncio.sleep(0)
        page = await news(*args, **options)
        active -= 1
        return page

    monkeypatch.setattr(RunService, "news", counted)
    async with open_server() as server, server.client() as client:
        run = (await client.post("/v1/runs", json={"question": "Why?", "wait": True})).json()["run_id"]
        answers = await asyncio.gather(*(client.get(f"/v1/runs/{run}/events") for _ in range(MANY)))
    assert all("run_finished" in answer.text for answer in answers)
    assert most == 1


async def test_of_many_followers_one_encodes_an_event_in_a_turn_of_the_loop() -> None:
    turns, encodings, most, loop_turns = Turns(), 0, 0, 0

    async def watched() -> AsyncGenerator[Event, None]:
        for _ in range(MANY):
            yield EVENT

    def document(event: Event) -> dict[str, Any]:
        nonlocal encodings
        encodings += 1
        return {}

    async def others() -> None:
        nonlocal most, loop_turns, encodings
        while loop_turns < 3 * MANY * MANY:
            most, encodings, loop_turns = max(most, encodings), 0, loop_turns + 1
            await asyncio.sleep(0)

    async def follow() -> int:
        return len([message async for message in encoded(watched(), document, turns)])

    *sent, _ = await asyncio.gather(*(follow() for _ in range(MANY)), others())
    assert sent == [MANY] * MANY
    assert most == 1
