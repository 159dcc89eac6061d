"""A run seen from a connection: its events, its result, and what becomes of it when the client leaves."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import Any, TypeAlias

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request

from ...core.events import Event, RunFinished, Token, to_json
from ...errors import Diverged, Full, PnyxError, StoreError
from ...run.handle import FINAL
from ...run.lease import alive, waiting
from ...run.limits import now
from ...run.result import Result
from ...run.runner import Runner
from ...store import runs as store
from ..views.records import read_run
from .errors import told

__all__ = ["DRAIN_S", "as_stream", "event_source", "followed", "outcome", "settled", "watched"]

Events: TypeAlias = AsyncGenerator[Event, None]
POLL_S = 0.5
"""Between two looks for new events of a run that another process is running."""
DRAIN_S = 8.0
"""How long calls in flight may go on once the server stops; with the rest it is over in 10 s."""
SEND_S = 30.0
"""How long a client may read nothing before it counts as gone."""


async def followed(runner: Runner, run_id: str, after: int = 0, tokens: bool = False) -> Events:
    """Events with a `seq` above `after`, until the run is over or paused, whoever is running it.

    Whoever comes back with the last `seq` they have seen misses nothing. The last event is a
    `run_finished`; that of a paused run is not stored and has no `seq`. Raises `StoreError` where the
    run cannot go on, since the database cannot be written. Ends without a last event where this server
    stops and the run goes on elsewhere.
    """
    handle = runner.find(run_id)
    if handle is not None:
        last: Event | None = None
        async for event in handle.events(after, tokens):
            last = event
            yield event
        if not isinstance(last, RunFinished):
            await handle.result()  # raises why
        return
    while True:
        row, events = await runner.database.read(partial(_news, run_id=run_id, after=after))
        for event in events:
            after = event.seq or after
            yield event
        if row.status in FINAL:
            return
        if runner.stopping:
            return
        if not (waiting(row, time.time()) or alive(row.worker, row.heartbeat_at, time.time())):
            record = await runner.database.read(partial(read_run, prefix=run_id))
            yield RunFinished(run_id=run_id, time=now(), status="paused", result=record.document)
            return
        await asyncio.sleep(POLL_S)


def _news(connection: Any, run_id: str, after: int) -> tuple[store.RunRow, list[Event]]:
    # The row first: events that come in between are then seen with the next look, and none is missed.
    row = store.find(connection, run_id)
    return row, store.log(connection, run_id, after)


async def watched(
    runner: Runner, run_id: str, *, after: int = 0, tokens: bool = False, cancel: bool = False
) -> Events:
    """`followed`. cancel: the run, if whoever watches leaves, or reads no more, before its last event."""
    over = False
    try:
        async with aclosing(followed(runner, run_id, after, tokens)) as events:
            async for event in events:
                over = isinstance(event, RunFinished)
                yield event
    except (GeneratorExit, asyncio.CancelledError):  # any other error is ours, and nobody has left
        # A server that stops lets go of everyone; their runs are paused.
        if cancel and not over and not runner.stopping:
            runner.forget(run_id)
        raise


async def outcome(runner: Runner, run_id: str, request: Request, *, cancel: bool = False) -> Result | None:
    """The result, when there is one; None where the client leaves first. cancel: the run, then."""
    result = asyncio.create_task(settled(runner, run_id, cancel=cancel))
    gone = asyncio.create_task(_gone(request))
    try:
        await asyncio.wait((result, gone), return_when=asyncio.FIRST_COMPLETED)
        return result.result() if result.done() else None
    finally:
        # Also where the one who waits is cancelled: neither task outlives this call.
        result.cancel()
        gone.cancel()
        await asyncio.gather(result, gone, return_exceptions=True)


async def settled(runner: Runner, run_id: str, *, cancel: bool = False) -> Result:
    """The result, once there is one. cancel: as for `watched`. Raises `StoreError`, `Full` if none comes,
    `Diverged` where the run cannot go on as it was."""
    last: Event | None = None
    async with aclosing(watched(runner, run_id, cancel=cancel)) as events:
        async for event in events:
            last = event
    if not isinstance(last, RunFinished) and runner.stopping:
        raise Full(f"the server is stopping, and run {run_id} goes on: ask for it when the server is back")
    if not isinstance(last, RunFinished) or not last.result:
        raise StoreError(f"run {run_id} stopped without a result; `pnyx resume {run_id}` goes on")
    result = Result.from_json(last.result)
    if result.stop_reason == Diverged.stop_reason:
        raise Diverged(result.detail["message"])
    return result


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def as_stream(
    runner: Runner, run_id: str, *, after: int = 0, tokens: bool = False, cancel: bool = False
) -> EventSourceResponse:
    """Server-sent events: `id` is the `seq`, `event` the type; "error", where the run cannot be followed.

    cancel: as for `watched`.
    """

    async def messages() -> AsyncIterator[ServerSentEvent]:
        async with aclosing(watched(runner, run_id, after=after, tokens=tokens, cancel=cancel)) as events:
            try:
                async for event in events:
                    number = None if event.seq is None or isinstance(event, Token) else str(event.seq)
                    yield ServerSentEvent(json.dumps(to_json(event)), event=event.type, id=number)
            except PnyxError as exc:
                problem = told(exc, runner.providers.redact(str(exc)))
                yield ServerSentEvent(bytes(problem.body).decode(), event="error")

    return event_source(messages(), run_id)


def event_source(messages: AsyncIterator[ServerSentEvent], run_id: str) -> EventSourceResponse:
    return EventSourceResponse(
        messages,
        headers={"X-Run-Id": run_id, "Location": f"/v1/runs/{run_id}"},
        ping=15,
        send_timeout=SEND_S,
        shutdown_grace_period=DRAIN_S + 1,
    )
