"""Errors in the shape of the API that a request is for, and an id for every request."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from ....core.caching.regex import regex
from ..access import App
from ..request_body import Message, Receive, Send

__all__ = ["Shapes", "error_of", "is_of_api"]

ANTHROPIC = "/v1/messages"
OPENAI = (
    *("/v1/chat/", "/v1/completions", "/v1/responses", "/v1/models", "/v1/embeddings"),
    # What pnyx has not: its clients read that in their own form too.
    *("/v1/audio", "/v1/batches", "/v1/conversations", "/v1/files", "/v1/images", "/v1/moderations"),
)
OF_MODELS = ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings")
"""Paths of which nothing but the model can be missing; besides those of one model."""
_ANTHROPIC = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}
_OPENAI = {402: "insufficient_quota", 429: "rate_limit_error"}
"""HTTP status -> type of error; any other is `invalid_request_error`, or from 500 on the server's."""
_CODES = {401: "invalid_api_key"}
_SLASHES = regex(r"//+")
_ID = regex(r"[\w.-]{1,128}")


Headers = Iterable[tuple[bytes, bytes]]


class Shapes:
    """ASGI middleware around the whole app.

    Every response has an `x-request-id`: the client's own, or a new one; and headers that let browsers run,
    guess and keep nothing of it. Errors of the paths of an API have
    that API's fields; `error.message` is the same everywhere. access: the app behind its access control.
    """

    def __init__(self, access: App, app: App) -> None:
        self.access, self.inner = access, app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.access(scope, receive, send)
            return
        sent = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
        request_id = sent if _ID.fullmatch(sent) else f"req_{secrets.token_hex(12)}"
        scope.setdefault("state", {})["request_id"] = request_id
        path, held = _path(scope["path"]), dict[str, Any]()
        scope = {**scope, "path": path}

        async def shaped(message: Message) -> None:
            if message["type"] == "http.response.start":
                named = ((name, request_id.encode()) for name in _names(path))
                headers = [*guarded(message["headers"]), *named]
                message = {**message, "headers": headers}
                if message["status"] >= 400 and is_of_api(path) and _is_json(message["headers"]):
                    held["start"], held["body"] = message, b""
                    return
            elif held:
                held["body"] += message.get("body", b"")
                if message.get("more_body"):
                    return
                body = json.dumps(error_of(path, held["start"]["status"], held["body"], request_id)).encode()
                start = held.pop("start")
                headers = [(k, v) for k, v in start["headers"] if k.lower() != b"content-length"]
                headers.append((b"content-length", str(len(body)).encode()))
                await send({**start, "headers": headers})
                message = {"type": "http.response.body", "body": body}
            await send(message)

        await self.access(scope, receive, shaped)


def guarded(headers: Headers) -> Headers:
    """The headers with those that tell a browser to run, guess and keep nothing of a response.

    What a route sets itself stays: the page has its own policy, and its assets are cached. A stream of the
    library for MCP only says `no-cache`, with which a browser may store it.
    """
    headers = [
        (name, value.replace(b"no-cache", b"no-store") if name.lower() == b"cache-control" else value)
        for name, value in headers
    ]
    present = {name.lower(): value for name, value in headers}
    document = present.get(b"content-type", b"").startswith(b"text/html")
    guards = {**_GUARDS, b"content-security-policy": _DOCUMENT if document else _DATA}
    return [*headers, *((name, value) for name, value in guards.items() if name not in present)]


_GUARDS = {
    b"x-content-type-options": b"nosniff",
    b"cache-control": b"no-store",
    b"referrer-policy": b"no-referrer",
}
_DATA = b"default-src 'none'; frame-ancestors 'none'"
_DOCUMENT = (
    b"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none';"
    b" frame-ancestors 'none'; sandbox"
)
"""Of an exported run, whose own policy names its one style."""


def error_of(path: str, status: int, body: bytes, request_id: str) -> Mapping[str, Any]:
    """An error of ours, {"error": {type, message}}, in the shape of the API that `path` belongs to."""
    error = json.loads(body)["error"]
    if path.startswith(ANTHROPIC):
        usual = "invalid_request_error" if status < 500 else "api_error"
        shaped = {"type": _ANTHROPIC.get(status, usual), "message": error["message"]}
        return {"type": "error", "error": shaped, "request_id": request_id}
    usual = "invalid_request_error" if status < 500 else "server_error"
    of_model = status == 404 and (path in OF_MODELS or path.startswith("/v1/models/"))
    return {
        "error": {
            "message": error["message"],
            "type": _OPENAI.get(status, usual),
            "param": error.get("param") or ("model" if of_model else None),
            "code": "model_not_found" if of_model else _CODES.get(status, error["type"]),
        }
    }


def _names(path: str) -> tuple[bytes, ...]:
    """The headers for the id of a request: Anthropic's clients read another one."""
    return (b"x-request-id", b"request-id") if path.startswith(ANTHROPIC) else (b"x-request-id",)


def _path(path: str) -> str:
    """The path of an API with single slashes: a base URL that ends with one makes two."""
    single = _SLASHES.sub("/", path)
    return single if is_of_api(single) else path


def is_of_api(path: str) -> bool:
    """Whether a path belongs to the API of OpenAI or Anthropic."""
    return path.startswith((ANTHROPIC, *OPENAI))


def _is_json(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(k.lower() == b"content-type" and b"json" in v for k, v in headers)
