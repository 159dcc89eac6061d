"""A scripted model host on loopback: exact faults, and a true record of requests and costs.

    with ScriptedHost() as host:                # its own thread; `async with` shares the test's loop
        host.on("alpha", call=2, status=429, headers={"Retry-After": "2"})
        host.on("beta", cut_at=120)
        ...                                     # at host.openai, host.anthropic, host.google or host.mistral
        assert [r.model for r in host.log] == ["alpha", "beta"]
        assert ledger == host.bill({"alpha": Price(1.0, 4.0), "beta": Price(1.0, 4.0)})

`with spawn() as host` runs it in a process of its own, which outlives a killed client, and
`python -m tests.support.scripted --port 0 --latency 1` prints its address and serves for ever.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from pnyx.core.models import Price, Usage
from tests.support import dialects
from tests.support.dialects import Answer, ModelRequest
from tests.support.script import Fault, Request
from tests.support.waiting import STALL_S, until

__all__ = ["Fault", "RemoteHost", "Request", "ScriptedHost", "spawn"]


class ScriptedHost:
    """See the module. `latency`: seconds before every reply. `replies`: how many are sent until it is None.

    `listings`: the headers of who asked for models; "/models" scripts that reply: its `status` and `body`.
    """

    def __init__(self, *, latency: float = 0.0, port: int = 0, models: tuple[str, ...] = ()) -> None:
        self.latency = latency
        self.replies: int | None = None
        self.port = port
        self.models = models or ("alpha", "beta", "gamma")
        self.log: list[Request] = []
        self.listings: list[dict[str, str]] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self._faults: list[Fault] = []
        self._kept = 0
        self._calls: Counter[str] = Counter()
        self._server: asyncio.Server | None = None
        self.connections: set[_Connection] = set()
        self._thread: threading.Thread | None = None
        self._stop: Callable[[], object] = lambda: None

    def on(self, model: str, **script: Any) -> None:
        """Script the replies of `model`, see `Fault`; if several match a call, the last one applies."""
        self._faults.append(Fault(model, **script))

    def keep(self) -> None:
        """Keep what is scripted so far when a client in another process resets the host."""
        self._kept = len(self._faults)

    @contextmanager
    def scripted(self) -> Iterator[None]:
        """Forget on exit what is scripted inside."""
        before = list(self._faults)
        try:
            yield
        finally:
            self._faults[:] = before

    def requests(self, model: str) -> list[Request]:
        return [request for request in self.log if request.model == model]

    async def wait_until_idle(self, within: float = 60.0) -> None:
        """Wait until no request is open. Fails after `within` seconds."""
        await until(lambda: all(request.done for request in self.log), within)

    async def wait_for_requests(self, times: int, within: float = 60.0) -> None:
        """Wait until `times` requests have arrived. Fails after `within` seconds."""
        await until(lambda: len(self.log) >= times, within)

    def bill(self, prices: Mapping[str, Price]) -> int:
        """Return the cost of all calls at `prices` (by model), in nUSD."""
        return sum(
            prices[r.model].cost(Usage(*(r.usage[k] for k in ("input", "cached", "output", "reasoning"))))
            for r in self.log
            if r.usage is not None
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai(self) -> str:
        return f"{self.url}/v1"

    @property
    def anthropic(self) -> str:
        return self.url

    google = anthropic

    @property
    def mistral(self) -> str:
        return f"{self.url}/mistral"

    def admit(
        self, path: str, raw: bytes, headers: dict[str, str]
    ) -> tuple[ModelRequest, Request, Fault] | None:
        """Log a request and choose its reply; None if `path` is not a model call."""
        parsed = dialects.read(path, raw)
        if parsed is None:
            return None
        self._calls[parsed.model] += 1
        sha256 = hashlib.sha256(raw).hexdigest()
        request = Request(time.time(), parsed.model, path, sha256, len(raw), parsed.document)
        request.call, request.headers = self._calls[parsed.model], headers
        self.log.append(request)
        fault = [Fault(parsed.model), *(f for f in self._faults if f.matches(parsed.model, request.call))][-1]
        if self.replies is not None:
            fault = replace(fault, until=partial(self._answers, len(self.log), fault.until))
        return parsed, request, fault

    def _answers(self, number: int, more: Callable[[], object] | None) -> bool:
        return (self.replies is None or number <= self.replies) and (more is None or bool(more()))

    def replied(self, request: Request) -> None:
        """Called right before the end of a reply is written; for hosts that note more."""

    def other_response(self, path: str, raw: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        """Return status and body for a request that is not a model call."""
        if path == "/__log":
            rows = [{k: v for k, v in asdict(r).items() if k != "headers"} for r in self.log]
            return 200, json.dumps(rows).encode()
        if path == "/__on":
            self.on(**json.loads(raw))
            return 200, b"{}"
        if path == "/__reset":
            self.log.clear()
            self._calls.clear()
            del self._faults[self._kept :]
            return 200, b"{}"
        listing = dialects.listing(path, self.models)
        if listing is None:
            return 404, dialects.error(404, "no such page")
        self.listings.append(headers)
        fault = next((f for f in reversed(self._faults) if f.model == "/models"), Fault("/models"))
        if fault.status >= 400:
            return fault.status, dialects.error(fault.status, fault.message)
        return fault.status, listing if fault.body is None else fault.body

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self), "127.0.0.1", self.port, backlog=4096, reuse_address=True
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        # A connection that was accepted is made some turns of the loop later, which a closed server forbids.
        await asyncio.sleep(0.002)
        self._server.close()
        for connection in list(self.connections):
            connection.transport.abort()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await asyncio.sleep(0)

    def __enter__(self) -> ScriptedHost:
        ready = threading.Event()

        async def serve() -> None:
            stop = asyncio.Event()
            loop = asyncio.get_running_loop()
            self._stop = lambda: loop.call_soon_threadsafe(stop.set)
            async with self:
                ready.set()
                await stop.wait()

        self._thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
        self._thread.start()
        assert ready.wait(STALL_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        assert self._thread is not None
        self._thread.join(STALL_S)


class _Connection(asyncio.Protocol):
    """One client. A reply without a delay is sent at once, without a task."""

    transport: asyncio.Transport

    def __init__(self, host: ScriptedHost) -> None:
        self.host = host
        self.buffer = bytearray()
        self.request: Request | None = None
        self.task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.host.connections.add(self)

    def eof_received(self) -> None:
        self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.request is not None and not self.request.done:
            self.request.left = time.time()
            self.request.done = True
        if self.task is not None:
            self.task.cancel()
        self.host.connections.discard(self)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self.buffer[:1] == b"\x16":  # a TLS handshake, at which servers of plain HTTP close the connection
            return self.transport.close()
        while self.task is None and (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            first, *lines = self.buffer[:end].decode("latin-1").split("\r\n")
            pairs = (line.partition(":") for line in lines)
            headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
            length = end + 4 + int(headers.get("content-length", 0))
            if len(self.buffer) < length:
                return
            raw = bytes(self.buffer[end + 4 : length])
            del self.buffer[:length]
            self.answer(first.split(" ")[1], raw, headers)

    def answer(self, path: str, raw: bytes, headers: dict[str, str]) -> None:
        admitted = self.host.admit(path, raw, headers)
        if admitted is None:
            status, body = self.host.other_response(path, raw, headers)
            framing = {"Content-Type": "application/json", "Content-Length": str(len(body))}
            self.transport.write(_head(status, framing) + body)
            return
        parsed, request, fault = admitted
        self.request = request
        wait = self.host.latency + fault.delay
        steady = wait == 0 and not (fault.after or fault.until or fault.hang or fault.drip or fault.pings)
        if steady:
            self.send(parsed, request, fault)
        else:
            self.task = asyncio.get_running_loop().create_task(self.late(parsed, request, fault, wait))
            self.host.tasks.add(self.task)
            self.task.add_done_callback(self.host.tasks.discard)

    async def late(self, parsed: ModelRequest, request: Request, fault: Fault, wait: float) -> None:
        await self.host.wait_for_requests(fault.after)
        while fault.until is not None and not fault.until():  # noqa: ASYNC110 (set in another thread)
            await asyncio.sleep(0.01)
        await asyncio.sleep(wait if not fault.hang else 86400)
        if fault.pings is not None:
            self.transport.write(
                _head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
            )
            while True:
                self.transport.write(b"e\r\n: still here\n\n\r\n")
                await asyncio.sleep(fault.pings)
        if fault.drip is None:
            self.send(parsed, request, fault)
        else:
            size, pause = fault.drip
            for piece in self.frames(parsed, request, fault, size):
                self.transport.write(piece)
                await asyncio.sleep(0 if fault.hurry is not None and fault.hurry() else pause)
            self.finish(request, fault)
        self.task = None
        self.data_received(b"")

    def send(self, parsed: ModelRequest, request: Request, fault: Fault) -> None:
        is_silent = fault.reset and fault.cut_at is None
        self.finish(request, fault, b"" if is_silent else b"".join(self.frames(parsed, request, fault)))

    def finish(self, request: Request, fault: Fault, wire: bytes = b"") -> None:
        """Write the end of the reply; the log is complete before the client can read it."""
        cut = fault.reset or (fault.cut_at is not None and fault.cut_at <= request.sent)
        request.completed = not cut
        request.done = True
        self.host.replied(request)
        self.transport.write(wire)
        if fault.reset:
            # A zero linger makes close() send RST instead of FIN; what was written before it goes out first.
            linger = (socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.get_extra_info("socket").setsockopt(*linger)
            self.transport.abort()
        elif cut or fault.unframed:
            self.transport.close()

    def frames(self, parsed: ModelRequest, request: Request, fault: Fault, size: int = 0) -> Iterator[bytes]:
        """Yield head and body as sent, up to `cut_at`; with `size`, the body in pieces of that size."""
        parts, kind = self.reply(parsed, request, fault)
        parts = [part for part in parts if part]
        if size:
            joined = b"".join(parts)
            parts = [joined[i : i + size] for i in range(0, len(joined), size)]
        total = sum(map(len, parts))
        chunked = kind == "text/event-stream" and not fault.unframed
        framing = {"Transfer-Encoding": "chunked"} if chunked else {"Content-Length": str(total)}
        framing = {"Connection": "close"} if fault.unframed else framing
        request.status = fault.status
        yield _head(fault.status, {"Content-Type": kind, **framing, **fault.headers})
        left = total if fault.cut_at is None else fault.cut_at
        for part in parts:
            wire = part[:left]
            request.sent += len(wire)
            # The chunk header has the full length, so a cut inside the chunk is detectable.
            yield (b"%x\r\n" % len(part) + wire + (b"\r\n" if wire == part else b"")) if chunked else wire
            left -= len(wire)
            if wire != part or (left == 0 and fault.cut_at is not None):
                return
        if chunked:
            yield b"0\r\n\r\n"

    def reply(self, parsed: ModelRequest, request: Request, fault: Fault) -> tuple[list[bytes], str]:
        kind = "text/event-stream" if parsed.stream else "application/json"
        if fault.body is not None:
            return [fault.body], kind
        if fault.status >= 400:
            return [dialects.error(fault.status, fault.message)], "application/json"
        text = fault.text(request) if callable(fault.text) else fault.text
        if text is None:
            text = "" if fault.tool_calls or fault.refusal else dialects.default_text(parsed)
        reported = dialects.usage(parsed, text, len(fault.searches)) if fault.usage == "true" else fault.usage
        assert not isinstance(reported, str)
        answer = Answer(
            text, reported, fault.finish, fault.tool_calls, fault.refusal, fault.extra, fault.searches
        )
        request.usage = dialects.truth(parsed, answer)
        return (dialects.events(parsed, answer) if parsed.stream else [dialects.body(parsed, answer)]), kind


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class RemoteHost(ScriptedHost):
    """A host in another process: the same reading and scripting, over HTTP (scripts of plain values only)."""

    def __init__(self, port: int) -> None:
        self.port = port

    def on(self, model: str, **script: Any) -> None:
        self._fetch("/__on", json.dumps({"model": model, **script}).encode())

    @property
    def log(self) -> list[Request]:  # type: ignore[override]
        names = {f.name for f in fields(Request)}
        return [Request(**{k: v for k, v in row.items() if k in names}) for row in self._fetch("/__log")]

    def _fetch(self, path: str, data: bytes | None = None) -> Any:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.url + path, data, timeout=120) as reply:
            return json.load(reply)


@contextmanager
def spawn(*, latency: float = 0.0) -> Iterator[RemoteHost]:
    """Start a host in another process, which ends on exit."""
    command = [sys.executable, "-m", "tests.support.scripted", "--latency", str(latency)]
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield RemoteHost(int(process.stdout.readline().rpartition(":")[2]))
        finally:
            process.terminate()


async def _serve(port: int, latency: float) -> None:
    async with ScriptedHost(latency=latency, port=port) as host:
        print(host.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="a scripted model host on loopback")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before every reply")
    options = parser.parse_args()
    asyncio.run(_serve(options.port, options.latency))
