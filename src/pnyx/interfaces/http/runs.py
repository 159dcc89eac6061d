"""/v1/runs: start, follow, read, resume, cancel, judge and export the runs of an owner."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Request
from pydantic import BeforeValidator
from starlette.responses import Response

from ...core.decision import FINAL, Status
from ...providers.redaction import redact_json
from ..records.cursor import cursor_after, parse_cursor
from ..render.html import as_html
from ..render.markdown import Redact, as_markdown
from ..render.run_json import run_json
from ..requests.schemas import ListedRun, ResultBody, StoredRun
from ..service.follow import wait_unless_disconnected
from ..service.run_service import RunService
from ..views.feedback import feedback_document
from ..views.records import Record, RunPage
from .errors import Exact
from .schemas import Exported, Feedback, Judgement, Labelling, Overview, Resume, StartRun, Wait
from .state import (
    client_left,
    leaves_at_half_close,
    long_read,
    next_page,
    owner_of,
    reader_of,
    refuse_misspelt_parameters,
    service_of,
    wait_for_disconnect,
)
from .streaming import (
    EVENTS,
    GZIP_LEVEL,
    accepts_gzip,
    as_stored,
    nothing_follows,
    page_of_events,
    run_events,
    run_headers,
)

__all__ = ["EXPORTS", "MOST_EVENTS", "MOST_SEQ", "ROUTER", "exported"]

ROUTER = APIRouter(prefix="/v1/runs", tags=["runs"], dependencies=[Depends(refuse_misspelt_parameters)])
FINISHED: dict[int | str, dict[str, Any]] = {200: {"model": ResultBody, "content": {"text/event-stream": {}}}}
"""With `wait`, or if the run is already over: the result. With `stream`: the events."""
DOCUMENTS = {"md": ("text/markdown", as_markdown), "html": ("text/html", as_html)}
EXPORTS: dict[int | str, dict[str, Any]] = {200: {"content": {kind: {} for kind, _ in DOCUMENTS.values()}}}
DEFAULT_RESUME = Resume()
MOST_SEQ = 2**31 - 1
"""Largest `seq` of an event: the database stores 32 bits."""
MOST_EVENTS = 10_000
"""The longest page of events."""


def _day(text: str) -> str:
    # A number of seconds would do for a date, too.
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        raise ValueError("must be a day, such as 2026-11-26")
    return text


Day = Annotated[date, BeforeValidator(_day)]


@ROUTER.post("", status_code=202, response_model=ResultBody, responses=FINISHED)
async def start(
    request: Request,
    body: StartRun,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> Response:
    """Start a run. Returns 202 and its state; with `wait`, its result; with `stream`, its events.

    A request with the same `Idempotency-Key` returns the same run.
    """
    service = service_of(request)
    run_request, owner = body.to_request(), owner_of(request)
    if body.follows is None:
        spec = await service.resolve(run_request, owner)
    else:
        spec = await service.resolve_next(run_request, owner, body.follows)
    run_id = await service.submit(spec, None if idempotency_key is None else f"http/{idempotency_key}")
    return await _reply(request, service, run_id, body)


@ROUTER.get("", response_model=list[ListedRun])
async def list_runs(
    request: Request,
    status: Status | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    tag: Annotated[str | None, Query(max_length=1000)] = None,
    pinned: bool = False,
    protocol: Annotated[str | None, Query(max_length=1000)] = None,
    since: Day | None = None,
    cursor: Annotated[str | None, Query(max_length=1000)] = None,
) -> Response:
    """List runs, newest first. tag, pinned: only runs with these labels. since: only runs from this day on.

    limit: at most so many, and about 16 MB of text, since a question may be a book.

    If there are more, the header `Link` has the address of the next page, as RFC 8288 says
    (`<…>; rel="next"`); its `cursor` says where that page begins.
    """
    records = await service_of(request).list_runs(
        status,
        limit,
        owner=owner_of(request),
        tag=tag,
        pinned=pinned,
        protocol=protocol,
        since="" if since is None else since.isoformat(),
        after=None if cursor is None else parse_cursor(cursor),
    )
    return _page(request, records)


@ROUTER.get("/{run_id}", response_model=StoredRun)
async def read(request: Request, run_id: str) -> Response:
    """Return the state of a run. `run_id` can be any unique prefix of its id."""
    record = await service_of(request).state(run_id, owner_of(request))
    return Exact(record.printed)


@ROUTER.patch("/{run_id}", response_model=StoredRun)
async def label(request: Request, run_id: str, body: Labelling) -> Response:
    """Give a run a title or tags, or pin it, and return it. What the body leaves out stays as it is."""
    row = await service_of(request).label(run_id, body.to_change(), owner_of(request))
    return await read(request, row.id)


@ROUTER.delete("/{run_id}", status_code=204, response_class=Response)
async def delete(request: Request, run_id: str) -> Response:
    """Delete a run for good. Its costs and its feedback are kept. A run under way is refused."""
    await service_of(request).delete(run_id, owner_of(request))
    return Response(status_code=204)


@ROUTER.get("/{run_id}/overview", response_model=Overview)
async def read_overview(request: Request, run_id: str) -> Response:
    """Return the debate at a glance: votes with their ballots, changes of mind, positions, costs."""
    service = service_of(request)
    found = await service.overview(run_id, owner_of(request))
    return Exact(redact_json(found, service.redact))


@ROUTER.get("/{run_id}/events", responses=EVENTS)
async def events(
    request: Request,
    run_id: str,
    after: Annotated[int, Query(ge=0, le=MOST_SEQ)] = 0,
    limit: Annotated[int | None, Query(ge=1, le=MOST_EVENTS)] = None,
    prompts: Literal["include", "omit"] = "include",
    include: Literal["prompts"] | None = None,
    tokens: bool = False,
    on_disconnect: Literal["continue", "cancel"] = "continue",
    last_event_id: Annotated[int, Header(ge=0, le=MOST_SEQ)] = 0,
) -> Response:
    """Stream the events of a run whose `seq` is above `after` and `Last-Event-ID`.

    204: the run is over, and has no such events.

    limit: at most so many of the stored events, and about 4 MB of text, without waiting for more. If there
    are more, the header `Link` has the address of the next page (`<…>; rel="next"`). prompts: "omit" leaves
    those of calls empty, which may be most of a run. include: "prompts" is another way to write
    `prompts=include`. tokens: also the text of replies, as it arrives.
    """
    service = service_of(request)
    row = await service.find(run_id, owner_of(request))
    seen, whole = max(after, last_event_id), prompts == "include" or include == "prompts"
    if limit is None:
        if (end := nothing_follows(row, seen, run_headers(row.id))) is not None:
            return end
        if cancel := on_disconnect == "cancel":
            leaves_at_half_close(request.scope)
        reader = reader_of(request)
        return run_events(service, row.id, reader, after=seen, tokens=tokens, prompts=whole, cancel=cancel)
    shown = partial(as_stored, prompts=whole)
    async with long_read(request):
        page = await service.page(row.id, seen, limit, prompts=whole)
        return await page_of_events(request, page, shown, run_headers(row.id))


@ROUTER.post("/{run_id}/resume", status_code=202, response_model=ResultBody, responses=FINISHED)
async def resume(request: Request, run_id: str, body: Resume = DEFAULT_RESUME) -> Response:
    """Resume a run that stopped. Calls with a recorded reply are not sent again."""
    service, owner = service_of(request), owner_of(request)
    resumed = await service.submit_resume(
        run_id, owner, budget_usd=body.budget_usd, deadline_s=body.deadline_s, fork=body.fork
    )
    return await _reply(request, service, resumed, body)


@ROUTER.post("/{run_id}/cancel", response_model=StoredRun)
async def cancel(request: Request, run_id: str) -> Response:
    """Cancel a run; it cannot be resumed. A run that is over is unchanged."""
    cancelled = await service_of(request).cancel(run_id, owner_of(request))
    return await read(request, cancelled)


@ROUTER.post("/{run_id}/feedback", response_model=Judgement)
async def feedback(request: Request, run_id: str, body: Feedback) -> Response:
    """Record whether a decision was right. Votes and confidence of later runs learn from it."""
    service, owner = service_of(request), owner_of(request)
    row, judged = await service.feedback(run_id, body.result, body.answer, owner)
    return Exact(feedback_document(row.id, judged))


@ROUTER.delete("/{run_id}/feedback", response_model=StoredRun)
async def withdraw_feedback(request: Request, run_id: str) -> Response:
    """Delete the feedback on a run; nothing learns from it from then on."""
    row = await service_of(request).withdraw_feedback(run_id, owner_of(request))
    return await read(request, row.id)


@ROUTER.get("/{run_id}/conversation", response_model=list[ListedRun])
async def conversation(
    request: Request,
    run_id: str,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    cursor: Annotated[str | None, Query(max_length=1000)] = None,
) -> Response:
    """List the turns of the conversation of a run, oldest first; the run alone if it has none.

    limit: at most so many, and about 16 MB of text. If there are more, the header `Link` has the address of
    the next page.
    """
    service, owner = service_of(request), owner_of(request)
    after = None if cursor is None else parse_cursor(cursor)
    row = await service.find(run_id, owner)
    if row.conversation is None:
        return Exact([(await service.summary(row.id, owner)).listed])
    return _page(request, await service.turns(row.conversation, owner, limit=limit, after=after))


def _page(request: Request, records: RunPage) -> Response:
    """Return runs of a list. If there are more, `Link` has the address of the next page."""
    more = next_page(request, cursor=cursor_after(records[-1].row)) if records.has_more else {}
    return Exact([record.listed for record in records], headers=more)


@ROUTER.get("/{run_id}/export", response_model=Exported, responses=EXPORTS)
async def export(request: Request, run_id: str, format: Literal["json", "md", "html"] = "json") -> Response:
    """Export a run with its transcript, as JSON, Markdown or HTML."""
    service = service_of(request)
    async with long_read(request):
        if format != "json":
            record = await service.read(run_id, owner_of(request), prompts=False)
            return await exported(request, record, format, service.redact)
        # Page by page: all events at once would take several times the memory of their JSON.
        state = await service.state(run_id, owner_of(request))
        parts = run_json({"result": state.document}, service.pages(state.row), service.redact)
        written = [part.encode() async for part in parts]
        return await _file(request, lambda: b"".join(written), "application/json")


async def exported(
    request: Request,
    record: Record,
    format: str,
    redact: Redact,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A run as Markdown or HTML. Others are answered while a long one is written and compressed."""
    kind, render = DOCUMENTS[format]
    return await _file(request, lambda: render(record, redact).encode("utf-8", "replace"), kind, headers)


