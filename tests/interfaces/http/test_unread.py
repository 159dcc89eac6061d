"""What clients do not read stays in memory: it is bounded for each key, and holds up nobody else."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import MutableMapping
from typing import Any

import httpx2
import pytest

from pnyx.errors import Full
from pnyx.interfaces.http import paced_send, runs, usage
from pnyx.interfaces.http.paced_send import PacedSend
from pnyx.interfaces.http.usage import KeyUsage
from pnyx.interfaces.service.reading_turns import ReadingTurns
from pnyx.interfaces.service.run_service import RunService
from tests.interfaces.mcp.test_replay import opened
from tests.support.scripted import ScriptedHost
from tests.support.serving import open_server
from tests.support.waiting import until

MANY, FEW = 8, 3


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


@pytest.mark.parametrize("format", ["json", "md"])
async def test_one_key_reads_its_long_runs_one_after_another(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    written, active, most = runs._file, 0, 0

    async def counted(*args: Any) -> Any:
        nonlocal active, most
        active, most = active + 1, max(most, active + 1)
        for _ in range(20):
            await asyncio.sleep(0)
        answer = await written(*args)
        active -= 1
        return answer

    monkeypatch.setattr(runs, "_file", counted)
    async with open_server() as server, server.client() as client:
        run = (await client.post("/v1/runs", json={"question": "Why?", "wait": True})).json()["run_id"]
        answers = await asyncio.gather(
            *(client.get(f"/v1/runs/{run}/export?format={format}") for _ in range(MANY))
        )
        assert len(server.service.reading) == 0, "a lock that nobody holds is forgotten"
    assert [answer.status_code for answer in answers] == [200] * MANY
    assert most == 1


WORDS = {"model": "consensus", "messages": [{"role": "user", "content": "Why?"}]}
NUMBERS = itertools.count(1)
SHOW = {"name": "show", "_meta": {"progressToken": "t"}}
FOLLOWERS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", WORDS | {"stream": True}),
    "chat, not streamed": ("/v1/chat/completions", WORDS),
    "completions": ("/v1/completions", {"model": "consensus", "prompt": "Why?", "stream": True}),
    "messages": ("/v1/messages", WORDS | {"max_tokens": 100, "stream": True}),
    "responses": ("/v1/responses", {"model": "consensus", "input": "Why?", "stream": True}),
    "events": ("", {}),
    "shared events": ("", {}),
    "MCP": ("", {}),
}
"""What follows a run, with the request that joins it, if it is one that starts it too."""


async def _follow(kind: str, client: httpx2.AsyncClient, run: str, token: str) -> httpx2.Response:
    path, body = FOLLOWERS[kind]
    match kind:
        case "events":
            return await client.get(f"/v1/runs/{run}/events")
        case "shared events":
            headers = {"Authorization": f"Bearer {token}"}
            return await client.get("/v1/shared/events", headers=headers)
        case "MCP":
            call = SHOW | {"arguments": {"run_id": run, "wait_s": 60}}
            message = {"jsonrpc": "2.0", "id": next(NUMBERS), "method": "tools/call", "params": call}
            return await client.post("/mcp", json=message)
    return await client.post(path, json=body, headers={"Idempotency-Key": "one"})


async def test_followers_read_pages_one_after_another_whichever_api_they_use(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    news, active, counts = RunService.news, 0, list[int]()

    async def counted(*args: Any, **options: Any) -> Any:
        nonlocal active
        active += 1
        counts.append(active)
        for _ in range(20):
            await asyncio.sleep(0)
        page = await news(*args, **options)
        active -= 1
        return page

    monkeypatch.setattr(RunService, "news", counted)
    async with open_server() as server, opened(server) as client:
        for kind, (path, body) in FOLLOWERS.items():
            started = await client.post(
                path or "/v1/runs",
                json=body if path else {"question": "Why?", "wait": True},
                headers={"Idempotency-Key": "one"},
            )
            run = started.headers["x-run-id"]
            shared = (await client.post(f"/v1/runs/{run}/shares", json={})).json()["token"]
            await until(lambda: server.service.active == 0)
            counts.clear()
            answers = await asyncio.gather(*(_follow(kind, client, run, shared) for _ in range(FEW)))
            assert [answer.status_code for answer in answers] == [200] * FEW, kind
            assert len(counts) >= FEW, kind
            assert max(counts) == 1, kind
        assert len(server.service.reading) == 0, "a turn that nobody holds is forgotten"


async def test_of_many_followers_one_has_an_event_in_a_turn_of_the_loop() -> None:
    turns, had, most, loop_turns = ReadingTurns(), 0, 0, 0

    async def others() -> None:
        nonlocal most, loop_turns, had
        while loop_turns < 3 * MANY * MANY:
            most, had, loop_turns = max(most, had), 0, loop_turns + 1
            await asyncio.sleep(0)

    async def follow() -> None:
        nonlocal had
        for _ in range(MANY):
            await turns.event("ann")
            had += 1

    await asyncio.gather(*(follow() for _ in range(MANY)), others())
    assert most == 1


async def test_a_process_that_stops_does_not_wait_for_all_who_read_whole_runs() -> None:
    stops = False
    turns, begun = ReadingTurns(lambda: stops), asyncio.Event()
    read = 0

    async def first() -> None:
        async with turns.whole("ann"):
            begun.set()
            await until(lambda: stops)

    async def later() -> None:
        nonlocal read
        with pytest.raises(Full, match="stopping"):
            async with turns.whole("ann"):
                read += 1

    reader = asyncio.create_task(first())
    await begun.wait()
    others = asyncio.gather(*(later() for _ in range(MANY)))
    await asyncio.sleep(0)
    stops = True
    await asyncio.gather(reader, others)
    assert read == 0
