"""A run seen from a connection: its events, its result, and what becomes of it when the client leaves."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import Response

from ...core.events import Event, RunFinished, Token, to_json
from ...run.handle import FINAL, RunHandle
from ...run.lease import alive
from ...run.limits import now
from ...run.result import Result
from ...run.runner import Runner
from ...store import runs as store

__all__ = ["DRAIN_S", "LEFT", "as_stream", "followed", "outcome"]

POLL_S = 0.5
"""Between two looks for new events of a run that another process is running."""
DRAIN_S = 8.0
"""How long calls in flight may go on once the server stops; with the rest it is over in 10 s."""
LEFT = 499
"""What is logged for a client that did not wait; nobody reads it."""


async def followed(runner: Runner, run_id: str, after: int = 0, tokens: bool = False) -> AsyncIterator[Event]:
    """Events with a `seq` above `after`, until the run is over or paused, whoever is running it.

    Whoever comes back with the last `seq` they have seen misses nothing. The last event is a
    `run_finished`; that of a paused run is not stored and has no `seq`.
    """
    handle = runner.find(run_id)
    if handle is not None:
        async for event in handle.events(after, tokens):
            after = event.seq or after
            yield _unnumbered(event)
        return
    while True:
        row, events = await runner.database.read(partial(_news, run_id=run_id, after=after))
        for event in events:
            after = event.seq or after
            yield event
        if row.status in FINAL:
            return
        if not alive(row.worker, row.heartbeat_at, time.time()):
            yield RunFinished(run_id=run_id, time=now(), status="paused", result=row.result or {})
            return
        await asyncio.sleep(POLL_S)


def _news(connection: Any, run_id: str, after: int) -> tuple[store.RunRow, list[Event]]:
    # The row first: events that come in between are then seen with the next look, and none is missed.
    row = store.find(connection, run_id)
    return row, store.log(connection, run_id, after)


def _unnumbered(event: Event) -> Event:
    """A paused run's last word takes no number: what comes when it goes on will have that one."""
    if isinstance(event, RunFinished) and event.status == "paused":
        return RunFinished(run_id=event.run_id, time=event.time, status=event.status, result=event.result)
    return event


def as_stream(
    runner: Runner, run_id: str, *, after: int = 0, tokens: bool = False, cancel: bool = False
) -> EventSourceResponse:
    """Server-sent events: `id` is the `seq`, `event` the type. cancel: the run, when the client leaves."""

    async def messages() -> AsyncIterator[ServerSentEvent]:
        async for event in followed(runner, run_id, after, tokens):
            number = None if event.seq is None or isinstance(event, Token) else str(event.seq)
            yield ServerSentEvent(json.dumps(to_json(event)), event=event.type, id=number)

    async def left(_: object) -> None:
        if cancel:
            await runner.cancel(run_id)

    return EventSourceResponse(
        messages(),
        headers={"X-Run-Id": run_id},
        ping=15,
        send_timeout=30,
        client_close_handler_callable=left,
        shutdown_grace_period=DRAIN_S + 1,
    )


async def outcome(handle: RunHandle, request: Request, *, cancel: bool = False) -> Result | Response:
    """The result, when there is one; a response that nobody reads, where the client leaves first."""
    result = asyncio.ensure_future(handle.result())
    gone = asyncio.create_task(_gone(request))
    await asyncio.wait((result, gone), return_when=asyncio.FIRST_COMPLETED)
    if result.done():
        gone.cancel()
        return result.result()
    if cancel:
        handle.cancel()
    result.cancel()
    return Response(status_code=LEFT)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
