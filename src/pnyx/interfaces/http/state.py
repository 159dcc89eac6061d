"""What a route reads from a request besides its body: the service, the owner of the key, the connection."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from starlette.requests import Request

from ...run.observer import Origin
from ..service import RunService

__all__ = [
    "CLIENT_LEFT",
    "long_read",
    "next_page",
    "origin_of",
    "owner_of",
    "page_of",
    "reader_of",
    "service_of",
    "wait_for_disconnect",
]

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


def reader_of(request: Request) -> str:
    """Return who reads, for `ReadingTurns`: the owner of the key, or the link to a run."""
    state = request.scope["state"]
    return state["owner"] if "owner" in state else f"shared run {state['share'].run_id}"


def long_read(request: Request) -> AbstractAsyncContextManager[None]:
    """Held by who reads a whole run. Raises `Full`."""
    return service_of(request).reading.whole(reader_of(request))


def origin_of(request: Request) -> Origin:
    """Return which request it is, for the runs that it starts."""
    origin: Origin = request.scope["state"]["origin"]
    return origin


def page_of(request: Request, run_id: str) -> str:
    """Return the address of a run's page on this server."""
    return f"{request.base_url}#/runs/{run_id}"


def next_page(request: Request, **parameters: str | int) -> dict[str, str]:
    """Return the header with the address of the next page, by RFC 8288. parameters: those that differ."""
    url = request.url.include_query_params(**parameters)
    return {"Link": f'<{url.path}?{url.query}>; rel="next"'}


async def wait_for_disconnect(request: Request) -> None:
    """Wait until the client disconnects."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
