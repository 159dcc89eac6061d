"""/v1/runs: begin, follow, read, resume, cancel, judge and export runs, each owner its own."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from ...run.handle import FINAL
from ..render.html import as_html
from ..render.markdown import as_markdown, document
from ..service import House, house_of
from ..views.feedback import judgement, keep_feedback
from ..views.records import read_run, read_runs
from .errors import Exact
from .schemas import Begin, Exported, Feedback, Follow, Judgement, Listed, ResultBody, Resume, Status
from .streaming import as_stream, outcome

__all__ = ["ROUTER"]

ROUTER = APIRouter(prefix="/v1/runs", tags=["runs"])
AT_ONCE: dict[int | str, dict[str, Any]] = {200: {"model": ResultBody, "content": {"text/event-stream": {}}}}
"""The result of whoever waits, the events of whoever streams; a run that is over is there already."""
DOCUMENTS = {"md": ("text/markdown", as_markdown), "html": ("text/html", as_html)}
EXPORTS: dict[int | str, dict[str, Any]] = {200: {"content": {kind: {} for kind, _ in DOCUMENTS.values()}}}
GO_ON = Resume()
LEFT = 499
"""The status for a client that did not wait; nobody reads it."""
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
    house = house_of(request)
    spec = house.spec(asked, house.owner(request))
    run_id = await house.begin(spec, None if idempotency_key is None else f"http/{idempotency_key}")
    return await _reply(request, house, run_id, asked)


@ROUTER.get("", response_model=list[Listed])
async def listing(
    request: Request,
    status: Status | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> Response:
    """Runs, newest first."""
    house = house_of(request)
    work = partial(read_runs, status=status, limit=limit, owner=house.owner(request))
    records = await house.runner.database.read(work)
    return Exact([{**record.document, "created_at": record.row.created_at} for record in records])


@ROUTER.get("/{run_id}", response_model=ResultBody)
async def read(request: Request, run_id: str) -> Response:
    """A run as it stands; `run_id` may be any unique beginning of it."""
    house = house_of(request)
    record = await house.runner.database.read(partial(read_run, prefix=run_id, owner=house.owner(request)))
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
    house = house_of(request)
    row = await house.find(run_id, house.owner(request))
    seen = max(after, last_event_id)
    return as_stream(house.runner, row.id, after=seen, tokens=tokens, cancel=on_disconnect == "cancel")


@ROUTER.post("/{run_id}/resume", status_code=202, response_model=ResultBody, responses=AT_ONCE)
async def resume(request: Request, run_id: str, how: Resume = GO_ON) -> Response:
    """Go on with a run that was stopped. No call whose reply is recorded is sent again."""
    house = house_of(request)
    house.check_budget(how.budget_usd)
    owner = house.owner(request)
    found = await house.resume(
        run_id, owner, budget_usd=how.budget_usd, deadline_s=how.deadline_s, fork=how.fork
    )
    return await _reply(request, house, found, how)


@ROUTER.post("/{run_id}/cancel", response_model=ResultBody)
async def cancel(request: Request, run_id: str) -> Response:
    """End a run for good. One that is over stays as it is."""
    house = house_of(request)
    found = await house.runner.cancel(run_id, house.owner(request))
    return await read(request, found)


@ROUTER.post("/{run_id}/feedback", response_model=Judgement)
async def feedback(request: Request, run_id: str, said: Feedback) -> Response:
    """Say what became of a decision: votes and confidence of later runs learn from it."""
    house = house_of(request)
    work = partial(
        keep_feedback, prefix=run_id, verdict=said.result, truth=said.answer, owner=house.owner(request)
    )
    found, judged = await house.runner.database.write(work)
    return Exact(judgement(found.id, judged))


@ROUTER.get("/{run_id}/export", response_model=Exported, responses=EXPORTS)
async def export(request: Request, run_id: str, format: Literal["json", "md", "html"] = "json") -> Response:
    """A run with all that was said: as JSON, as a document in Markdown, or as a page of HTML."""
    house = house_of(request)
    record = await house.runner.database.read(partial(read_run, prefix=run_id, owner=house.owner(request)))
    if format == "json":
        return Exact(document(record, house.redact))
    kind, write = DOCUMENTS[format]
    return Response(write(record, house.redact).encode("utf-8", "replace"), media_type=kind)


async def _reply(request: Request, house: House, run_id: str, how: Follow) -> Response:
    cancel = how.on_disconnect == "cancel"
    if how.tokens and (handle := house.runner.find(run_id)) is not None:
        # Nothing has been awaited since the run began, so that its first call is still to come.
        handle.stream_text()
    where = {"Location": f"/v1/runs/{run_id}", "X-Run-Id": run_id}
    if how.stream:
        return as_stream(house.runner, run_id, tokens=how.tokens, cancel=cancel)
    if how.wait:
        result = await outcome(house.runner, run_id, request, cancel=cancel)
        return Response(status_code=LEFT) if result is None else Exact(result.to_json(), 200, where)
    record = await house.runner.database.read(partial(read_run, prefix=run_id))
    over = record.result.status in FINAL
    return Exact(record.document, 200 if over else 202, where)
