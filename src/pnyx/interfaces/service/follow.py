"""Follow a run until it ends, whichever process runs it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, TypeAlias

from ...core.decision import FINAL
from ...core.events import Event, RunFinished
from ...errors import Diverged, Full, StoreError
from ...run.broadcast import TextWanted
from ...run.leases.lease import is_held, is_waiting
from ...run.result import Result
from ...times import now
from .run_service import RunService

__all__ = ["follow", "wait_for_result", "wait_unless_disconnected", "watch"]

Events: TypeAlias = AsyncGenerator[Event, None]
POLL_S = 0.5
"""Seconds between two polls for new events of a run in another process."""


async def follow(
    service: RunService,
    run_id: str,
    reader: str,
    after: int = 0,
    tokens: TextWanted = False,
    prompts: bool = True,
) -> Events:
    """Yield events with a `seq` above `after` until the run is over or paused, whichever process runs it.

    A client that reconnects with the last `seq` it received misses nothing. The last event is
    `run_finished`; for a paused run, that event is not stored and has no `seq`. tokens: also yield text as it
    arrives; "answer": that of the answer alone. prompts: False does not read those of stored calls.
    reader: who reads, see `ReadingTurns`: of its followers, one at a time reads a page of stored events, and
    one in a turn of the event loop has an event. Raises `StoreError` if the run cannot continue because a
    database write failed. Ends without `run_finished` if this service stops, unless it runs the run.
    """
    async with aclosing(_events(service, run_id, reader, after, tokens, prompts)) as events:
        async for event in events:
            await service.reading.event(reader)
            yield event


async def _events(
    service: RunService, run_id: str, reader: str, after: int, tokens: TextWanted, prompts: bool
) -> Events:
    turn = service.reading.page(reader)
    handle = service.handle(run_id)
    if handle is not None:
        last: Event | None = None
        async for event in handle.events(after, tokens, prompts, turn):
            last = event
            yield event
        if not isinstance(last, RunFinished):
            await handle.result()  # raises why
        return
    while True:
        async with turn:
            row, events = await service.news(run_id, after, prompts=prompts)
        for event in events:
            after = event.seq or after
            yield event
        if service.draining:
            return  # the client continues from the last event that it has
        if events.has_more:
            continue
        if row.status in FINAL:
            return
        if not (is_waiting(row) or is_held(row)):
            record = await service.state(run_id)
            yield RunFinished(run_id=run_id, time=now(), status="paused", result=record.document)
            return
        await asyncio.sleep(POLL_S)


async def watch(
    service: RunService,
    run_id: str,
    reader: str,
    *,
    after: int = 0,
    tokens: TextWanted = False,
    prompts: bool = True,
    cancel: bool = False,
    grace_s: float = 0.0,
) -> Events:
    """Yield events as `follow` does.

    cancel: cancel the run if the caller stops reading before its end, and nobody else with `cancel` reads it
    within `grace_s` seconds.
    """
    finished = left = False
    if cancel:
        service.attendance.arrive(run_id)
    try:
        async with aclosing(follow(service, run_id, reader, after, tokens, prompts)) as events:
            async for event in events:
                finished = isinstance(event, RunFinished)
                yield event
    except (GeneratorExit, asyncio.CancelledError):  # any other error is ours: the caller is still there
        # When the service stops, every caller stops reading, and the runs are paused.
        if cancel and not finished and not service.draining:
            left = True
        raise
    finally:
        if cancel:
            service.attendance.leave(run_id, cancel=left, grace_s=grace_s)


async def wait_for_result(
    service: RunService, run_id: str, reader: str, *, cancel: bool = False, grace_s: float = 0.0
) -> Result:
    """Wait until a run is over or paused, and return its result. cancel, grace_s: as for `watch`.

    Raises `StoreError` or `Full` if this service cannot return a result, `Diverged` if the run cannot be
    resumed.
    """
    last: Event | None = None
    watched = watch(service, run_id, reader, prompts=False, cancel=cancel, grace_s=grace_s)
    async with aclosing(watched) as events:
        async for event in events:
            last = event
    if not isinstance(last, RunFinished) and service.draining:
        raise Full(f"the server is stopping and run {run_id} continues; request it when the server is back")
    if not isinstance(last, RunFinished) or not last.result:
        raise StoreError(f"run {run_id} stopped without a result; continue it with `pnyx resume {run_id}`")
    result = Result.from_json(last.result)
    if result.stop_reason == Diverged.stop_reason:
        raise Diverged(result.detail["message"])
    return result


async def wait_unless_disconnected(
    service: RunService,
    run_id: str,
    reader: str,
    disconnect: Coroutine[Any, Any, object],
    *,
    cancel: bool = False,
    grace_s: float = 0.0,
    within: float | None = None,
) -> Result | None:
    """Return `wait_for_result`, or None if `disconnect` ends first, which waits for the client to leave.

    Also None after `within` seconds.
    """
    result = asyncio.create_task(wait_for_result(service, run_id, reader, cancel=cancel, grace_s=grace_s))
    departure = asyncio.create_task(disconnect)
    try:
        await asyncio.wait((result, departure), timeout=within, return_when=asyncio.FIRST_COMPLETED)
        return result.result() if result.done() else None
    finally:
        # Also if the caller is cancelled: neither task outlives this call.
        result.cancel()
        departure.cancel()
        await asyncio.gather(result, departure, return_exceptions=True)
