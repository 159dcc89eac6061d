"""An HTTP server on a free port of this process, and its clients."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import httpx2
import uvicorn
from fastapi import FastAPI

from pnyx.interfaces.access.keys import Keys, hash_key
from pnyx.interfaces.http.app import open_app
from pnyx.interfaces.http.listening import listen, server_config
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.interfaces.service.run_service import RunService
from pnyx.run.runner import Runner
from pnyx.telemetry.log import JsonLog

__all__ = ["SERVER_KEY", "ServerHandle", "events_of", "open_server"]

SERVER_KEY = "pnyx_own-key"
GRACE_S = 0.1
"""For responses that are under way when a server stops."""


@dataclass
class ServerHandle:
    """A running server. service, app: those behind it. requests: the tasks that carry out requests."""

    url: str
    service: RunService
    app: FastAPI
    requests: set[asyncio.Task[None]]

    @property
    def runner(self) -> Runner:
        return self.service.runner

    @asynccontextmanager
    async def client(self, key: str | None = SERVER_KEY) -> AsyncIterator[httpx2.AsyncClient]:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        # Reading the certificates of authorities takes longer than most requests, and none is encrypted.
        async with httpx2.AsyncClient(
            base_url=self.url, headers=headers, timeout=60, trust_env=False, verify=False
        ) as client:
            yield client

    async def key(self, name: str) -> str:
        """Create a key of `name`; the server accepts it at once."""
        key = f"pnyx_{name}-key"
        await self.service.keys.add(name, hash_key(key))
        return key


@asynccontextmanager
async def open_server(
    wrap: Callable[[Any], Any] = lambda app: app, log: JsonLog | None = None, **serve: Any
) -> AsyncIterator[ServerHandle]:
    """Open a server with the current settings. serve: values of its table `[serve]`. wrap: around its app.

    log: of its runs and requests.
    """
    opened: asyncio.Future[ServerHandle] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        async with _open_server(serve, wrap, log) as server:
            opened.set_result(server)
            await over.wait()

    # A fixture ends in another task than it started in, but MCP sessions must end in their own task.
    task = asyncio.create_task(hold())
    await asyncio.wait((task, opened), return_when=asyncio.FIRST_COMPLETED)
    if not opened.done():
        await task
    try:
        yield opened.result()
    finally:
        over.set()
        await task


@asynccontextmanager
async def _open_server(
    serve: dict[str, Any], wrap: Callable[[Any], Any], log: JsonLog | None
) -> AsyncIterator[ServerHandle]:
    settings = open_settings({"serve": {**serve, "port": 0}})
    async with (
        RunService.open(settings, log=log) as service,
        open_app(service, Keys(service, SERVER_KEY)) as app,
    ):
        assert isinstance(app.inner, FastAPI)
        with listen(settings) as listener:
            server = _Server(server_config(wrap(app), listener, graceful_s=9))
            task = asyncio.create_task(server.serve(sockets=[listener]))
            try:
                await asyncio.wait((task, server.up), return_when=asyncio.FIRST_COMPLETED)
                address = f"http://127.0.0.1:{listener.getsockname()[1]}"
                yield ServerHandle(address, service, app.inner, server.server_state.tasks)
            finally:
                server.over.set()
                await task


class _Server(uvicorn.Server):
    """Installs no signal handlers in the test process, and starts and stops at once.

    uvicorn looks every 100 ms whether it is to stop, and lets its connections end for as long: of a test with
    a server that is most of the time.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.over = asyncio.Event()

    def capture_signals(self) -> Any:
        return nullcontext()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        self.up.set_result(None)
        await self.over.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # A connection that is accepted is made some turns of the loop later, which a closed server forbids.
        for _ in range(5):
            await asyncio.sleep(0)
        for server in self.servers:
            server.close()
        state, end = self.server_state, time.monotonic() + GRACE_S
        for connection in list(state.connections):
            connection.shutdown()
        # uvicorn has no event for it.
        while (state.connections or state.tasks) and time.monotonic() < end:  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def events_of(response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    """Yield server-sent events as a browser reads them, each with its `id`."""
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line.startswith(":"):
            continue
        name, colon, value = line.partition(":")
        if colon:
            fields[name] = value.removeprefix(" ")
        elif fields:
            document = json.loads(fields["data"])
            assert document.get("type", "error") == fields["event"]
            yield {**document, "id": fields.get("id")}
            fields = {}
