"""Server-sent events: a run's events on one connection, which always end with a whole event."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

from sse_starlette import EventSourceResponse, ServerSentEvent

from ...core.events import Token, event_type, to_json
from ..follow import watch
from ..service import DRAIN_S, RunService
from .errors import Exact, error_response

__all__ = ["event_source", "run_events"]

SEND_S = 30.0
"""How long a client may read nothing before it counts as gone, in seconds."""


def run_events(
    service: RunService, run_id: str, *, after: int = 0, tokens: bool = False, cancel: bool = False
) -> EventSourceResponse:
    """A run's events as a response: `id` is the `seq`, `event` the type.

    The last one is `error`, with the API's error object, if the run cannot be followed to its end. cancel: as
    for `watch`.
    """

    async def messages() -> AsyncIterator[ServerSentEvent]:
        async with aclosing(watch(service, run_id, after=after, tokens=tokens, cancel=cancel)) as events:
            async for event in events:
                number = None if event.seq is None or isinstance(event, Token) else str(event.seq)
                yield ServerSentEvent(json.dumps(to_json(event)), event=event_type(event), id=number)

    def problem(response: Exact) -> ServerSentEvent:
        return ServerSentEvent(bytes(response.body).decode(), event="error")

    return event_source(service, messages(), run_id, problem)


def event_source(
    service: RunService,
    messages: AsyncIterator[ServerSentEvent],
    run_id: str,
    problem: Callable[[Exact], ServerSentEvent],
) -> EventSourceResponse:
    """`messages` as a response. problem: the last message where one cannot be made, of the error's response.

    The status is sent before the first message, so an error can only be told as one, whatever it is: a stream
    that breaks off looks to its client like a network that failed.
    """

    async def guarded() -> AsyncIterator[ServerSentEvent]:
        try:
            async for message in messages:
                yield message
        except Exception as exc:
            yield problem(error_response(exc, service.redact, f"events of run {run_id}"))

    return EventSourceResponse(
        guarded(),
        headers={"X-Run-Id": run_id, "Location": f"/v1/runs/{run_id}"},
        ping=15,
        send_timeout=SEND_S,
        shutdown_grace_period=DRAIN_S + 1,
    )
