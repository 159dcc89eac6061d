"""The ASGI app: routes, errors and access control."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel
from sse_starlette.sse import AppStatus
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ..._version import __version__
from ...errors import PnyxError, StoreError
from ..access.keys import Keys
from ..access.shares import Shares
from ..requests.json_body import explain, explain_json, param_of
from ..service.run_service import RunService
from .access import HEALTH, Access, origin_pattern
from .apis import chat, messages, models, responses
from .apis.conversation import RefusedError
from .apis.retries import Retries
from .apis.shapes import Shapes, is_of_api
from .errors import Exact, error_response, error_schemas, refusal
from .evaluations import ROUTER as EVALUATIONS
from .key_log import KeyLog
from .listening import most_connections
from .listing import ROUTER as LISTING
from .mcp import McpEndpoint
from .metrics import METRICS
from .metrics import ROUTER as METRICS_PAGE
from .observed import Observed
from .page import read_page
from .runs import ROUTER as RUNS
from .schemas import Health
from .shares import ROUTER as SHARES
from .shares import SHARED
from .state import service_of
from .usage import request_rate

__all__ = ["open_app"]

COMPRESSED_BYTES = 4096
"""Bytes from which a response is compressed."""
HEALTH_S = 10.0
"""Seconds that the database may take before the server reports itself unavailable."""
SERVER = APIRouter(tags=["server"])
APIS = (chat.ROUTER, responses.ROUTER, messages.ROUTER, models.ROUTER)
ROUTERS = (RUNS, SHARES, *APIS, LISTING, EVALUATIONS, METRICS_PAGE, SERVER)
ERROR = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
ERRORS: dict[int | str, dict[str, Any]] = {
    # By reference, because FastAPI would build a validator of each model for each route: a tenth of a second.
    status: {"content": ERROR}
    for status in (400, 401, 402, 403, 404, 405, 408, 409, 413, 415, 421, 422, 499, 500, 502, 503, 504)
}


@asynccontextmanager
async def open_app(service: RunService, keys: Keys) -> AsyncIterator[Shapes]:
    """Open the server as an ASGI app on `service`, which the caller closes. On exit, MCP sessions end.

    keys: those that it accepts.
    """
    hidden: dict[str, Any] = dict.fromkeys(("openapi_url", "docs_url", "redoc_url"))
    app = FastAPI(**hidden)
    # When the service stops, each stream sends the last state of its run and ends. With this on, those of the
    # package `mcp` would be cut off at once.
    AppStatus.enable_automatic_graceful_drain = False
    app.state.service = service
    app.state.retries = Retries()
    app.state.rewriters = set()
    app.state.salt_key = secrets.token_bytes(32)
    app.router.routes += _all_routers().routes
    app.openapi = _document  # type: ignore[method-assign]
    page = read_page()
    for path, file in page.items():
        app.add_route(path, partial(_file, file), include_in_schema=False)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(PnyxError, _error)
    app.add_exception_handler(Exception, _error)
    service.stored_limits = keys.limits
    async with McpEndpoint.open(service) as mcp, KeyLog.open(service) as log:
        app.router.routes.append(Route("/mcp", endpoint=mcp))
        serve, public, local = service.settings.serve, {HEALTH, *page}, set[str]()
        if service.settings.telemetry.prometheus:
            (public if service.settings.telemetry.open_metrics else local).add(METRICS)
        most_open = max(1, most_connections(serve.connections) // 2)
        limits, open_share = service.key_limits, Shares(service).open
        rate = request_rate(service)
        access = Access(app, serve, keys.owner, public, limits, most_open, SHARED, open_share, local, rate)
        shared = _shared(access, serve.origins)
        yield Shapes(Observed(shared, service, log, _routes(app)), app)


@cache
def _all_routers() -> APIRouter:
    """The routes of every app. FastAPI prepares each once, when it is first matched."""
    together = APIRouter(responses=ERRORS)
    for router in ROUTERS:
        together.include_router(router)
    return together


def _routes(app: FastAPI) -> list[BaseRoute]:
    """All routes. Those of a router that the app includes are not in the app's own list."""
    routes = [route for router in ROUTERS for route in router.routes]
    return [*routes, *(route for route in app.router.routes if isinstance(route, Route))]


