"""What a client can look up: earlier runs, plans, protocols and settings."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from ... import protocols
from ...errors import ConfigError
from ...providers.catalogue import parse_seats
from ...providers.default_panel import DefaultPanel, default_panel
from ...providers.embedded.weights import installed
from ..records.cursor import cursor_of, parse_place
from ..requests.schemas import ProtocolBody, RecalledRun, RunBody
from ..views.calibration import calibration_document
from ..views.catalogue import describe_models, describe_protocol, models_by_name
from ..views.costs import first_day, sum_costs, sums_by, sums_by_run
from ..views.plan import as_json, plan
from .errors import Exact
from .schemas import Calibration, Costs, Defaults, ModelRow, Planned
from .state import next_page, owner_of, refuse_misspelt_parameters, service_of

__all__ = ["ROUTER"]

ROUTER = APIRouter(prefix="/v1", tags=["server"], dependencies=[Depends(refuse_misspelt_parameters)])
MOST_RUNS = 1000
"""Of a list of costs by run: all of 100,000 would take seconds, in which nobody else is answered."""


@ROUTER.get("/recall", response_model=list[RecalledRun], tags=["runs"])
async def recall(
    request: Request,
    text: Annotated[str, Query(max_length=1000)],
    limit: Annotated[int, Query(ge=1, le=1000)] = 10,
    cursor: Annotated[str | None, Query(max_length=1000)] = None,
) -> Response:
    """Find runs by words of their question, answer or dissent, best first.

    If no run has all the words, it returns those with some of them. limit: at most so many, and about 16 MB
    of text. If there are more, the header `Link` has the address of the next page.
    """
    place = None if cursor is None else parse_place(cursor)
    found = await service_of(request).recall(text, limit, owner=owner_of(request), place=place)
    more = {} if found.next is None else next_page(request, cursor=cursor_of(found.next))
    return Exact(found.to_json(), headers=more)


@ROUTER.post("/plan", response_model=Planned, tags=["runs"])
async def plan_run(request: Request, body: RunBody) -> Response:
    """Estimate the calls, tokens and cost of a run, as `pnyx ask --dry-run --json`. Nothing is sent."""
    service = service_of(request)
    spec = await service.resolve(body.to_request(), owner_of(request))
    return Exact(as_json(spec, plan(spec, await service.cost_factor(spec))))


@ROUTER.get("/protocols", response_model=list[ProtocolBody])
async def list_protocols(request: Request) -> Response:
    """List the protocols with their options, presets, phases and quorum."""
    may = service_of(request).permissions(owner_of(request)).protocol
    return Exact([describe_protocol(protocol) for protocol in protocols.loaded() if may(protocol.name)])


@ROUTER.get("/costs", response_model=Costs)
async def costs(
    request: Request,
    by: Literal["model", "provider", "protocol", "panel", "run"] = "model",
    days: Annotated[int, Query(ge=1, le=3660)] = 30,
) -> Response:
    """Sum what the runs of the key cost in the last days (UTC), by group and by day.

    `by=run` lists the 1,000 dearest; `total` and `days` are of all.
    """
    service, owner = service_of(request), owner_of(request)
    since = first_day(service.now(), days)
    spent = await service.spending(since, owner)
    if by == "run":
        rows = list(sums_by_run(await service.run_spending(since, owner, most=MOST_RUNS)))
    else:
        rows = sums_by(spent, by, since)
    return Exact(
        {
            "since": since,
            "total": {"name": "total", **sum_costs(spent, since)},
            "rows": [_named(row, by) for row in rows],
            "days": [_named(row, "day") for row in sums_by(spent, "day", since)],
        }
    )


def _named(row: dict[str, Any], by: str) -> dict[str, Any]:
    return {"name": row[by], **{name: value for name, value in row.items() if name != by}}


@ROUTER.get("/calibration", response_model=Calibration)
async def calibration(request: Request) -> Response:
    """What feedback on the runs of the key says of support and confidence."""
    history = await service_of(request).judgements(owner_of(request))
    return Exact(await asyncio.to_thread(calibration_document, history))


@ROUTER.get("/settings", response_model=Defaults)
async def read_settings(request: Request) -> Response:
    """The defaults of a request, and the models that it can name."""
    service = service_of(request)
    settings, permissions = service.settings, service.permissions(owner_of(request))
    panel, missing = DefaultPanel(parse_seats(settings.panel.seats)), None
    if not panel.refs:
        try:
            panel = await asyncio.to_thread(default_panel, settings)
        except ConfigError as exc:
            missing = str(exc)
    here = set(await asyncio.to_thread(installed))
    defaults = Defaults(
        protocol=settings.run.protocol,
        preset=panel.preset,
        seats=panel.refs,
        missing=missing,
        models=tuple(filter(permissions.model, models_by_name(settings, here))),
        catalogue=[
            ModelRow(**row)
            for row in await asyncio.to_thread(describe_models, settings, here)
            if permissions.model(row["model"])
        ],
        panels={name: settings.panels[name].model_dump(mode="json") for name in permissions.saved_panels()},
        options={name: dict(options) for name, options in settings.protocols.items()},
        budget_usd=settings.budget.run_usd,
        deadline_s=settings.run.deadline_s,
        tools=settings.tools.enabled,
    )
    return Exact(defaults.model_dump(mode="json"))
