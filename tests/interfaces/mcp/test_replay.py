"""A stream of MCP whose connection broke is read on, and nothing is carried out twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.server.streamable_http import GET_STREAM_KEY, EventMessage
from mcp_types import JSONRPCNotification, JSONRPCResponse

from pnyx.interfaces.http.mcp_replay import KEEP_S, OVERHEAD, ReplayLog
from tests.support.assistants import HELLO, over_http
from tests.support.properties import examples
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle, open_server

VERSION = "2025-11-25"
VOTE = {"question": "Why?", "protocol": "voting"}
LIMIT_S = 30


def note(number: int, text: str = "") -> JSONRPCNotification:
    return JSONRPCNotification(
        jsonrpc="2.0", method="notifications/progress", params={"n": number, "text": text}
    )


def response(number: int) -> JSONRPCResponse:
    return JSONRPCResponse(jsonrpc="2.0", id=1, result={"n": number})


@dataclass
class Reader:
    """A client that reads a stream. events: what it got. over: whether the stream ended."""

    events: list[EventMessage] = field(default_factory=list)
    over: bool = False

    async def add(self, event: EventMessage) -> None:
        await anyio.lowlevel.checkpoint()  # as a connection, which takes a while
        self.events.append(event)

    @property
    def ids(self) -> list[str | None]:
        return [event.event_id for event in self.events]


@examples(25)
@given(
    turns=st.lists(st.sampled_from(["message", "other", "pause"]), max_size=12),
    broken=st.integers(0, 12),
    ends=st.booleans(),
)
async def test_each_message_after_the_last_that_was_read_comes_once_and_in_order(
    turns: list[str], broken: int, ends: bool
) -> None:
    store = ReplayLog().session()
    ids = [await store.store_event("1", None)]
    reader = Reader()

    async def read(last: str) -> None:
        assert await store.replay_events_after(last, reader.add) is None
        reader.over = True

    async with anyio.create_task_group() as tasks:
        after: int | None = None
        for number, turn in enumerate([*turns, *["message"] * ends]):
            if number == broken:
                after = len(ids)
                tasks.start_soon(read, ids[-1])
            if turn == "pause":
                await anyio.wait_all_tasks_blocked()
            elif turn == "other":
                await store.store_event("2", note(number))
            else:
                last = number == len(turns)
                ids.append(await store.store_event("1", response(number) if last else note(number)))
        await anyio.wait_all_tasks_blocked()
        assert reader.ids == ([] if after is None else ids[after:])
        assert reader.over == (ends and after is not None)
        tasks.cancel_scope.cancel()


async def test_sessions_do_not_see_each_other() -> None:
    log = ReplayLog()
    mine, theirs = log.session(), log.session()
    first = await mine.store_event("1", None)
    await mine.store_event("1", response(1))
    await theirs.store_event("2", response(2))
    for unknown in ("2-1", "9-1", "", "x", "1", "1-", "1-x", "-1", f"1-{'9' * 5000}"):
        reader = Reader()
        with anyio.fail_after(LIMIT_S):
            assert await mine.replay_events_after(unknown, reader.add) is None
        assert reader.events == []
    reader = Reader()
    await mine.replay_events_after(first, reader.add)
    assert [event.message for event in reader.events] == [response(1)]


async def test_what_is_kept_of_a_key_is_bounded_and_the_oldest_goes_first() -> None:
    text = "x" * 10_000
    log = ReplayLog(most_chars=5 * (OVERHEAD + len(text) + 500))
    sessions = [log.session() for _ in range(3)]
    for number in range(30):
        await sessions[number % 3].store_event(str(number), note(number, text))
    kept = [message.event.message.params["n"] for _, message in log._kept]  # type: ignore[union-attr,index]
    assert kept == [25, 26, 27, 28, 29]
    assert log._chars <= log._most_chars


async def test_a_message_is_forgotten_after_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("pnyx.interfaces.http.mcp_replay.time.monotonic", lambda: now)
    log = ReplayLog()
    store = log.session()
    await store.store_event(GET_STREAM_KEY, note(1))
    now += KEEP_S + 1
    await store.store_event("2", note(2))
    assert len(log._kept) == 1


async def test_the_ids_of_a_session_are_bounded() -> None:
    store = ReplayLog().session()
    for number in range(1000):
        await store.store_event(str(number), response(number))
    assert len(store._streams) <= 256  # type: ignore[attr-defined]
    reader = Reader()
    last = await store.store_event("\n\n: no line of an event", None)
    assert last.isprintable()
    await store.store_event("\n\n: no line of an event", response(1))
    await store.replay_events_after(last, reader.add)
    assert len(reader.events) == 1


@asynccontextmanager
async def opened(server: ServerHandle) -> AsyncIterator[httpx2.AsyncClient]:
    """A client with a session of 2025-11-25."""
    async with server.client() as client:
        client.headers |= {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": VERSION}
        hello = {**HELLO, "params": {**HELLO["params"], "protocolVersion": VERSION}}
        answer = await client.post("/mcp", json=hello)
        client.headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
        await client.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield client


async def events(answer: httpx2.Response) -> AsyncGenerator[dict[str, str], None]:
    """Server-sent events by their fields, until the stream ends."""
    found: dict[str, str] = {}
    async for line in answer.aiter_lines():
        name, colon, value = line.partition(":")
        if name and colon:
            found[name] = value.removeprefix(" ")
        elif not line and found:
            yield found
            found = {}


CALL = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "ask", "arguments": VOTE, "_meta": {"progressToken": "p"}},
}


async def test_a_call_whose_connection_breaks_in_the_debate_is_read_on_and_is_one_run(
    lab: ScriptedHost,
) -> None:
    go_on = asyncio.Event()
    lab.on("beta", until=go_on.is_set)
    async with asyncio.timeout(LIMIT_S), open_server() as server, opened(server) as client:
        before = []
        async with client.stream("POST", "/mcp", json=CALL) as answer, aclosing(events(answer)) as read:
            async for event in read:
                before.append(event)
                if "of about" in event["data"]:
                    break
        assert before[0]["data"] == "", "the first event has an id only, to read on from"
        assert before[0]["retry"] == "1000"
        await lab.wait_for_requests(3)
        go_on.set()
        for _ in range(2):  # as often as the client likes, even after the end
            after = []
            last = {"Last-Event-ID": before[-1]["id"]}
            async with client.stream("GET", "/mcp", headers=last) as answer, aclosing(events(answer)) as read:
                async for event in read:
                    after.append(event)  # the stream ends by itself, after the response
            final = json.loads(after[-1]["data"])
            assert final["id"] == CALL["id"]
            assert final["result"]["structuredContent"]["answer"]
            numbers = [int(event["id"].split("-")[1]) for event in (*before, *after)]
            assert numbers == list(range(1, len(numbers) + 1))
        (run,) = (await client.get("/v1/runs")).json()
        assert run["usage"]["calls"] == len(lab.log)


async def test_an_id_of_another_session_returns_nothing(lab: ScriptedHost) -> None:
    async with asyncio.timeout(LIMIT_S), open_server() as server:
        key = await server.key("ada")
        async with opened(server) as mine, opened(server) as other:
            async with mine.stream("POST", "/mcp", json=CALL) as answer, aclosing(events(answer)) as read:
                first, *_ = [event async for event in read]
            async with other.stream("GET", "/mcp", headers={"Last-Event-ID": first["id"]}) as answer:
                text = "".join([line async for line in answer.aiter_lines()])
            # It can name a stream of its own with the same number, but never reads messages of others.
            assert "structuredContent" not in text
            ada = {"Authorization": f"Bearer {key}", "Last-Event-ID": first["id"]}
            assert (await mine.get("/mcp", headers=ada)).status_code == 404


async def test_the_official_client_does_not_notice_that_connections_break(lab: ScriptedHost) -> None:
    go_on = asyncio.Event()
    lab.on("beta", until=go_on.is_set)
    async with asyncio.timeout(LIMIT_S), _Proxy() as proxy, open_server(hosts=[proxy.host]) as server:
        proxy.server = server.url
        through = replace(server, url=f"http://{proxy.host}")
        async with over_http(through, mode="legacy") as client:
            progressed = asyncio.Event()

            async def progress(progress: float, total: float | None, message: str | None) -> None:
                if progress >= 1:
                    progressed.set()

            call = asyncio.create_task(client.call_tool("ask", VOTE, progress_callback=progress))
            await progressed.wait()
            proxy.cut()
            await lab.wait_for_requests(3)
            go_on.set()
            result = await call
        assert result.structured_content["answer"]
        assert proxy.cuts >= 1
        async with server.client() as rest:
            (run,) = (await rest.get("/v1/runs")).json()
        assert run["usage"]["calls"] == len(lab.log)


class _Proxy:
    """Passes connections on to `server`, its URL, and cuts them. cuts: how many it has cut."""

    server: str

    def __init__(self) -> None:
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.cuts = 0

    async def __aenter__(self) -> _Proxy:
        self._listening = await asyncio.start_server(self._pass, "127.0.0.1", 0)
        self.host = f"127.0.0.1:{self._listening.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listening.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.cut()

    def cut(self) -> None:
        for writer in self._open:
            writer.transport.abort()
            self.cuts += 1
        self._open.clear()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        to_server = await asyncio.open_connection("127.0.0.1", int(self.server.rsplit(":", 1)[1]))
        self._open |= {writer, to_server[1]}
        for source, target in ((reader, to_server[1]), (to_server[0], writer)):
            task = asyncio.create_task(self._copy(source, target))
            self._tasks.add(task)

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(1 << 16):
                target.write(data)
                await target.drain()
        except ConnectionError:
            pass
        target.close()
