"""Server-sent events: the events of a run on one connection, which always ends with a complete event."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

import sse_starlette
from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.responses import Response

from ...core.decision import FINAL
from ...core.events import Event, Token, event_type, to_json
from ...store.records.entries import PROMPTS, Page
from ...store.records.runs import RunRow
from ..service.follow import watch
from ..service.run_service import RunService
from .errors import Exact, error_response
from .state import next_page

__all__ = [
    "EVENTS",
    "GZIP_LEVEL",
    "ServerSentEvent",
    "accepts_gzip",
    "as_stored",
    "encoded",
    "error_messages",
    "event_source",
    "message",
    "nothing_follows",
    "page_of_events",
    "run_events",
    "run_headers",
]

EVENT_STREAM = "text/event-stream"
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"content": {EVENT_STREAM: {}}},
    204: {"description": "The run is over, and the client has its last event"},
}
"""The responses of routes that stream the events of a run."""
GZIP_LEVEL = 4
SEND_S = 30.0
"""Seconds without reading after which a client counts as disconnected."""


class ServerSentEvent(sse_starlette.ServerSentEvent):
    """An event whose lines end as those of OpenAI and Anthropic do: many clients split at "\\n\\n"."""

    DEFAULT_SEPARATOR = "\n"


def accepts_gzip(request: Request) -> bool:
    """Whether the client reads a compressed response."""
    return "gzip" in request.headers.get("accept-encoding", "")


def run_headers(run_id: str) -> dict[str, str]:
    """The headers of a response about a run."""
    return {"X-Pnyx-Run": run_id, "X-Run-Id": run_id, "Location": f"/v1/runs/{run_id}"}


def nothing_follows(row: RunRow, after: int, headers: Mapping[str, str]) -> Response | None:
    """The response to a client that has all events of a run that is over; None if events may follow.

    The `EventSource` of a browser connects again whenever a stream ends, unless the status is 204. The type
    of the content is for clients that check it first.
    """
    if row.status not in FINAL or after < row.seq:
        return None
    return Response(status_code=204, headers=headers, media_type=EVENT_STREAM)


def run_events(
    service: RunService,
    run_id: str,
    reader: str,
    *,
    after: int = 0,
    tokens: bool = False,
    prompts: bool = True,
    cancel: bool,
) -> EventSourceResponse:
    """Return a run's events as a response: `id` is the `seq`, `event` the type.

    If the run cannot be followed to its end, the last event is `error`, with the API's error object. reader,
    prompts, cancel: as for `watch`.
    """
    watched = watch(service, run_id, reader, after=after, tokens=tokens, prompts=prompts, cancel=cancel)
    messages = encoded(watched, partial(as_stored, prompts=prompts))
    return event_source(service, messages, run_id, error_messages)


async def encoded(
    watched: AsyncGenerator[Event, None], document: Callable[[Event], dict[str, Any] | None]
) -> AsyncIterator[ServerSentEvent]:
    """Yield the messages of events. document: as for `page_of_events`."""
    async with aclosing(watched) as events:
        async for event in events:
            if (sent := message(event, document(event))) is not None:
                yield sent


async def page_of_events(
    request: Request,
    page: Page,
    document: Callable[[Event], dict[str, Any] | None],
    headers: Mapping[str, str],
) -> Response:
    """Return stored events as a response. If others follow, `Link` has the address of the next page.

    document: an event as it is sent; None for one that is not sent. The response is compressed if the client
    accepts it: the middleware leaves streams of events alone, since live ones must not wait.
    """
    compressed = accepts_gzip(request)
    headers = {**headers, "Vary": "Accept-Encoding"}
    if page.has_more:
        headers |= next_page(request, after=page[-1].seq or 0)

    def encode() -> bytes:
        messages = (message(event, document(event)) for event in page)
        body = b"".join(one.encode() for one in messages if one is not None)
        return gzip.compress(body, GZIP_LEVEL) if compressed else body

    if compressed:
        headers["Content-Encoding"] = "gzip"
    # Many events take a while to write and to compress.
    body = await asyncio.to_thread(encode)
    return Response(body, headers=headers, media_type=EVENT_STREAM)


def as_stored(event: Event, prompts: bool) -> dict[str, Any]:
    """An event as JSON. prompts: whether it has the prompts of a call."""
    document = to_json(event)
    return document if prompts else document | {name: "" for name in PROMPTS if name in document}


def message(event: Event, document: dict[str, Any] | None) -> ServerSentEvent | None:
    """The message of an event that is sent as `document`."""
    if document is None:
        return None
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
        sep=ServerSentEvent.DEFAULT_SEPARATOR,
        send_timeout=SEND_S,
    )
