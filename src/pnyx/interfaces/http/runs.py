"""/v1/runs: begin, follow, read, resume, cancel, judge and export runs, each owner its own."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from ...core.decision import FINAL, Status
from ..follow import wait_unless_left
from ..render.html import as_html
from ..render.markdown import as_markdown, document
from ..schemas import Listed, ResultBody
from ..service import RunService
from ..views.feedback import judgement
from .errors import Exact
from .schemas import Begin, Exported, Feedback, Judgement, Resume, Wait
from .state import CLIENT_LEFT, disconnected, owner_of, service_of
from .streaming import run_events

__all__ = ["ROUTER"]

ROUTER = APIRouter(prefix="/v1/runs", tags=["runs"])
AT_ONCE: dict[int | str, dict[str, Any]] = {200: {"model": ResultBody, "content": {"text/event-stream": {}}}}
"""The result of whoever waits, the events of whoever streams; a run that is over is there already."""
DOCUMENTS = {"md": ("text/markdown", as_markdown), "html": ("text/html", as_html)}
EXPORTS: dict[int | str, dict[str, Any]] = {200: {"content": {kind: {} for kind, _ in DOCUMENTS.values()}}}
GO_ON = Resume()
MOST_SEQ = 2**31 - 1
"""Of an event: the database keeps 32 bits."""


@ROUTER.post("", status_code=202, response_model=ResultBody, responses=AT_ONCE)
async def begin(
    request: Request,
    asked: Begin,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> Response:
    """Begin a run. 202 with the run as it stands; with `wait` its result, with `stream` its events.

    The same `Idempotency-Key` again gives the run that it began, and sends nothing twice.
    """
    service = service_of(request)
    spec = service.resolve(asked.to_request(), owner_of(request))
    run_id = await service.begin(spec, None if idempotency_key is None else f"http/{idempotency_key}")
    return await _reply(request, service, run_id, asked)


@ROUTER.get("", response_model=list[Listed])
async def listing(
    request: Request,
    status: Status | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> Response:
    """Runs, newest first."""
    records = await service_of(request).list_runs(status, limit, owner=owner_of(request))
    return Exact([{**record.document, "created_at": record.row.created_at} for record in records])


@ROUTER.get("/{run_id}", response_model=ResultBody)
async def read(request: Request, run_id: str) -> Response:
    """A run as it stands; `run_id` may be any unique beginning of it."""
    record = await service_of(request).read(run_id, owner_of(request))
    return Exact(record.document)


@ROUTER.get("/{run_id}/events", responses={200: {"content": {"text/event-stream": {}}}})
async def events(
    request: Request,
    run_id: str,
    after: Annotated[int, Query(ge=0, le=MOST_SEQ)] = 0,
    tokens: bool = False,
    on_disconnect: Literal["continue", "cancel"] = "continue",
    last_event_id: Annotated[int, Header(ge=0, le=MOST_SEQ)] = 0,
) -> Response:
    """Events as they happen, from the first one whose number is above `after` or `Last-Event-ID`.

    tokens: the text of replies too, as it arrives.
    """
    service = service_of(request)
    row = await service.find(run_id, owner_of(request))
    seen = max(after, last_event_id)
    return run_events(service, row.id, after=seen, tokens=tokens, cancel=on_disconnect == "cancel")


@ROUTER.post("/{run_id}/resume", status_code=202, response_model=ResultBody, responses=AT_ONCE)
async def resume(request: Request, run_id: str, how: Resume = GO_ON) -> Response:
    """Go on with a run that was stopped. No call whose reply is recorded is sent again."""
    service, owner = service_of(request), owner_of(request)
    found = await service.begin_resume(
        run_id, owner, budget_usd=how.budget_usd, deadline_s=how.deadline_s, fork=how.fork
    )
    return await _reply(request, service, found, how)


@ROUTER.post("/{run_id}/cancel", response_model=ResultBody)
async def cancel(request: Request, run_id: str) -> Response:
    """End a run for good. One that is over stays as it is."""
    found = await service_of(request).cancel(run_id, owner_of(request))
    return await read(request, found)


@ROUTER.post("/{run_id}/feedback", response_model=Judgement)
async def feedback(request: Request, run_id: str, said: Feedback) -> Response:
    """Say what became of a decision: votes and confidence of later runs learn from it."""
    service, owner = service_of(request), owner_of(request)
    found, judged = await service.feedback(run_id, said.result, said.answer, owner)
    return Exact(judgement(found.id, judged))


@ROUTER.get("/{run_id}/export", response_model=Exported, responses=EXPORTS)
async def export(request: Request, run_id: str, format: Literal["json", "md", "html"] = "json") -> Response:
    """A run with all that was said: as JSON, as a document in Markdown, or as a page of HTML."""
    service = service_of(request)
    record = await service.read(run_id, owner_of(request))
    if format == "json":
        return Exact(document(record, service.redact))
    kind, write = DOCUMENTS[format]
    return Response(write(record, service.redact).encode("utf-8", "replace"), media_type=kind)


async def _reply(request: Request, service: RunService, run_id: str, wait: Wait) -> Response:
    cancel = wait.on_disconnect == "cancel"
    if wait.tokens and (handle := service.handle(run_id)) is not None:
        # Nothing has been awaited since the run began, so that its first call is still to come.
        handle.stream_text()
    where = {"Location": f"/v1/runs/{run_id}", "X-Run-Id": run_id}
    if wait.stream:
        return run_events(service, run_id, tokens=wait.tokens, cancel=cancel)
    if wait.wait:
        result = await wait_unless_left(service, run_id, disconnected(request), cancel=cancel)
        return Response(status_code=CLIENT_LEFT) if result is None else Exact(result.to_json(), 200, where)
    record = await service.read(run_id)
    over = record.result.status in FINAL
    return Exact(record.document, 200 if over else 202, where)
