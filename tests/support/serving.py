"""A server on a free port of this process, and clients that speak to it over a socket."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import httpx2
import uvicorn
from fastapi import FastAPI

from pnyx.interfaces.http.app import open_app
from pnyx.interfaces.keys import Keys, hash_key
from pnyx.interfaces.open_settings import open_settings
from pnyx.interfaces.service import RunService
from pnyx.run.runner import Runner

__all__ = ["OWN", "Served", "events_of", "served"]

OWN = "pnyx_own-key"


@dataclass
class Served:
    """url: of the server. service, app: what is behind it."""

    url: str
    service: RunService
    app: FastAPI

    @property
    def runner(self) -> Runner:
        return self.service.runner

    @asynccontextmanager
    async def client(self, key: str | None = OWN) -> AsyncIterator[httpx2.AsyncClient]:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(
            base_url=self.url, headers=headers, timeout=60, trust_env=False
        ) as client:
            yield client

    async def key(self, name: str) -> str:
        """A new key of `name`; known to the server at once."""
        key = f"pnyx_{name}-key"
        await self.service.add_key(name, hash_key(key))
        return key


@asynccontextmanager
async def served(**serve: Any) -> AsyncIterator[Served]:
    """A server with the settings in force; serve: of its table."""
    opened: asyncio.Future[Served] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        async with _served(serve) as server:
            opened.set_result(server)
            await over.wait()

    # A fixture ends in another task than it began in, and sessions of MCP must end in theirs.
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
async def _served(serve: dict[str, Any]) -> AsyncIterator[Served]:
    settings = open_settings({"serve": serve})
    async with (
        RunService.open(settings) as service,
        open_app(service, Keys(service, OWN).owner) as app,
    ):
        assert isinstance(app.inner, FastAPI)
        listener = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(app, http="h11", ws="none", lifespan="off", log_config=None, access_log=False)
        server = _Quiet(config)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            while not server.started:  # noqa: ASYNC110 (uvicorn has no event for it)
                await asyncio.sleep(0.005)
            address = f"http://127.0.0.1:{listener.getsockname()[1]}"
            yield Served(address, service, app.inner)
        finally:
            server.force_exit = server.should_exit = True
            await task
            listener.close()


class _Quiet(uvicorn.Server):
    """Leaves the signals of the test's process alone."""

    def capture_signals(self) -> Any:
        return nullcontext()


async def events_of(response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    """Server-sent events as a browser reads them, each with its `id`."""
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line.startswith(":"):
            continue
        name, colon, value = line.partition(":")
        if colon:
            fields[name] = value.removeprefix(" ")
        elif fields:
            document = json.loads(fields["data"])
            assert document["type"] == fields["event"]
            yield {**document, "id": fields.get("id")}
            fields = {}