def _shared(app: Any, origins: Sequence[str]) -> Any:
    """The app with the headers by which browsers let pages of other origins read its responses.

    Large responses are compressed for clients that accept it, except for streams, whose events would wait.
    """
    app = GZipMiddleware(app, minimum_size=COMPRESSED_BYTES, compresslevel=4)
    if not origins:
        return app
    pattern = origin_pattern(origins).pattern
    exposed = (
        *("link", "location", "retry-after", "x-should-retry", "x-request-id", "request-id"),
        *("x-pnyx-run", "x-pnyx-warning", "x-run-id", "mcp-session-id"),
    )
    return CORSMiddleware(
        app,
        allow_origin_regex=f"(?i:{pattern})",
        allow_methods=["*"],
        allow_headers=["*"],
        expose_headers=exposed,
    )


# Load balancers and monitors often ask with HEAD.
@SERVER.head(HEALTH, include_in_schema=False)
@SERVER.get(HEALTH, response_model=Health)
async def health(request: Request) -> Response:
    """Whether the server accepts runs. Needs no key."""
    service = service_of(request)
    status, reason = ("draining", "it is stopping") if service.draining else ("ok", None)
    try:
        async with asyncio.timeout(HEALTH_S):
            await service.check()
    except StoreError as exc:
        # Nobody needs a key for this, so where the database is stays in the log.
        reason = "the disk of the database is full" if exc.disk_full else "the database fails"
        status = "unavailable"
    except TimeoutError:
        status, reason = "unavailable", "the database does not answer"
    body = {"status": status, "version": __version__, "runs": service.active, "reason": reason}
    return Exact(body, 200 if status == "ok" else 503)


@SERVER.get("/openapi.json")
async def openapi_document(request: Request) -> Response:
    """This API as an OpenAPI document."""
    return Exact(_document())


async def _file(file: Response, request: Request) -> Response:
    # A new one for each request: compression changes the headers of what it sends.
    response = Response(file.body, file.status_code)
    response.raw_headers = list(file.raw_headers)
    return response


async def _error(request: Request, exc: Exception) -> Response:
    if isinstance(exc, RefusedError):
        return refusal(exc.status, str(exc), type=exc.code, param=exc.param)
    return error_response(exc, service_of(request).redact, f"{request.method} {request.url.path}")


def _fields(request: Request) -> Iterable[str]:
    """The fields of the body of a request's route, to suggest the nearest one for an unknown field."""
    field = getattr(request.scope.get("route"), "body_field", None)
    body = None if field is None else field.field_info.annotation
    return body.model_fields if isinstance(body, type) and issubclass(body, BaseModel) else ()


async def _invalid(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, RequestValidationError)
    errors = exc.errors()
    if not is_of_api(request.url.path):
        return refusal(422, explain(errors, _fields(request)))
    if errors[0]["type"] == "json_invalid":
        return refusal(400, explain(errors))
    if not (param := param_of(errors[0])):
        return refusal(400, "the body must be a JSON object")
    return refusal(400, explain(errors), param=param)


async def _http(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, HTTPException)
    if exc.status_code == 405:
        # The page's files are not in the OpenAPI document; Starlette has set their Allow header.
        route, header = request.scope.get("route"), (exc.headers or {}).get("Allow", "")
        allowed = sorted(_methods(route.path_format) if route else header.split(", "))
        return refusal(405, f"allowed methods: {', '.join(allowed)}", {"Allow": ", ".join(allowed)})
    if isinstance(why := exc.__cause__, ValueError | RecursionError):
        return refusal(exc.status_code, f"the body is {explain_json(why)}")
    missing = f"no such path; {_instead(request)}"
    return refusal(exc.status_code, missing if exc.status_code == 404 else str(exc.detail), exc.headers)


def _instead(request: Request) -> str:
    """Where the path is that a client means whose base URL has `/v1` too often or not at all."""
    path = request.url.path
    for other in (f"/v1{path}", path.removeprefix("/v1")):
        if is_of_api(other) and other != path and not is_of_api(path):
            return f"it is {other} here, so the base URL of the client is to end with one /v1"
    return "GET /openapi.json lists the paths"


def _methods(path: str) -> set[str]:
    """The methods of a path that the OpenAPI document has."""
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    shown = (route for route in routes if route.path_format == path and route.include_in_schema)
    return {method for route in shown for method in route.methods or ()}


@cache
def _document() -> dict[str, Any]:
    """The OpenAPI document. To make it takes a third of a second."""
    schema = get_openapi(title="pnyx", version=__version__, routes=_all_routers().routes)
    schema["components"]["schemas"] = dict(
        sorted((schema["components"]["schemas"] | error_schemas()).items())
    )
    schema["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    schema["security"] = [{"key": []}]
    schema["paths"]["/health"]["get"]["security"] = []
    return schema
