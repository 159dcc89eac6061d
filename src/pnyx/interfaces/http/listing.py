"""What can be asked for: earlier runs, protocols, what holds unless told otherwise, panels as models."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from ... import protocols
from ...errors import ConfigError
from ...providers.catalogue import DefaultPanel, default_panel, parse_seats
from ...providers.embedded.weights import installed
from ..schemas import ProtocolBody, Recalled, RunBody
from ..views.catalogue import described, models_by_name
from ..views.plan import as_json, plan
from .errors import Exact
from .schemas import Defaults, Planned
from .state import owner_of, service_of

__all__ = ["ROUTER"]

ROUTER = APIRouter(prefix="/v1", tags=["server"])


@ROUTER.get("/recall", response_model=list[Recalled], tags=["runs"])
async def recall(
    request: Request,
    text: Annotated[str, Query(max_length=1000)],
    limit: Annotated[int, Query(ge=1, le=1000)] = 10,
) -> Response:
    """Runs whose question, answer or dissent has all the words of `text`, or else some; best first."""
    found = await service_of(request).recall(text, limit, owner=owner_of(request))
    return Exact(found.to_json())


@ROUTER.post("/plan", response_model=Planned, tags=["runs"])
async def reckon(request: Request, body: RunBody) -> Response:
    """What a run would take, as `pnyx ask --dry-run --json` tells it; nothing is sent, nothing is kept."""
    spec = service_of(request).resolve(body.to_request(), owner_of(request))
    return Exact(as_json(spec, plan(spec)))


@ROUTER.get("/protocols", response_model=list[ProtocolBody])
async def list_protocols() -> Response:
    """The protocols with their options, presets, phases and quorum."""
    return Exact([described(page) for page in protocols.loaded()])


@ROUTER.get("/settings", response_model=Defaults)
async def read_settings(request: Request) -> Response:
    """What a run is to be where its request does not say, and models that it may name."""
    settings = service_of(request).settings
    panel, missing = DefaultPanel(parse_seats(settings.panel.seats)), None
    if not panel.refs:
        try:
            panel = await asyncio.to_thread(default_panel, settings)
        except ConfigError as exc:
            missing = str(exc)
    here = set(await asyncio.to_thread(installed))
    told = Defaults(
        protocol=settings.run.protocol,
        preset=panel.preset,
        seats=panel.refs,
        missing=missing,
        models=models_by_name(settings, here),
        options={name: dict(options) for name, options in settings.protocols.items()},
        budget_usd=settings.budget.run_usd,
        deadline_s=settings.run.deadline_s,
        tools=settings.tools.enabled,
    )
    return Exact(told.model_dump(mode="json"))


@ROUTER.get("/models")
async def list_models() -> Response:
    """Panels by the names that /v1/chat/completions knows them by: `pnyx/PROTOCOL[:PRESET]`."""
    names = []
    for page in protocols.loaded():
        names += [f"pnyx/{page.name}", *(f"pnyx/{page.name}:{preset}" for preset in page.presets)]
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "pnyx"} for name in names]
    return Exact({"object": "list", "data": data})
