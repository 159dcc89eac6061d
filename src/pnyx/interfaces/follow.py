"""Watching a run until it ends, whichever process is running it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, TypeAlias

from ..core.decision import FINAL
from ..core.events import Event, RunFinished
from ..errors import Diverged, Full, StoreError
from ..run.lease import is_alive, is_waiting
from ..run.limits import now
from ..run.result import Result
from .service import RunService

__all__ = ["follow", "wait_for_result", "wait_unless_left", "watch"]

Events: TypeAlias = AsyncGenerator[Event, None]
POLL_S = 0.5
"""Between two looks for new events of a run that another process is running, in seconds."""


async def follow(service: RunService, run_id: str, after: int = 0, tokens: bool = False) -> Events:
    """Events with a `seq` above `after`, until the run is over or paused, whichever process is running it.

    A client that reconnects with the last `seq` it has seen misses nothing. The last event is a
    `run_finished`; that of a paused run is not stored and has no `seq`. tokens: also text as it arrives.
    Raises `StoreError` if the run cannot continue because the database cannot be written. Ends without a last
    event if this service stops while the run continues elsewhere.
    """
    handle = service.handle(run_id)
    if handle is not None:
        last: Event | None = None
        async for event in handle.events(after, tokens):
            last = event
            yield event
        if not isinstance(last, RunFinished):
            await handle.result()  # raises why
        return
    while True:
        row, events = await service.news(run_id, after)
        for event in events:
            after = event.seq or after
            yield event
        if row.status in FINAL or service.draining:
            return
        if not (is_waiting(row, time.time()) or is_alive(row.worker, row.heartbeat_at, time.time())):
            record = await service.read(run_id)
            yield RunFinished(run_id=run_id, time=now(), status="paused", result=record.document)
            return
        await asyncio.sleep(POLL_S)


async def watch(
    service: RunService, run_id: str, *, after: int = 0, tokens: bool = False, cancel: bool = False
) -> Events:
    """`follow`. cancel: the run, if the watcher stops reading before its last event."""
    over = False
    try:
        async with aclosing(follow(service, run_id, after, tokens)) as events:
            async for event in events:
                over = isinstance(event, RunFinished)
                yield event
    except (GeneratorExit, asyncio.CancelledError):  # any other error is ours: the watcher is still there
        # A service that stops releases every watcher; their runs are paused.
        if cancel and not over and not service.draining:
            service.abandon(run_id)
        raise


async def wait_for_result(service: RunService, run_id: str, *, cancel: bool = False) -> Result:
    """The result of a run, when it is over or paused. cancel: as for `watch`.

    Raises `StoreError` or `Full` if there will be none here, `Diverged` if the run cannot be resumed.
    """
    last: Event | None = None
    async with aclosing(watch(service, run_id, cancel=cancel)) as events:
        async for event in events:
            last = event
    if not isinstance(last, RunFinished) and service.draining:
        raise Full(f"the server is stopping, and run {run_id} goes on: ask for it when the server is back")
    if not isinstance(last, RunFinished) or not last.result:
        raise StoreError(f"run {run_id} stopped without a result; `pnyx resume {run_id}` goes on")
    result = Result.from_json(last.result)
    if result.stop_reason == Diverged.stop_reason:
        raise Diverged(result.detail["message"])
    return result


async def wait_unless_left(
    service: RunService, run_id: str, left: Coroutine[Any, Any, object], *, cancel: bool = False
) -> Result | None:
    """`wait_for_result`; None if `left` ends first, which waits until the client has left."""
    result = asyncio.create_task(wait_for_result(service, run_id, cancel=cancel))
    gone = asyncio.create_task(left)
    try:
        await asyncio.wait((result, gone), return_when=asyncio.FIRST_COMPLETED)
        return result.result() if result.done() else None
    finally:
        # Also if the caller is cancelled: neither task outlives this call.
        result.cancel()
        gone.cancel()
        await asyncio.gather(result, gone, return_exceptions=True)
