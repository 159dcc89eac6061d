"""MCP clients, from the package `mcp`: over stdio and HTTP, in both eras of the protocol."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from tests.support.serving import SERVER_KEY, ServerHandle

__all__ = ["HELLO", "Era", "ProgressLog", "over_http", "over_stdio", "text_of"]

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
    messages: list[str] = field(default_factory=list)

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.steps.append(progress)
        self.messages.append(message or "")

    @property
    def run_id(self) -> str:
        return self.messages[0].split()[1]


@asynccontextmanager
async def over_stdio(mode: Era = "auto") -> AsyncIterator[Client]:
    """Open a client of a `pnyx mcp` process, with the environment of this test."""
    process = StdioServerParameters(command=sys.executable, args=["-m", "pnyx", "mcp"], env=dict(os.environ))
    async with Client(process, mode=mode) as client:
        yield client


@asynccontextmanager
async def over_http(server: ServerHandle, key: str = SERVER_KEY, mode: Era = "auto") -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {key}"}, timeout=60, trust_env=False
    ) as http:
        transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


def text_of(result: CallToolResult) -> str:
    block: Any = result.content[0]
    assert isinstance(block, TextContent)
    return block.text
