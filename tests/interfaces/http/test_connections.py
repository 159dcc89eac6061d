"""Clients that are slow, many or silent: none of them keeps the server from answering others."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from functools import partial
from typing import Any

import pytest

from pnyx.core.events import CallStarted
from pnyx.interfaces.http import connections, streaming
from pnyx.interfaces.http.connections import SPARE, Connection
from pnyx.store.records import runs as store
from tests.support.scripted import ScriptedHost
from tests.support.serving import SERVER_KEY, ServerHandle, events_of, open_server
from tests.support.waiting import STALL_S, until

MOST, HEAD_S, BODY_S = 8, 0.6, 0.4
ASKER = {"Authorization": f"Bearer {SERVER_KEY}"}


@pytest.fixture
async def server(lab: ScriptedHost) -> AsyncIterator[ServerHandle]:
    lab.on("*", text="Final answer: 42")
    async with open_server(connections=MOST, head_s=HEAD_S, body_s=BODY_S) as server:
        yield server


class Raw:
    """A connection of bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, text: str) -> None:
        self.writer.write(text.replace("\n", "\r\n").encode())

    async def rest(self) -> bytes:
        """All that the server sends until it closes the connection."""
        try:
            async with asyncio.timeout(60):
                return await self.reader.read()
        except ConnectionResetError:
            return b""

    async def reply(self) -> tuple[int, Any]:
        """The next response: its status and its JSON."""
        async with asyncio.timeout(60):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
            return int(head.split()[1]), json.loads(await self.reader.readexactly(length))


@asynccontextmanager
async def connected(server: ServerHandle) -> AsyncIterator[Raw]:
    host, _, port = server.url.removeprefix("http://").partition(":")
    client = socket.socket()
    client.setblocking(False)
    client.setsockopt(
        socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536
    )  # the system's own may hold a long response
    await asyncio.get_running_loop().sock_connect(client, (host, int(port)))
    reader, writer = await asyncio.open_connection(sock=client)
    try:
        yield Raw(reader, writer)
    finally:
        writer.close()


def head(server: ServerHandle, path: str = "/health", method: str = "GET", **headers: object) -> str:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {server.url.removeprefix('http://')}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\n".join(lines) + "\n"


def post(server: ServerHandle, path: str = "/v1/runs", length: int = 100) -> str:
    given = {"Content_Type": "application/json", "Authorization": f"Bearer {SERVER_KEY}"}
    return head(server, path, "POST", Content_Length=length, **given) + "\n"


async def test_half_a_head_gets_408_in_time_even_if_more_of_it_keeps_coming(server: ServerHandle) -> None:
    async with connected(server) as still, connected(server) as slow:
        still.send(head(server))
        slow.send(head(server))
        started = time.monotonic()

        async def drip() -> None:
            while True:
                slow.send("X-More: 1\n")
                await asyncio.sleep(HEAD_S / 10)

        dripping = asyncio.create_task(drip())
        for one in (still, slow):
            status, document = await one.reply()
            assert (status, document["error"]["type"]) == (408, "request_timeout")
            assert await one.rest() == b""
        dripping.cancel()
        assert HEAD_S * 0.9 < time.monotonic() - started < HEAD_S + 30


async def test_a_connection_without_a_byte_is_closed_without_a_word(server: ServerHandle) -> None:
    async with connected(server) as one:
        assert await one.rest() == b""


async def test_the_second_head_on_a_kept_connection_must_arrive_in_time_too(server: ServerHandle) -> None:
    async with connected(server) as one:
        one.send(head(server) + "\n")
        assert (await one.reply())[0] == 200
        await asyncio.sleep(HEAD_S * 1.3)  # idle for longer is allowed
        one.send(head(server) + "\n")
        assert (await one.reply())[0] == 200
        one.send("GET /hea")
        assert (await one.reply())[0] == 408


SHAPES = {
    "/v1/runs": ("error", "request_timeout"),
    "/v1/chat/completions": ("error", "invalid_request_error"),
    "/v1/messages": ("error", "invalid_request_error"),
    "/mcp": ("error", "request_timeout"),
}


@pytest.mark.parametrize("path", SHAPES)
async def test_a_body_that_does_not_arrive_gets_408_in_the_shape_of_its_api(
    server: ServerHandle, path: str
) -> None:
    async with connected(server) as one:
        one.send(post(server, path) + '{"quest')
        status, document = await one.reply()
        assert (status, document["error"]["type"]) == (408, SHAPES[path][1])
        assert "body_s" in document["error"]["message"]
        assert await one.rest() == b""


