"""Links to one run: /v1/runs/{id}/shares makes, lists and revokes them; /v1/shared shows the run of a link.

What is shown needs no run id: the token alone says which run it is, so it cannot name another one. All of it
is read only.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import Response

from ... import protocols
from ...core.events import Event
from ...errors import LinkEnded, NotFound
from ...providers.redaction import redact_json
from ..access.shares import Share, share_document, shown
from ..service.follow import watch
from ..views.catalogue import describe_protocol
from .errors import Exact
from .runs import EXPORTS, MOST_EVENTS, MOST_SEQ, exported
from .schemas import NewShare, Overview, SharedRun, ShareLink, ShareRun
from .state import long_read, owner_of, reader_of, refuse_misspelt_parameters, service_of
from .streaming import EVENTS, encoded, error_messages, event_source, nothing_follows, page_of_events

__all__ = ["ROUTER", "SHARED"]

ROUTER = APIRouter(prefix="/v1", tags=["shares"], dependencies=[Depends(refuse_misspelt_parameters)])
SHARED = frozenset(f"/v1/shared{path}" for path in ("", "/overview", "/events", "/export"))
"""The paths that the token of a link opens; `Access` refuses it everywhere else."""
PRIVATE = {"X-Robots-Tag": "noindex, nofollow", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
DEFAULT = ShareRun()


@ROUTER.post("/runs/{run_id}/shares", status_code=201, response_model=NewShare)
async def share(request: Request, run_id: str, body: ShareRun = DEFAULT) -> Response:
    """Make a link that shows the run, read only, to whoever has it. Its token is returned only here."""
    service = service_of(request)
    token, row = await service.shares.add(run_id, body.expires_s, owner_of(request))
    # Browsers do not send the part after "#": the token is in no log and no referrer.
    address = f"{request.base_url}#/shared/{token}"
    return Exact({**share_document(row, service.now()), "token": token, "url": address}, 201)


@ROUTER.get("/runs/{run_id}/shares", response_model=list[ShareLink])
async def list_shares(request: Request, run_id: str) -> Response:
    """List the links to a run, newest first."""
    service = service_of(request)
    rows = await service.shares.listing(run_id, owner_of(request))
    return Exact([share_document(row, service.now()) for row in rows])


@ROUTER.get("/shares", response_model=list[ShareLink])
async def list_all_shares(request: Request) -> Response:
    """List the links to all runs of the key, newest first."""
    service = service_of(request)
    rows = await service.shares.listing(owner=owner_of(request))
    return Exact([share_document(row, service.now()) for row in rows])


@ROUTER.delete("/runs/{run_id}/shares", response_model=list[ShareLink])
async def revoke_shares(request: Request, run_id: str) -> Response:
    """Revoke all links to a run. They stop working within two seconds."""
    await service_of(request).shares.revoke(run_id, owner_of(request))
    return await list_shares(request, run_id)


@ROUTER.delete("/runs/{run_id}/shares/{share_id}", response_model=list[ShareLink])
async def revoke_share(request: Request, run_id: str, share_id: str) -> Response:
    """Revoke one link to a run, by its id."""
    await service_of(request).shares.revoke(run_id, owner_of(request), share_id)
    return await list_shares(request, run_id)


@ROUTER.get("/shared", response_model=SharedRun)
async def read_shared(request: Request) -> Response:
    """Return the run of a link: its result, its protocol, and until when the link is valid."""
    service, share = service_of(request), await share_of(request)
    record = await service.state(share.run_id)
    try:
        protocol: dict[str, Any] | None = describe_protocol(protocols.get(record.row.protocol))
    except NotFound:
        protocol = None  # of a package that is no longer installed
    run = redact_json(record.document, service.redact)
    return Exact({"run": run, "protocol": protocol, "expires_at": share.expires_at}, headers=PRIVATE)


@ROUTER.get("/shared/overview", response_model=Overview)
async def read_shared_overview(request: Request) -> Response:
    """Return the debate of a shared run at a glance."""
    service = service_of(request)
    found = await service.overview((await share_of(request)).run_id)
    return Exact(redact_json(found, service.redact), headers=PRIVATE)


@ROUTER.get("/shared/events", responses=EVENTS)
async def read_shared_events(
    request: Request,
    after: Annotated[int, Query(ge=0, le=MOST_SEQ)] = 0,
    limit: Annotated[int | None, Query(ge=1, le=MOST_EVENTS)] = None,
    prompts: Literal["omit"] = "omit",
    tokens: bool = False,
    last_event_id: Annotated[int, Header(ge=0, le=MOST_SEQ)] = 0,
) -> Response:
    """Stream the events of a shared run, always without prompts. Reading them never changes the run.

    limit, 204: as for the events of one's own runs.
    """
    service, run_id = service_of(request), (await share_of(request)).run_id
    seen = max(after, last_event_id)

    def document(event: Event) -> dict[str, Any] | None:
        found: dict[str, Any] | None = redact_json(shown(event), service.redact)
        return found

    if limit is not None:
        async with long_read(request):
            page = await service.page(run_id, seen, limit, prompts=False)
            return await page_of_events(request, page, document, PRIVATE)

    if (end := nothing_follows(await service.find(run_id), seen, PRIVATE)) is not None:
        return end
    watched = watch(service, run_id, reader_of(request), after=seen, tokens=tokens, prompts=False)
    return event_source(service, encoded(watched, document), run_id, error_messages, headers=PRIVATE)


@ROUTER.get("/shared/export", response_class=Response, responses=EXPORTS)
async def export_shared(request: Request, format: Literal["md", "html"] = "html") -> Response:
    """Export a shared run as Markdown or HTML."""
    service = service_of(request)
    async with long_read(request):
        record = await service.read((await share_of(request)).run_id, prompts=False)
        return await exported(request, record, format, service.redact, PRIVATE)


async def share_of(request: Request) -> Share:
    """Return what the token of the request opens; `Access` has refused requests without one.

    Raises `LinkEnded` for a deleted run.
    """
    found: Share = request.scope["state"]["share"]
    try:
        await service_of(request).find(found.run_id)
    except NotFound:
        raise LinkEnded("this link has ended: its run was deleted") from None
    return found
