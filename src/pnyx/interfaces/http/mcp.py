"""MCP over streamable HTTP: a route with the same access control as all others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from math import ceil
from typing import Any, Self

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INVALID_REQUEST
from starlette.requests import ClientDisconnect, Request

from ..mcp.server import UnderWay, create_server
from ..service.run_service import RunService
from .errors import Exact, refusal
from .mcp_replay import ReplayLog
from .request_body import BodyError, Message, Receive, Send
from .state import leaves_at_half_close, origin_of, owner_of

__all__ = ["McpEndpoint"]

RETRY_S = 60
"""The most seconds after which a client with too many sessions is to try again."""
RETRY_MS = 1000
"""After which a client is to go on reading a stream whose connection broke."""
DRAINING_S = 0.1
"""Seconds between two looks at whether the service stops."""


class McpEndpoint:
    """The ASGI endpoint; it needs the owner in `scope["state"]`.

    Each owner has a session manager, and so a limit, of its own: one that opens too many sessions keeps
    nobody else out.
    """

    def __init__(self, service: RunService, tasks: TaskGroup) -> None:
        # `Access` has checked host, origin, content type and size of a request before any route.
        self._under_way = UnderWay()
        self._server = create_server(service, owner_of, _session_of, origin_of, self._under_way)
        self._service, self._settings = service, service.settings.mcp
        self._tasks = tasks
        self._endless = set[anyio.CancelScope]()
        """Of streams that do not end with the response to a call."""
        self._managers: dict[str, StreamableHTTPSessionManager] = {}
        self._opening = asyncio.Lock()

    @classmethod
    @asynccontextmanager
    async def open(cls, service: RunService) -> AsyncIterator[Self]:
        """Open the endpoint. On exit, its sessions end."""
        async with anyio.create_task_group() as tasks:
            endpoint = cls(service, tasks)
            tasks.start_soon(endpoint._end_streams)
            yield endpoint
            tasks.cancel_scope.cancel()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        owner = scope["state"]["owner"]
        manager = await self._manager(owner)
        manager.max_sessions = self._most(owner)
        # With a user set, the session manager admits only the owner of a session to it.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=owner, scopes=[]))
        leaves_at_half_close(scope)
        limited = _Limited(send)
        # `Access` sends the response to a bad body, and nobody reads one if the client has left.
        with suppress(BodyError, ClientDisconnect):
            await self._handle(manager, scope, receive, limited.send)
        if limited.full:
            await self._refusal(owner)(scope, receive, send)

    async def _handle(
        self, manager: StreamableHTTPSessionManager, scope: Message, receive: Receive, send: Send
    ) -> None:
        session = _session_of(Request(scope))
        if scope["method"] == "GET":
            await self._read_on(manager, scope, receive, send)
            return
        if scope["method"] != "POST" or session is None:
            await manager.handle_request(scope, receive, send)
            return
        body = await Request(scope, receive).body()
        key = session, _id_of(body)
        if key[1] and key in self._under_way:
            # The package would carry it out twice, and lose the stream of the first.
            await _sent_again(key[1])(scope, receive, send)
            return
        with self._under_way.held(key):
            await manager.handle_request(scope, _again(body, receive), send)

    async def _read_on(
        self, manager: StreamableHTTPSessionManager, scope: Message, receive: Receive, send: Send
    ) -> None:
        """Send what comes for a client, until the service stops."""
        started = False

        async def noted(message: Message) -> None:
            nonlocal started
            started = message["type"] == "http.response.start" or message.get("more_body", False)
            await send(message)

        with anyio.CancelScope() as reading:
            self._endless.add(reading)
            try:
                await manager.handle_request(scope, receive, noted)
            finally:
                self._endless.discard(reading)
        if started:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _end_streams(self) -> None:
        """When the service stops and calls have their responses, end the streams that have no end."""
        while not self._service.draining or self._under_way.any:  # noqa: ASYNC110 (a server has no event for it)
            await anyio.sleep(DRAINING_S)
        await anyio.sleep(DRAINING_S)  # a client that reads a call's stream again has the response by then
        for reading in self._endless:
            reading.cancel()

    async def _manager(self, owner: str) -> StreamableHTTPSessionManager:
        async with self._opening:
            if owner not in self._managers:
                self._managers[owner] = await self._tasks.start(self._hold)
        return self._managers[owner]

    async def _hold(self, *, task_status: TaskStatus[StreamableHTTPSessionManager]) -> None:
        manager = _Sessions(self._server, session_idle_timeout=self._settings.idle_s, retry_interval=RETRY_MS)
        async with manager.run():
            task_status.started(manager)
            await anyio.sleep_forever()

    def _most(self, owner: str) -> int:
        """The most sessions of an owner."""
        return self._service.key_limits(owner).sessions or self._settings.sessions

    def _refusal(self, owner: str) -> Any:
        count, idle_s = self._most(owner), self._settings.idle_s
        own = self._service.key_limits(owner).sessions is not None
        setting = f"sessions in [serve.keys.{owner}]" if own else "[mcp] sessions"
        return refusal(
            429,
            f"this key has {count} open MCP sessions, the limit of {setting}; end one with DELETE /mcp and "
            f"its Mcp-Session-Id, or wait: a session without requests ends after {idle_s:g} s",
            {"Retry-After": str(min(ceil(idle_s), RETRY_S))},
        )


class _Sessions(StreamableHTTPSessionManager):
    """The sessions of an owner."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._log = ReplayLog()
        super().__init__(*arguments, **options)

    @property
    def event_store(self) -> EventStore | None:
        """A store for a new session. With one for all, the requests numbered 1 would be one stream."""
        return self._log.session()

    @event_store.setter
    def event_store(self, store: EventStore | None) -> None:
        """Ignored: the package sets its default."""


def _session_of(request: Request) -> str | None:
    """The id of the session that a message belongs to."""
    return request.headers.get("mcp-session-id")


def _id_of(body: bytes) -> str:
    """The id of the request in a body, as text; empty for any other message."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return ""  # the package says what is wrong
    found = message.get("id") if isinstance(message, dict) and "method" in message else None
    return str(found) if isinstance(found, str | int) else ""


def _sent_again(id: str) -> Exact:
    """The response to a request whose id one under way has."""
    why = (
        f"request {id[:80]!r} of this session is under way, and its response comes on the stream of the "
        "first POST: read that on with GET /mcp and Last-Event-ID, or send a request with another id"
    )
    return Exact({"jsonrpc": "2.0", "id": None, "error": {"code": INVALID_REQUEST, "message": why}}, 409)


def _again(body: bytes, receive: Receive) -> Receive:
    """Receive a body that was read, and then what comes after it."""
    first = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return first.pop() if first else await receive()

    return next_message


class _Limited:
    """Passes a response on, unless it says that there are too many sessions. full: whether it does."""

    def __init__(self, send: Send) -> None:
        self.full = False
        self._send = send

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 503:
            self.full = True
        if not self.full:
            await self._send(message)
