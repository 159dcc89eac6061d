"""MCP clients, from the package `mcp`: over stdio and HTTP, in both eras of the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from subprocess import PIPE
from typing import Any, Literal

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent, jsonrpc_message_adapter

from pnyx.interfaces.mcp.connection import Connection
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.interfaces.service.run_service import RunService
from tests.support import forked
from tests.support.browsing import Serve
from tests.support.serving import SERVER_KEY, ServerHandle

__all__ = ["HELLO", "Elicited", "Era", "ProgressLog", "over_http", "over_lines", "over_stdio", "text_of"]

Era = Literal["auto", "legacy"]
HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
"""The first message of a client of 2025."""


@dataclass
class ProgressLog:
    """Records progress messages as they arrive."""

    steps: list[float] = field(default_factory=list)
    totals: list[float | None] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.steps.append(progress)
        self.totals.append(total)
        self.messages.append(message or "")

    @property
    def run_id(self) -> str:
        return self.messages[0].split()[1]


class Elicited:
    """A person who fills in forms. answers: what they do with each, and what they fill in."""

    def __init__(self, answers: list[tuple[Any, dict[str, Any] | None]]) -> None:
        self.questions: list[ElicitRequestParams] = []
        self._answers = iter(answers)

    async def __call__(self, context: Any, params: ElicitRequestParams) -> ElicitResult:
        self.questions.append(params)
        action, content = next(self._answers)
        return ElicitResult(action=action, content=content)


@asynccontextmanager
async def over_stdio(mode: Era = "auto", **options: Any) -> AsyncIterator[Client]:
    """Open a client of a `pnyx mcp` process, with the environment of this test. options: of the client."""
    async with Client(_forked(), mode=mode, **options) as client:
        yield client


@asynccontextmanager
async def over_lines(mode: Era = "auto", **options: Any) -> AsyncIterator[Client]:
    """Open a client of what `pnyx mcp` does with lines of JSON, in this process. options: of the client."""
    async with (
        RunService.open(open_settings()) as service,
        Client(_connected(service), mode=mode, **options) as client,
    ):
        yield client


@asynccontextmanager
async def _forked() -> AsyncIterator[tuple[Any, Any]]:
    """A transport of the package's client, to a process of `pnyx mcp`, which ends with it.

    The package starts a new interpreter for each client, which takes more than a second.
    """
    to_client, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](100)
    outgoing, from_client = anyio.create_memory_object_stream[SessionMessage](100)
    with forked.start("mcp", stdin=PIPE, stderr=2) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        async def read() -> None:
            async with to_client:
                while line := await anyio.to_thread.run_sync(stdout.readline):
                    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                        await to_client.send(SessionMessage(jsonrpc_message_adapter.validate_json(line)))

        def write(sent: SessionMessage) -> None:
            stdin.write(sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            stdin.flush()

        async def write_all() -> None:
            async for sent in from_client:
                await anyio.to_thread.run_sync(write, sent)
            stdin.close()

        async with incoming, outgoing, from_client, anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(write_all)
            yield incoming, outgoing
            # Without input the process ends, and with it the lines that are read.
            outgoing.close()


@asynccontextmanager
async def _connected(service: RunService) -> AsyncIterator[tuple[Any, Any]]:
    """A transport of the package's client, to a connection of this process."""
    to_client, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](100)
    outgoing, from_client = anyio.create_memory_object_stream[SessionMessage](100)

    async def send(line: str) -> None:
        # The client closes its side once it has what it wanted.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await to_client.send(SessionMessage(jsonrpc_message_adapter.validate_json(line)))

    async def lines() -> AsyncIterator[str]:
        async for sent in from_client:
            yield sent.message.model_dump_json(by_alias=True, exclude_unset=True)

    async with to_client, incoming, outgoing, from_client, anyio.create_task_group() as tasks:
        tasks.start_soon(Connection(service, send).serve, lines())
        yield incoming, outgoing
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def over_http(
    server: ServerHandle | Serve, key: str = SERVER_KEY, mode: Era = "auto", **options: Any
) -> AsyncIterator[Client]:
    """Open a client of a server. options: of the client."""
    async with httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {key}"}, timeout=60, trust_env=False
    ) as http:
        transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
        async with Client(transport, mode=mode, **options) as client:
            yield client


def text_of(result: CallToolResult) -> str:
    block: Any = result.content[0]
    assert isinstance(block, TextContent)
    return block.text
