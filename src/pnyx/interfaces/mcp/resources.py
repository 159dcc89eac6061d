"""Runs and their transcripts as resources: listed, read, and watched for changes."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any

import anyio
from mcp_types import (
    Annotations,
    EmptyResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    ResourceUpdatedNotification,
    ResourceUpdatedNotificationParams,
    SubscribeRequestParams,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    TextResourceContents,
    UnsubscribeRequestParams,
)

from ...core.caching.regex import regex
from ...core.decision import FINAL
from ...core.events import CallFinished, PhaseEntered, RunFinished
from ...errors import NotFound, PnyxError, UsageError
from ...store.records.runs import RunRow
from ..records.cursor import cursor_after, parse_cursor
from ..render.terminal import clip
from ..service.follow import follow
from ..service.run_service import RunService
from .peer import Peer
from .tools import NOTICE, run_document, sendable, transcript_of

__all__ = ["TEMPLATES", "listen", "read", "resource_list", "subscribe", "template_list", "unsubscribe"]

LOG = logging.getLogger("pnyx.mcp")
PAGE = 25
"""Runs on a page of the list; each has two resources."""
MOST_WATCHES = 100
"""Resources that one client can watch at once."""
DRAINING_S = 0.5
"""Seconds after which a stream ends at the latest once its server stops."""
POLL_S = 2.0
"""Seconds between two looks at a paused run, which another process may resume."""
JSON, MARKDOWN = "application/json", "text/markdown"
RUN, TRANSCRIPT = "pnyx://runs/{run_id}", "pnyx://runs/{run_id}/transcript"
TEMPLATES = {
    RUN: ("run", "A run", "The result of a run: answer, dissent, cost, and what to do next.", JSON),
    TRANSCRIPT: (
        "transcript",
        "The transcript of a run",
        "Who said what in a run, and its result. A long one ends with the URI of its next part.",
        MARKDOWN,
    ),
}
"""URI template -> name, title, description and type of its resources."""
_URI = regex(r"pnyx://runs/(?P<run>[a-z0-9]{1,40})(?P<transcript>/transcript(?:/(?P<after>[0-9]{1,10}))?)?")
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
"""Where messages of a subscription name the request that it came with."""


async def resource_list(
    service: RunService, peer: Peer, params: PaginatedRequestParams
) -> ListResourcesResult:
    """List the runs of the client, newest first. Raises `UsageError` for a cursor that is not ours."""
    after = parse_cursor(params.cursor) if params.cursor else None
    rows = await service.run_rows(peer.owner, PAGE + 1, after)
    shown = rows[:PAGE]
    more = cursor_after(shown[-1]) if len(rows) > PAGE or rows.has_more else None
    resources = [one for row in shown for one in _resources(row, service)]
    return ListResourcesResult(resources=resources, next_cursor=more)


async def template_list(
    service: RunService, peer: Peer, params: PaginatedRequestParams
) -> ListResourceTemplatesResult:
    """List the forms of the URIs."""
    templates = [
        ResourceTemplate(uri_template=uri, name=name, title=title, description=text, mime_type=kind)
        for uri, (name, title, text, kind) in TEMPLATES.items()
    ]
    return ListResourceTemplatesResult(resource_templates=templates)


async def read(service: RunService, peer: Peer, params: ReadResourceRequestParams) -> ReadResourceResult:
    """Read a run or its transcript. Raises `NotFound`, `StoreError`."""
    run_id, after = _parse(params.uri)
    if after is not None:
        document, following = await transcript_of(service, run_id, peer.owner, after)
        rest = TRANSCRIPT.format(run_id=run_id) + f"/{following}"
        more = "" if following is None else f"\nThe transcript goes on: read {rest}\n"
        text, kind = f"> {NOTICE}\n\n{document}{more}", MARKDOWN
    else:
        record = await service.state(run_id, peer.owner)
        text, kind = json.dumps(run_document(record), ensure_ascii=False, indent=2), JSON
    return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, mime_type=kind, text=text)])


async def subscribe(service: RunService, peer: Peer, params: SubscribeRequestParams) -> EmptyResult:
    """Notify the client of changes of a run until its session ends. Raises `NotFound`, `UsageError`."""
    session, push = peer.session, peer.push
    if session is None or push is None:
        raise UsageError("the client has not sent notifications/initialized")
    row = await service.find(_parse(params.uri)[0], peer.owner)
    if params.uri not in session.watches and len(session.watches) >= MOST_WATCHES:
        raise UsageError(f"a session can subscribe to {MOST_WATCHES} resources; unsubscribe from one first")

    async def watch() -> None:
        updated = ResourceUpdatedNotification(params=ResourceUpdatedNotificationParams(uri=params.uri))
        async with aclosing(_changes(service, row.id, peer.owner, row.seq)) as changes:
            async for _ in changes:
                await push(updated)

    session.watch(params.uri, watch())
    return EmptyResult()


async def unsubscribe(service: RunService, peer: Peer, params: UnsubscribeRequestParams) -> EmptyResult:
    """Stop what `subscribe` began."""
    if peer.session is not None:
        peer.session.unwatch(params.uri)
    return EmptyResult()


async def listen(
    service: RunService, peer: Peer, params: SubscriptionsListenRequestParams
) -> SubscriptionsListenResult:
    """Notify a client of 2026 of changes of runs until it closes the stream, or the server stops.

    Only resources that exist are acknowledged; our lists of tools and prompts never change.
    """
    meta: Any = {SUBSCRIPTION: peer.request_id}
    rows: dict[str, RunRow] = {}
    for uri in list(dict.fromkeys(params.notifications.resource_subscriptions or ()))[:MOST_WATCHES]:
        try:
            rows[uri] = await service.find(_parse(uri)[0], peer.owner)
        except NotFound:
            continue
    honoured = SubscriptionFilter(resource_subscriptions=list(rows) or None)
    acknowledged = SubscriptionsAcknowledgedNotificationParams(notifications=honoured, _meta=meta)
    await peer.channel.notify(SubscriptionsAcknowledgedNotification(params=acknowledged))

    async def watch(uri: str, row: RunRow) -> None:
        updated = ResourceUpdatedNotificationParams(uri=uri, _meta=meta)
        async with aclosing(_changes(service, row.id, peer.owner, row.seq)) as changes:
            async for _ in changes:
                await peer.channel.notify(ResourceUpdatedNotification(params=updated))

    async with anyio.create_task_group() as watches:
        for uri, row in rows.items():
            watches.start_soon(watch, uri, row)
        while not service.draining:  # noqa: ASYNC110 (a server that stops has no event for it)
            await anyio.sleep(DRAINING_S)
        watches.cancel_scope.cancel()
    return SubscriptionsListenResult(_meta=meta)


async def _changes(service: RunService, run_id: str, reader: str, seen: int) -> AsyncGenerator[None, None]:
    """Yield when something in a run that people see has changed, until it is over."""
    try:
        while not service.draining:
            async with aclosing(follow(service, run_id, reader, seen, prompts=False)) as events:
                async for event in events:
                    seen = event.seq or seen
                    if isinstance(event, PhaseEntered | CallFinished | RunFinished):
                        yield
            row = await service.find(run_id)
            while row.seq <= seen and row.status not in FINAL:
                await anyio.sleep(POLL_S)
                row = await service.find(run_id)
            if row.seq <= seen:
                return
    except PnyxError as exc:  # the client reads the run, and gets the same message
        LOG.warning("run %s is no longer watched: %s", run_id, service.redact(str(exc)))


def _parse(uri: str) -> tuple[str, int | None]:
    """Return the run of a URI, and the event after which it has the transcript, None for the run itself.

    Raises `NotFound`.
    """
    match = _URI.fullmatch(uri)
    if match is None:
        forms = " and ".join(TEMPLATES)
        raise NotFound(f"there is no resource {uri[:80]!r}; resources are {forms}")
    return match["run"], None if match["transcript"] is None else int(match["after"] or 0)


def _resources(row: RunRow, service: RunService) -> Iterator[Resource]:
    question = sendable(service.redact(clip(row.question, 80)))
    # The form of created_at is ours: ISO 8601.
    dated = Annotations(last_modified=row.updated_at)
    for uri, (name, _, text, kind) in TEMPLATES.items():
        yield Resource(
            uri=uri.format(run_id=row.id),
            name=f"{name} {row.id}",
            title=question if name == "run" else f"{question} (transcript)",
            description=f"{text} {row.protocol}, {row.created_at[:10]}.",
            mime_type=kind,
            annotations=dated,
        )
