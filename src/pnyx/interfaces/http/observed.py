"""What operators see of HTTP requests: one log line and one measurement each, and the origin of runs."""

from __future__ import annotations

import time
from collections.abc import Sequence

from starlette.routing import BaseRoute, Match

from ...run.observer import ORIGIN, Origin, TraceContext
from ..service.run_service import RunService
from .access import App
from .key_log import KeyLog
from .request_body import Message, Receive, Send

__all__ = ["Observed"]

UNMATCHED = "unmatched"
"""The route of a path that no route serves: a client chooses paths, so none is shown as it is."""


class Observed:
    """ASGI middleware that says which request a run comes from, and tells `RunService.telemetry` of each.
    log: of what keys are used for. routes: of the server, to name that of a request which is refused before.

    Needs the id of the request in `scope["state"]`. A request is over when its response is.
    """

    def __init__(self, app: App, service: RunService, log: KeyLog, routes: Sequence[BaseRoute]) -> None:
        self.inner, self._service, self._log, self._routes = app, service, log, routes

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        headers = dict(scope["headers"])
        request_id: str = scope["state"]["request_id"]
        context = TraceContext.parse(headers.get(b"traceparent", b"").decode("latin-1"))
        origin = scope["state"]["origin"] = Origin(request_id, context)
        token = ORIGIN.set(origin)
        started, status, run_id = time.monotonic(), 0, None

        async def observed(message: Message) -> None:
            nonlocal status, run_id
            if message["type"] == "http.response.start":
                status = message["status"]
                run = next((value for name, value in message["headers"] if name.lower() == b"x-run-id"), None)
                run_id = None if run is None else run.decode("latin-1")
            await send(message)

        try:
            await self.inner(scope, receive, observed)
        finally:
            ORIGIN.reset(token)
            state, route = scope["state"], _route(scope, self._routes)
            name = "" if state.get("wrong_key") else state.get("owner")
            if name is not None:
                client = (scope.get("client") or ("",))[0]
                self._log.note(name, client, scope["method"], route, status, run_id)
            if (telemetry := self._service.telemetry) is not None:
                telemetry.request_served(
                    method=scope["method"],
                    route=route,
                    status=status,
                    seconds=time.monotonic() - started,
                    request_id=request_id,
                    owner=state.get("owner"),
                )


def _route(scope: Message, routes: Sequence[BaseRoute]) -> str:
    """The path of the route that served the request or would have, with its parameters by name."""
    route = scope.get("route")
    if route is None:
        route = next((one for one in routes if one.matches(scope)[0] is Match.FULL), None)
    path = getattr(route, "path_format", None) or getattr(route, "path", None)
    return path if isinstance(path, str) else UNMATCHED
