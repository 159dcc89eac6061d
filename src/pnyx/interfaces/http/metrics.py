"""`GET /metrics`: the metrics of this process for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from .errors import refusal
from .state import service_of

__all__ = ["METRICS", "ROUTER"]

METRICS = "/metrics"
ROUTER = APIRouter(tags=["server"])


@ROUTER.get(METRICS, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Return the metrics of this process for Prometheus, if `[telemetry] prometheus` is on.

    Needs a key, unless the request comes from this machine or `[telemetry] open_metrics` is on.
    """
    telemetry = service_of(request).telemetry
    page = None if telemetry is None else await telemetry.metrics_page(request.headers.get("accept", ""))
    if page is None:
        return refusal(404, "metrics are off on this server; set [telemetry] prometheus to turn them on")
    return Response(page[0], media_type=page[1])
