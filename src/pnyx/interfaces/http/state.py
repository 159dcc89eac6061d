"""What a route reads from a request besides its body: the service, the owner of the key, the connection."""

from __future__ import annotations

from starlette.requests import Request

from ...run.observer import Origin
from ..service import RunService

__all__ = ["CLIENT_LEFT", "origin_of", "owner_of", "page_of", "service_of", "wait_for_disconnect"]

CLIENT_LEFT = 499
"""The status for a client that wait_for_disconnect; nobody receives it."""


def service_of(request: Request) -> RunService:
    """Return the service of the app."""
    service: RunService = request.app.state.service
    return service


def owner_of(request: Request) -> str:
    """Return the owner of the request's key; `Access` has refused requests without one."""
    owner: str = request.scope["state"]["owner"]
    return owner


def origin_of(request: Request) -> Origin:
    """Return which request it is, for the runs that it starts."""
    origin: Origin = request.scope["state"]["origin"]
    return origin


def page_of(request: Request, run_id: str) -> str:
    """Return the address of a run's page on this server."""
    return f"{request.base_url}#/runs/{run_id}"


async def wait_for_disconnect(request: Request) -> None:
    """Wait until the client disconnects."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
