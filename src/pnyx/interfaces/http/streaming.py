"""Server-sent events: the events of a run on one connection, which always ends with a complete event."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing

from sse_starlette import EventSourceResponse, ServerSentEvent

from ...core.events import Token, event_type, to_json
from ..follow import watch
from ..service import DRAIN_S, RunService
from .errors import Exact, error_response

__all__ = ["error_messages", "event_source", "run_events", "run_headers"]

SEND_S = 30.0
"""Seconds without reading after which a client counts as disconnected."""


def run_headers(run_id: str) -> dict[str, str]:
    """The headers of a response about a run."""
    return {"X-Pnyx-Run": run_id, "X-Run-Id": run_id, "Location": f"/v1/runs/{run_id}"}


def run_events(
    service: RunService, run_id: str, *, after: int = 0, tokens: bool = False, cancel: bool = False
) -> EventSourceResponse:
    """Return a run's events as a response: `id` is the `seq`, `event` the type.

    If the run cannot be followed to its end, the last event is `error`, with the API's error object. cancel:
    as for `watch`.
    """

    async def messages() -> AsyncIterator[ServerSentEvent]:
        async with aclosing(watch(service, run_id, after=after, tokens=tokens, cancel=cancel)) as events:
            async for event in events:
                number = None if event.seq is None or isinstance(event, Token) else str(event.seq)
                yield ServerSentEvent(json.dumps(to_json(event)), event=event_type(event), id=number)

    return event_source(service, messages(), run_id, error_messages)


def error_messages(response: Exact) -> Sequence[ServerSentEvent]:
    """The last messages of a stream of events that cannot continue: one, with the API's error object."""
    return [ServerSentEvent(bytes(response.body).decode(), event="error")]


def event_source(
    service: RunService,
    messages: AsyncIterator[ServerSentEvent],
    run_id: str,
    problem: Callable[[Exact], Sequence[ServerSentEvent]],
    ping: int = 15,
    headers: Mapping[str, str] | None = None,
) -> EventSourceResponse:
    """Return `messages` as a response. problem: makes the last messages from an error response.

    ping: seconds between two comments that show that the connection is alive. headers: default is those of
    the run.

    The status is sent before the first message, so any later error must be a message: to a client, a stream
    that breaks off looks like a network failure.
    """

    async def guarded() -> AsyncIterator[ServerSentEvent]:
        try:
            async for message in messages:
                yield message
        except Exception as exc:
            for message in problem(error_response(exc, service.redact, f"events of run {run_id}")):
                yield message

    return EventSourceResponse(
        guarded(),
        headers=headers or run_headers(run_id),
        ping=ping,
        send_timeout=SEND_S,
        shutdown_grace_period=DRAIN_S + 1,
    )