async def test_a_long_body_may_take_longer_than_a_short_one(server: ServerHandle) -> None:
    body = json.dumps({"question": "Why? " * 2000, "protocol": "single"}).encode()
    statuses = list[int]()
    while 202 not in statuses and len(statuses) < 5:  # a machine that stalls makes one too late
        async with connected(server) as one:
            one.send(post(server, length=len(body)))
            pieces = [body[at : at + 1000] for at in range(0, len(body), 1000)]
            for piece in pieces:
                one.writer.write(piece)
                await asyncio.sleep(1.5 * BODY_S / len(pieces))
            statuses.append((await one.reply())[0])
    assert statuses[-1] == 202


async def test_the_rest_of_a_refused_body_is_not_awaited_for_ever(server: ServerHandle) -> None:
    async with connected(server) as one:
        one.send(post(server).replace(SERVER_KEY, "wrong"))
        assert (await one.reply())[0] == 401
        for _ in range(20):
            one.send("a")
            await asyncio.sleep(BODY_S / 5)
            if one.reader.at_eof():
                break
        assert await one.rest() == b""


async def test_many_half_heads_make_room_for_whole_ones(server: ServerHandle) -> None:
    host, _, port = server.url.removeprefix("http://").partition(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(5 * MOST + SPARE)]
    try:
        for one in silent:
            one.send(b"GET /health HT")
        async with server.client() as client:
            for _ in range(3):
                assert (await client.get("/health")).status_code == 200
                assert (await client.get("/v1/runs")).status_code == 200
    finally:
        for one in silent:
            one.close()


@pytest.mark.parametrize("first", ["GET /health HT", "GET /health HTTP/1.1\nHost: {host}\n\n"])
async def test_connections_without_a_request_make_room_for_one_at_once(
    server: ServerHandle, first: str
) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(MOST + SPARE):
            one = await stack.enter_async_context(connected(server))
            one.send(first.format(host=server.url.removeprefix("http://")))
            if "{host}" in first:
                assert (await one.reply())[0] == 200
        for pieces in ((head(server, "/v1/runs", **ASKER) + "\n",), (head(server, **ASKER), "\n")):
            async with connected(server) as asker:
                for piece in pieces:
                    asker.send(piece)
                    await asyncio.sleep(0.05)
                assert (await asker.reply())[0] == 200


