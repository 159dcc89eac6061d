"""The error response of every route: {"error": {"type": "not_found", "message": "what to do"}}."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel
from starlette.responses import JSONResponse

from ...errors import OverLimit, PnyxError
from ..requests.bugs import log_bug, public_message
from ..requests.option_names import with_requests

__all__ = ["Error", "Exact", "error_response", "error_schemas", "refusal"]

RETRY_S = "5"
"""Seconds after which a client may try again when the server is busy."""
LOG = logging.getLogger("pnyx.http")

_TYPES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    421: "misdirected_request",
    422: "invalid_request",
    503: "unavailable",
}


class Problem(BaseModel):
    """type: a code for programs. message: what happened and what to do, for people."""

    type: str
    message: str
    param: str | None = None
    """The field of the request that is wrong, if an API has such a field in its errors."""


class Error(BaseModel):
    """The body of every error response."""

    error: Problem


def error_schemas() -> dict[str, Any]:
    """Return the JSON schemas of `Error` and its parts by name, for the components of an OpenAPI document."""
    template = "#/components/schemas/{model}"
    schema = Error.model_json_schema(ref_template=template, mode="serialization")
    return {**schema.pop("$defs"), Error.__name__: schema}


class Exact(JSONResponse):
    """JSON in ASCII, which preserves lone surrogates."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False).encode()


def refusal(
    status: int,
    message: str,
    headers: Mapping[str, str] | None = None,
    type: str = "",
    param: str = "",
) -> Exact:
    """Return an error response. type: default is the one for the status. param: the field that is wrong."""
    name = type or _TYPES.get(status, "internal_error" if status >= 500 else "refused")
    error = {"type": name, "message": message} | ({"param": param} if param else {})
    wait = {"Retry-After": RETRY_S} if status in (429, 503) else {}
    return Exact({"error": error}, status, {**wait, **(headers or {})})


def error_response(exc: Exception, redact: Callable[[str], str], where: str) -> Exact:
    """Return the response for an exception, without secrets. where: what failed, for the log.

    The type of a `PnyxError` is its class name in snake case. Any other exception is logged as a bug: 500.
    """
    if isinstance(exc, PnyxError):
        message = with_requests(public_message(LOG, where, exc, redact))
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(exc).__name__).lower()
        wait = {"Retry-After": str(exc.retry_after_s)} if isinstance(exc, OverLimit) else {}
        return refusal(exc.http_status, message, wait, type=name)
    log_bug(LOG, where, exc, redact)
    return refusal(500, f"this is a bug in pnyx: {type(exc).__name__}")