async def _file(
    request: Request, write: Callable[[], bytes], kind: str, headers: Mapping[str, str] | None = None
) -> Response:
    compressed = accepts_gzip(request)

    def body() -> bytes:
        return gzip.compress(write(), GZIP_LEVEL) if compressed else write()

    headers = {**(headers or {}), "Vary": "Accept-Encoding"}
    if compressed:
        headers["Content-Encoding"] = "gzip"
    return Response(await asyncio.to_thread(body), media_type=kind, headers=headers)


async def _reply(request: Request, service: RunService, run_id: str, wait: Wait) -> Response:
    cancel = wait.on_disconnect == "cancel"
    if wait.tokens and (handle := service.handle(run_id)) is not None:
        # Nothing was awaited since the run started, so its first call has not been sent yet.
        handle.stream_text()
    headers = {"Location": f"/v1/runs/{run_id}", "X-Run-Id": run_id}
    if wait.wait or cancel:
        leaves_at_half_close(request.scope)
    if wait.stream:
        return run_events(service, run_id, owner_of(request), tokens=wait.tokens, cancel=cancel)
    if wait.wait:
        leaving = wait_for_disconnect(request)
        result = await wait_unless_disconnected(service, run_id, owner_of(request), leaving, cancel=cancel)
        if result is None:
            return client_left(run_id, "is cancelled" if cancel else "continues", headers)
        return Exact(result.to_json(), 200, headers)
    record = await service.state(run_id)
    finished = record.result.status in FINAL
    return Exact(record.document, 200 if finished else 202, headers)
