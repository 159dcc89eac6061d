"""What a server makes for a request is freed when it ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import httpx2
import pytest

from tests.support.garbage import garbage_of_pnyx
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle, open_server
from tests.support.waiting import until

Act: TypeAlias = Callable[[ServerHandle, httpx2.AsyncClient], Awaitable[None]]
ASK = {"question": "Why?", "protocol": "voting"}
CHAT = {"model": "consensus", "messages": [{"role": "user", "content": "Why?"}]}


def request(method: str, path: str, body: Any = None, status: int = 200) -> Act:
    async def act(server: ServerHandle, client: httpx2.AsyncClient) -> None:
        assert (await client.request(method, path, json=body)).status_code == status

    return act


async def connect(server: ServerHandle, client: httpx2.AsyncClient) -> None:
    async with server.client("pnyx_wrong") as other:
        assert (await other.get("/v1/runs")).status_code == 401


ACTS: dict[str, Act] = {
    "check": request("GET", "/health"),
    "list": request("GET", "/v1/runs"),
    "wait": request("POST", "/v1/runs", ASK | {"wait": True}),
    "refusal": request("POST", "/v1/runs", {}, 422),
    "chat": request("POST", "/v1/chat/completions", CHAT),
    "connection": connect,
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
async def test_what_a_request_needs_is_freed_with_it(lab: ScriptedHost, act: Act) -> None:
    """Cycles wait for a collection, as those do that anyio's task groups leave of streams and sessions."""
    async with open_server() as server, server.client() as client:
        for _ in range(2):  # compiles statements, and fills caches
            await act(server, client)
        await until(lambda: not server.requests and server.service.active == 0)
        with garbage_of_pnyx() as garbage:
            await act(server, client)
            await until(lambda: not server.requests and server.service.active == 0)
    assert garbage == []
