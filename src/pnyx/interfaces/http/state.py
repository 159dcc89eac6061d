"""What a route reads from a request besides its body: the service, the owner of the key, the connection."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

from starlette.exceptions import HTTPException
from starlette.requests import Request

from ...run.observer import Origin
from ...similar import nearest
from ..service.run_service import RunService
from .errors import Exact, refusal
from .request_body import Message

__all__ = [
    "client_left",
    "leaves_at_half_close",
    "long_read",
    "next_page",
    "origin_of",
    "owner_of",
    "page_of",
    "reader_of",
    "refuse_misspelt_parameters",
    "service_of",
    "wait_for_disconnect",
]

HALF_CLOSED = "you closed your side of the connection before the response: run {} {}; keep it open to wait"


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


async def refuse_misspelt_parameters(request: Request) -> None:
    """Raise `HTTPException` for a parameter in the query that the route lacks but has one like it.

    Others are ignored, since proxies and caches add some of their own.
    """
    known = [field.alias for field in request.scope["route"].dependant.query_params]
    for name in request.query_params:
        if name not in known and (meant := nearest(name, known)):
            raise HTTPException(422, f"unknown parameter {name!r:.80} in the query{meant}")


def page_of(request: Request, run_id: str) -> str:
    """Return the address of a run's page on this server."""
    return f"{request.base_url}#/runs/{run_id}"


def leaves_at_half_close(scope: Message) -> None:
    """Count the client of a request as gone once it closes its side of the connection.

    It may still read, but a client that is gone looks the same, and nothing is sent by which to find out.
    Other requests are answered.
    """
    scope["state"]["leaves_at_half_close"] = True


def client_left(run_id: str, what: str, headers: Mapping[str, str]) -> Exact:
    """The response to a client that has left while it waited for a run, which it may still read.

    what: says what becomes of the run, after its id.
    """
    return refusal(499, HALF_CLOSED.format(run_id, what), headers, type="client_left")


def next_page(request: Request, **parameters: str | int) -> dict[str, str]:
    """Return the header with the address of the next page, by RFC 8288. parameters: those that differ."""
    url = request.url.include_query_params(**parameters)
    return {"Link": f'<{url.path}?{url.query}>; rel="next"'}


async def wait_for_disconnect(request: Request) -> None:
    """Wait until the client disconnects."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
