"""Speed of `pnyx serve`: `python -m benchmarks.serve`.

A server in its own process, with models of a scripted host. It prints the cheap routes on kept connections
(milliseconds of one connection, requests a second of eight), how late 200 followers of one run get its
events, and how many runs begin in a second.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from statistics import median, quantiles

from tests.support.announced import address_and_key
from tests.support.scripted import ScriptedHost

REQUESTS, CONNECTIONS, FOLLOWERS, RUNS = 300, 8, 200, 200
SETTINGS = """
[providers.lab]
kind = "openai"
base_url = "{url}"
api_key_env = "LAB_KEY"
concurrency = 512
[models."lab:alpha"]
input_price = 1.0
output_price = 4.0
[panel]
seats = ["lab:alpha*3"]
"""

CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": CLIENT}


@dataclass
class Connection:
    """A kept connection that sends one request at a time."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    head: str
    ids: Iterator[int] = field(default_factory=count)

    @classmethod
    async def open(cls, url: str, key: str) -> Connection:
        host, _, port = url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"Host: {host}:{port}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
        return cls(reader, writer, f"{head}Accept: application/json, text/event-stream\r\n")

    async def send(self, method: str, path: str, body: object = None) -> int:
        """Send a request and read the head of its response. Return the length of its body, 0 for a stream."""
        if isinstance(body, dict) and "id" in body:  # of JSON-RPC; a session uses each once
            body = {**body, "id": next(self.ids)}
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\n{self.head}Content-Length: {len(data)}\r\n\r\n"
        self.writer.write(head.encode() + data)
        top = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        assert top.split()[1] in ("200", "202"), top
        if session := re.search(r"mcp-session-id: \S+\r\n", top):
            self.head += session[0] if session[0] not in self.head else ""
        found = re.search(r"content-length: (\d+)", top)
        return int(found[1]) if found else 0

    async def ask(self, method: str, path: str, body: object = None) -> bytes:
        """Send a request and return the body of its response."""
        if length := await self.send(method, path, body):
            return await self.reader.readexactly(length)
        return await self.reader.readuntil(b"\r\n0\r\n\r\n")


@contextmanager
def serving(host: ScriptedHost) -> Iterator[tuple[str, str]]:
    """Start the server; yields its address and a key."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "lab.toml").write_text(SETTINGS.format(url=host.openai))
        names = {"PNYX_CONFIG": "lab.toml", "PNYX_DATABASE": f"{folder}/runs.db", "LAB_KEY": "sk-lab"}
        command = [sys.executable, "-m", "pnyx", "serve", "--port", "0"]
        environment = {**os.environ, **names, "PYTHONPATH": str(Path(__file__).parents[1])}
        with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE) as process:
            try:
                yield address_and_key(process.stderr)
            finally:
                process.terminate()


def spread(values: list[float]) -> str:
    return f"p50 {median(values):.2f}, p95 {quantiles(values, n=20)[-1]:.2f}"


async def routes(url: str, key: str, run: str) -> None:
    table: dict[str, tuple[str, str, object]] = {
        "GET /health": ("GET", "/health", None),
        "GET /v1/runs/ID": ("GET", f"/v1/runs/{run}", None),
        "GET /v1/runs": ("GET", "/v1/runs", None),
        "GET /v1/models": ("GET", "/v1/models", None),
        "GET /v1/runs/ID/events, a finished run": ("GET", f"/v1/runs/{run}/events", None),
        "POST /mcp, ping": ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}),
    }
    for name, (method, path, body) in table.items():
        # The others later: the server closes one that has sent nothing for ten seconds.
        kept = [await _opened(url, key, path)]
        seconds = []
        for _ in range(REQUESTS):
            begun = time.perf_counter()
            await kept[0].ask(method, path, body)
            seconds.append((time.perf_counter() - begun) * 1000)
        kept += [await _opened(url, key, path) for _ in range(CONNECTIONS - 1)]
        begun = time.perf_counter()
        await asyncio.gather(*(_repeat(one, method, path, body) for one in kept))
        rate = CONNECTIONS * (REQUESTS // CONNECTIONS) / (time.perf_counter() - begun)
        print(f"{name}: {spread(seconds)} ms; {rate:.0f} a second on {CONNECTIONS} connections")
        for connection in kept:
            connection.writer.close()


async def _opened(url: str, key: str, path: str) -> Connection:
    connection = await Connection.open(url, key)
    if path == "/mcp":
        await connection.ask("POST", path, INITIALIZE)
    return connection


async def _repeat(connection: Connection, method: str, path: str, body: object) -> None:
    for _ in range(REQUESTS // CONNECTIONS):
        await connection.ask(method, path, body)


async def followers(url: str, key: str, host: ScriptedHost) -> None:
    """How late followers get the events of a run, after the time in the event."""
    host.latency = 1.0
    first = await Connection.open(url, key)
    body = {"question": "Why?", "protocol": "consensus", "rounds": 2}
    run = json.loads(await first.ask("POST", "/v1/runs", body))["run_id"]
    late: list[float] = []

    async def follow() -> None:
        connection = await Connection.open(url, key)
        await connection.send("GET", f"/v1/runs/{run}/events")
        joined = time.time()
        async for line in connection.reader:
            if line.startswith(b"data: "):
                event = json.loads(line.removeprefix(b"data: "))
                at = datetime.fromisoformat(event["time"]).timestamp()
                if at > joined:
                    late.append((time.time() - at) * 1000)
                if event["type"] == "run_finished":
                    break
        connection.writer.close()

    await asyncio.gather(*(follow() for _ in range(FOLLOWERS)))
    host.latency = 0.0
    print(f"{FOLLOWERS} followers of a run: {spread(late)}, most {max(late):.0f} ms late, {len(late)} events")


async def begun(url: str, key: str) -> None:
    kept = [await Connection.open(url, key) for _ in range(CONNECTIONS)]

    async def many(connection: Connection) -> None:
        for _ in range(RUNS // CONNECTIONS):
            await connection.ask("POST", "/v1/runs", {"question": "Why?", "protocol": "single"})

    started = time.perf_counter()
    await asyncio.gather(*map(many, kept))
    print(f"runs begun: {RUNS / (time.perf_counter() - started):.0f} a second")


async def main() -> None:
    with ScriptedHost() as host, serving(host) as (url, key):
        host.on("*", text="So it is. " * 40 + "\n\nFinal answer: 42")
        connection = await Connection.open(url, key)
        body = {"question": "Why?", "protocol": "voting", "wait": True}
        run = json.loads(await connection.ask("POST", "/v1/runs", body))["run_id"]
        await routes(url, key, run)
        await followers(url, key, host)
        await begun(url, key)


if __name__ == "__main__":
    asyncio.run(main())