async def test_no_connection_whose_request_has_arrived_makes_room_for_another(server: ServerHandle) -> None:
    host, _, port = server.url.removeprefix("http://").partition(":")
    request = (head(server) + "\n").replace("\n", "\r\n").encode()
    loop = asyncio.get_running_loop()
    with ExitStack() as held:
        clients = [held.enter_context(socket.socket()) for _ in range(MOST + 2 * SPARE)]
        for one in clients:
            one.setblocking(False)

        async def is_answered(client: socket.socket) -> None:
            async with asyncio.timeout(STALL_S):
                assert (await loop.sock_recv(client, 10_000)).startswith(b"HTTP/1.1 200 ")

        kept = clients[: MOST + MOST // 4]
        for one in kept:
            await loop.sock_connect(one, (host, int(port)))
            await loop.sock_sendall(one, request)
            await is_answered(one)
        for one in clients[len(kept) :]:
            await loop.sock_connect(one, (host, int(port)))
        # The server, in this event loop, reads nothing between these.
        for one in clients:
            one.send(request)
        for one in clients:
            await is_answered(one)


async def test_a_response_that_is_not_sent_yet_is_not_cut_to_make_room(
    server: ServerHandle, paused: list[Connection]
) -> None:
    request = await _long_export(server)
    async with connected(server) as one:
        one.send(request)
        await until(lambda: bool(paused))
        async with AsyncExitStack() as stack:
            for _ in range(MOST + SPARE):
                other = await stack.enter_async_context(connected(server))
                other.send(head(server) + "\n")
                assert (await other.reply())[0] == 200
        assert (await one.reply())[0] == 200


async def test_when_all_connections_are_busy_health_alone_is_answered_and_no_stream_is_cut(
    server: ServerHandle, lab: ScriptedHost
) -> None:
    release = asyncio.Event()
    lab.on("*", until=release.is_set, text="Final answer: 42")
    opened, follow = list[int](), list[asyncio.Task[list[str]]]()
    for key in [await server.key(name) for name in ("ada", "bob")]:  # one may have half of the connections
        async with server.client(key) as client:
            run = (await client.post("/v1/runs", json={"question": "Why?", "protocol": "single"})).json()
        path = f"/v1/runs/{run['run_id']}/events"
        follow += [asyncio.create_task(_followed(server, key, path, opened)) for _ in range(MOST // 2)]
    async with asyncio.timeout(60):
        while len(opened) < MOST:  # noqa: ASYNC110 (the server has no event for it)
            await asyncio.sleep(0.01)
        await asyncio.sleep(1.2 * max(HEAD_S, BODY_S))
        third = head(server, path, Authorization=f"Bearer {await server.key('eve')}")
        async with connected(server) as one, connected(server) as another:
            for piece in (third, "\n"):  # half of a head has no place that others could have
                for spare in (one, another):
                    spare.send(piece)
                await asyncio.sleep(0.05)
            assert [(await spare.reply())[0] for spare in (one, another)] == [503, 503]
        async with server.client() as other:
            assert (await other.get("/health")).status_code == 200
            refused = await other.get("/v1/runs")
        assert refused.status_code == 503
        assert refused.headers["retry-after"]
        assert refused.json()["error"]["type"] == "unavailable"
        release.set()
        for types in await asyncio.gather(*follow):
            assert types[-1] == "run_finished"
    async with server.client() as client:
        assert (await client.get("/v1/runs")).status_code == 200


async def _followed(server: ServerHandle, key: str, path: str, opened: list[int]) -> list[str]:
    async with server.client(key) as client, client.stream("GET", path) as response:
        opened.append(response.status_code)
        assert response.status_code == 200
        return [event["type"] async for event in events_of(response)]


@pytest.fixture
def paused(monkeypatch: pytest.MonkeyPatch) -> list[Connection]:
    """The connections whose clients have read too little so far."""
    found, pause = list[Connection](), Connection.pause_writing

    def pause_writing(one: Connection) -> None:
        pause(one)
        found.append(one)

    monkeypatch.setattr(Connection, "pause_writing", pause_writing)
    return found


async def _long_export(server: ServerHandle) -> str:
    """A request whose response is longer than the buffers between client and server."""
    async with server.client() as client:
        body = {"question": "Why? " * 250_000, "protocol": "single", "wait": True}
        run = (await client.post("/v1/runs", json=body)).json()
    return head(server, f"/v1/runs/{run['run_id']}/export", **ASKER) + "\n"


async def test_a_client_that_reads_nothing_of_a_long_response_is_disconnected(
    server: ServerHandle, paused: list[Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "STALL_S", 0.3)
    request = await _long_export(server)
    async with connected(server) as one:
        one.send(request)
        await until(lambda: bool(paused))
        await until(paused[0].transport.is_closing)
        received = await one.rest()
    top, _, content = received.partition(b"\r\n\r\n")
    announced = int(top.partition(b"content-length: ")[2].partition(b"\r\n")[0])
    # The export has the question several times, more than the buffers between the two hold.
    assert 0 < len(content) < announced


async def test_a_server_that_stops_does_not_wait_for_a_follower_that_reads_nothing(
    server: ServerHandle, paused: list[Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "STALL_AT_END_S", 0.02)
    monkeypatch.setattr(connections, "STALL_S", 3600.0)
    monkeypatch.setattr(streaming, "SEND_S", 3600.0)
    async with server.client() as client:
        body = {"question": "Why?", "protocol": "single", "wait": True}
        run = (await client.post("/v1/runs", json=body)).json()["run_id"]
    prompt = "Why? " * 1_000_000
    of: dict[str, Any] = {"fingerprint": "f", "model": "lab:alpha", "attempt": 1, "key": "/9"}
    call = CallStarted(prompt_id="p", prompt_sha256="s", prompt=prompt, **of)
    append = partial(store.append, run_id=run, epoch=1, batch=[call] * 4)
    await server.runner.database.write(append)
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        host, _, port = server.url.removeprefix("http://").partition(":")
        one.connect((host, int(port)))
        asked = head(server, f"/v1/runs/{run}/events", Authorization=f"Bearer {SERVER_KEY}")
        one.sendall(f"{asked}\n".replace("\n", "\r\n").encode())
        await until(lambda: bool(paused))
        # uvicorn does this when it is asked to stop, and waits until the connection is lost.
        paused[0].shutdown()
        await until(paused[0].transport.is_closing)


async def test_a_request_with_two_lengths_ends_its_connection(server: ServerHandle) -> None:
    async with connected(server) as one:
        first = post(server, "/v1/plan", 4).removesuffix("\n") + "Transfer-Encoding: chunked\n\n0\n\n"
        one.send(first + head(server, "/v1/runs", Authorization=f"Bearer {SERVER_KEY}") + "\n")
        received = await one.rest()
    assert received.count(b"HTTP/1.1 ") == 1
    assert received.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "request_text",
    [
        "\x16\x03\x01 hello\n\n",
        "GET / HTTP/1.1\n\n",
        "GET / HTTP/1.1\nHost: a\nHost: b\n\n",
        "POST /v1/runs HTTP/1.1\nHost: 127.0.0.1\nContent-Length: -1\n\n",
    ],
)
async def test_what_is_not_http_is_refused_with_the_headers_of_every_response(
    server: ServerHandle, request_text: str
) -> None:
    async with connected(server) as raw:
        raw.send(request_text)
        head, _, body = (await raw.rest()).decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 400 ")
    for header in ("x-content-type-options: nosniff", "cache-control: no-store", "content-security-policy: "):
        assert header in head.lower()
    assert json.loads(body)["error"]["type"] == "bad_request"
