"""What a route reads from a request besides its body: the service, the owner of the key, the connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from starlette.requests import Request

from ...run.observer import Origin
from ..service import RunService

__all__ = [
    "CLIENT_LEFT",
    "Turns",
    "long_read",
    "origin_of",
    "owner_of",
    "page_of",
    "service_of",
    "turns_of",
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


@asynccontextmanager
async def long_read(request: Request) -> AsyncIterator[None]:
    """Hold the only long read of an owner's runs, or of a shared one, after those before it.

    A run of 10,000 events takes 100 MB while it is read and written.
    """
    async with _lock(request, "run"):
        yield


@dataclass(frozen=True)
class Turns:
    """What the followers of an owner's runs, or of a shared run, do one after another.

    read: a page of stored events. encode: an event, so that many followers hold up others no longer than one.
    """

    read: asyncio.Lock = field(default_factory=asyncio.Lock)
    encode: asyncio.Lock = field(default_factory=asyncio.Lock)


def turns_of(request: Request) -> Turns:
    """Return the turns that a follower has to wait for."""
    return Turns(_lock(request, "page"), _lock(request, "event"))


def _lock(request: Request, what: str) -> asyncio.Lock:
    """The lock of an owner, or of a shared run; it is forgotten once nobody holds it or waits for it."""
    state = request.scope["state"]
    locks: WeakValueDictionary[str, asyncio.Lock] = request.app.state.long_reads
    name = f"owner:{state['owner']}" if "owner" in state else f"shared:{state['share'].run_id}"
    return locks.setdefault(f"{what}:{name}", asyncio.Lock())


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
