"""The requests of `methods` on the server of the package `mcp`, for HTTP. It imports a web framework.

`pnyx mcp` serves the same protocol without it: see `connection`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import anyio
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import ElicitRequestFormParams, ElicitResult, NotificationParams, Result, ServerNotification
from pydantic import ValidationError

from ..._version import __version__
from ...run.observer import NO_REQUEST, ORIGIN, Origin
from ..service.run_service import RunService
from .catalogue import INSTRUCTIONS, TITLE
from .methods import METHODS, OF_SESSION, RefusedError, perform
from .peer import Peer, Session

__all__ = ["RequestKey", "UnderWay", "create_server"]

RequestKey: TypeAlias = tuple[str | None, str]
"""The session of a request, and its id."""

READY_S = 2.0
"""Seconds that a request waits for `notifications/initialized`, which clients send just before it."""


class UnderWay:
    """Requests that have no response yet."""

    def __init__(self) -> None:
        self._holders: Counter[RequestKey] = Counter()

    def __contains__(self, key: object) -> bool:
        return key in self._holders

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return bool(self._holders)

    @contextmanager
    def held(self, key: RequestKey) -> Iterator[None]:
        """Hold a request; it is under way until all who hold it have ended."""
        self._holders[key] += 1
        try:
            yield
        finally:
            self._holders[key] -= 1
            if not self._holders[key]:
                del self._holders[key]


def create_server(
    service: RunService,
    owner_of: Callable[[Any], str],
    session_of: Callable[[Any], str | None],
    origin_of: Callable[[Any], Origin] = lambda request: NO_REQUEST,
    under_way: UnderWay | None = None,
) -> Server[Any]:
    """Create the server. owner_of, session_of, origin_of: those of a message's HTTP request.

    under_way: holds the requests that are carried out, whether their clients are there or not.
    """
    under_way = under_way or UnderWay()
    server: Server[Any] = Server("pnyx", version=__version__, title=TITLE, instructions=INSTRUCTIONS)
    sessions = _Sessions(session_of)
    for method in METHODS:
        server.add_request_handler(
            method,
            METHODS[method].params,
            _handler(service, method, owner_of, sessions, origin_of, under_way),
        )
    server.add_notification_handler("notifications/initialized", NotificationParams, sessions.hold)
    return server


def _handler(
    service: RunService,
    method: str,
    owner_of: Callable[[Any], str],
    sessions: _Sessions,
    origin_of: Callable[[Any], Origin],
    under_way: UnderWay,
) -> Any:
    async def handle(ctx: ServerRequestContext[Any], params: Any) -> Result:
        # The task of a session began with another request.
        ORIGIN.set(origin_of(ctx.request))
        peer = Peer(
            owner=owner_of(ctx.request),
            version=ctx.protocol_version,
            channel=_Channel(ctx),
            capabilities=ctx.session.client_capabilities,
            meta=ctx.meta or {},
            answers=dict(getattr(params, "input_responses", None) or {}),
            state=getattr(params, "request_state", None),
            request_id=ctx.request_id if ctx.request_id is not None else "",
            push=ctx.session.send_notification,
        )
        if not peer.modern:
            peer.session = await sessions.find(ctx.request, wait=method in OF_SESSION)
        with under_way.held((sessions.name_of(ctx.request), str(peer.request_id))):
            try:
                return await perform(method, service, peer, params)
            except RefusedError as exc:
                raise MCPError(exc.code, str(exc)) from None

    return handle


class _Channel:
    """What the package can send while it answers a request."""

    def __init__(self, ctx: ServerRequestContext[Any]) -> None:
        self._ctx = ctx

    async def notify(self, notification: ServerNotification) -> None:
        await self._ctx.session.send_notification(notification, related_request_id=self._ctx.request_id)

    async def progress(self, progress: float, total: float | None, message: str) -> None:
        await self._ctx.session.report_progress(progress, total, message)

    async def elicit(self, params: ElicitRequestFormParams) -> ElicitResult | None:
        try:
            return await self._ctx.session.elicit_form(
                params.message, params.requested_schema, self._ctx.request_id
            )
        except (MCPError, ValidationError):
            return None


class _Sessions:
    """The open sessions of clients of 2025, by id.

    The package ends the handler of a notification with the session that it came in, so the one of
    `notifications/initialized` lives as long as its session, and holds its state.
    """

    def __init__(self, session_of: Callable[[Any], str | None]) -> None:
        self.name_of = session_of
        self._open: dict[str | None, Session] = {}

    async def hold(self, ctx: ServerRequestContext[Any], params: NotificationParams) -> None:
        name = self.name_of(ctx.request)
        if name in self._open:
            return
        async with Session.open() as session:
            self._open[name] = session
            try:
                await anyio.sleep_forever()
            finally:
                del self._open[name]

    async def find(self, request: Any, wait: bool) -> Session | None:
        """The session of a request, or None if its client has not said that it is ready. wait: for that."""
        name = self.name_of(request)
        with anyio.move_on_after(READY_S if wait else 0):
            while name not in self._open:  # noqa: ASYNC110 (messages of one client come in any order)
                await anyio.sleep(0.01)
        return self._open.get(name)
