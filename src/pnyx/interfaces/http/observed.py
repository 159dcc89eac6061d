"""What operators see of HTTP requests: one log line and one measurement each, and the origin of runs."""

from __future__ import annotations

import time

from ...run.observer import ORIGIN, Origin, TraceContext
from ..service import RunService
from .access import App, Message, Receive, Send

__all__ = ["Observed"]

UNMATCHED = "unmatched"
"""The route of a path that no route serves: a client chooses paths, so none is shown as it is."""


class Observed:
    """ASGI middleware that says which request a run comes from, and tells `RunService.telemetry` of each.

    Needs the id of the request in `scope["state"]`. A request is over when its response is.
    """

    def __init__(self, app: App, service: RunService) -> None:
        self.inner, self._service = app, service

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        headers = dict(scope["headers"])
        request_id: str = scope["state"]["request_id"]
        context = TraceContext.parse(headers.get(b"traceparent", b"").decode("latin-1"))
        origin = scope["state"]["origin"] = Origin(request_id, context)
        token = ORIGIN.set(origin)
        started, status = time.monotonic(), 0

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.inner(scope, receive, observed)
        finally:
            ORIGIN.reset(token)
            if (telemetry := self._service.telemetry) is not None:
                telemetry.request_served(
                    method=scope["method"],
                    route=_route(scope),
                    status=status,
                    seconds=time.monotonic() - started,
                    request_id=request_id,
                    owner=scope["state"].get("owner"),
                )


def _route(scope: Message) -> str:
    """The path of the route that served the request, with its parameters by name."""
    route = scope.get("route")
    path = getattr(route, "path_format", None) or getattr(route, "path", None)
    return path if isinstance(path, str) else UNMATCHED
