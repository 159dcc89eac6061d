"""Server-sent events: the events of a run on one connection, which always ends with a complete event."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from ...core.events import Event, Token, event_type, to_json
from ...store.records.entries import PROMPTS
from ..follow import watch
from ..service import DRAIN_S, RunService
from .errors import Exact, error_response

__all__ = ["error_messages", "event_source", "page_of_events", "run_events", "run_headers"]

GZIP_LEVEL = 4
SEND_S = 30.0
"""Seconds without reading after which a client counts as disconnected."""


def run_headers(run_id: str) -> dict[str, str]:
    """The headers of a response about a run."""
    return {"X-Pnyx-Run": run_id, "X-Run-Id": run_id, "Location": f"/v1/runs/{run_id}"}


def run_events(
    service: RunService,
    run_id: str,
    *,
    after: int = 0,
    tokens: bool = False,
    prompts: bool = True,
    cancel: bool = False,
) -> EventSourceResponse:
    """Return a run's events as a response: `id` is the `seq`, `event` the type.

    If the run cannot be followed to its end, the last event is `error`, with the API's error object. prompts,
    cancel: as for `watch`.
    """

    async def messages() -> AsyncIterator[ServerSentEvent]:
        watched = watch(service, run_id, after=after, tokens=tokens, prompts=prompts, cancel=cancel)
        async with aclosing(watched) as events:
            async for event in events:
                yield _message(event, prompts)

    return event_source(service, messages(), run_id, error_messages)


async def page_of_events(
    run_id: str, page: Sequence[Event], prompts: bool, following: str | None, compressed: bool
) -> Response:
    """Return stored events as a response that ends after them. following: the address of the next page.

    compressed: with gzip. The middleware leaves streams of events alone, since live ones must not wait.
    """

    def encode() -> bytes:
        body = b"".join(ServerSentEvent.encode(_message(event, prompts)) for event in page)
        return gzip.compress(body, GZIP_LEVEL) if compressed else body

    headers = {**run_headers(run_id), "Vary": "Accept-Encoding"}
    if following is not None:
        headers["Link"] = f'<{following}>; rel="next"'
    if compressed:
        headers["Content-Encoding"] = "gzip"
    # Many events take a while to write and to compress.
    body = await asyncio.to_thread(encode)
    return Response(body, headers=headers, media_type="text/event-stream")


def _message(event: Event, prompts: bool) -> ServerSentEvent:
    document = to_json(event)
    if not prompts:
        document |= {name: "" for name in PROMPTS if name in document}
    number = None if event.seq is None or isinstance(event, Token) else str(event.seq)
    return ServerSentEvent(json.dumps(document), event=event_type(event), id=number)


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
