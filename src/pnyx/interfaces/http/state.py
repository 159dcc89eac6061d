"""What a route reads of a request besides its body: the service, the owner of its key, its connection."""

from __future__ import annotations

from starlette.requests import Request

from ..service import RunService

__all__ = ["CLIENT_LEFT", "disconnected", "owner_of", "service_of"]

CLIENT_LEFT = 499
"""The status for a client that did not wait; nobody reads it."""


def service_of(request: Request) -> RunService:
    """The service of the app."""
    service: RunService = request.app.state.service
    return service


def owner_of(request: Request) -> str:
    """The owner of the request's key; `Access` has refused requests without one."""
    owner: str = request.scope["state"]["owner"]
    return owner


async def disconnected(request: Request) -> None:
    """Wait until the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
