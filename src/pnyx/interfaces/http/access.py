"""What a request must bring before any route is looked at: a known host, no foreign page, a key, JSON.

All is refused that is not allowed: of the paths, only those it is given are served without a key.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping, Set
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from ...config.schema import ServeSettings
from ...core.regex import regex
from ...errors import PnyxError
from .errors import error_response, refusal

__all__ = ["MOST_BYTES", "Access", "Message", "Owner", "Receive", "Send", "TooLongError"]

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]
Owner: TypeAlias = Callable[[str], Awaitable[str | None]]
"""A key -> whose it is; None for one that opens nothing."""

LOOPBACK = frozenset(("localhost", "127.0.0.1", "[::1]"))
MOST_BYTES = 4 << 20
"""Of a request's body."""
_HOST = regex(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_BEARER = regex(r"bearer +(?P<key>[!-~]{1,400})", re.IGNORECASE)


class TooLongError(ValueError):
    """Met by whoever reads a body that is; `Access` answers it."""


class Access:
    """ASGI around an app, which finds the owner of the key in `scope["state"]["owner"]`.

    public: the paths, as exact texts, that need no key.
    """

    def __init__(self, app: App, settings: ServeSettings, owner: Owner, public: Set[str]) -> None:
        self.inner, self._settings, self._owner, self._public = app, settings, owner, public

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # There are no websockets here; closing one before it is accepted is a 403.
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            refused = await self._refused(scope)
        except PnyxError as exc:  # the database of keys
            refused = error_response(exc, str, "key")
        if refused is not None:
            await refused(scope, receive, send)
            return
        body = _Body(receive, send, partial(self._still, scope))
        await self.inner(scope, body.receive, body.send)
        if body.excessive:
            await _too_large()(scope, receive, send)

    async def _refused(self, scope: Message) -> Any:
        headers = _Headers(scope)
        host = headers.one("host")
        if host is None or not self._known(host.lower(), scope):
            return refusal(421, "this server goes by another name; [serve] hosts adds names")
        origin = headers.one("origin")
        if headers.many("origin") and not self._own_page(origin, scope):
            return refusal(403, "a page from elsewhere may not ask this server")
        if scope["path"] not in self._public:
            owner = await self._known_owner(headers.one("authorization"))
            if owner is None:
                return refusal(
                    401,
                    "a key is needed: Authorization: Bearer KEY",
                    {"WWW-Authenticate": 'Bearer realm="pnyx"'},
                )
            scope.setdefault("state", {})["owner"] = owner
        return _wrong_body(headers)

    async def _still(self, scope: Message) -> bool:
        """Whether the key that the request came with still opens what it did."""
        try:
            owner = await self._known_owner(_Headers(scope).one("authorization"))
        except PnyxError:  # a database that is away revokes nothing
            return True
        return scope["path"] in self._public or owner == scope["state"]["owner"]

    async def _known_owner(self, given: str | None) -> str | None:
        match = _BEARER.fullmatch(given or "")
        return await self._owner(match["key"]) if match else None

    def _known(self, host: str, scope: Message) -> bool:
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        if match["name"] in LOOPBACK:
            # Another port of this machine is another server, whose pages are not ours.
            return int(match["port"] or 80) == (scope.get("server") or (None, None))[1]
        return match["name"] in map(str.lower, self._settings.hosts)

    def _own_page(self, origin: str | None, scope: Message) -> bool:
        try:
            url = urlsplit(origin or "")
        except ValueError:
            return False
        return url.scheme in ("http", "https") and self._known(url.netloc.lower(), scope)


class _Headers:
    def __init__(self, scope: Message) -> None:
        self._headers = scope["headers"]

    def many(self, name: str) -> list[str]:
        wanted = name.encode()
        return [value.decode("latin-1") for key, value in self._headers if key.lower() == wanted]

    def one(self, name: str) -> str | None:
        """The header's value; None where it is missing, and where it comes twice."""
        found = self.many(name)
        return found[0] if len(found) == 1 else None


def _wrong_body(headers: _Headers) -> Any:
    lengths = headers.many("content-length")
    if any(not length.isdecimal() for length in lengths) or len(set(lengths)) > 1:
        return refusal(400, "Content-Length is no number")
    length = int(lengths[0][:20]) if lengths else 0
    if length > MOST_BYTES:
        return _too_large()
    if length or headers.many("transfer-encoding"):
        kind = (headers.one("content-type") or "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return refusal(415, "a body must be JSON: Content-Type: application/json")
    return None


def _too_large() -> Any:
    return refusal(413, f"the body is longer than {MOST_BYTES >> 20} MiB")


class _Body:
    """The messages of a body as they come, until they are too many bytes; then nothing of it is answered.

    still: whether an answer may go on. Where it may not, it ends, and its client counts as gone.
    """

    def __init__(self, receive: Receive, send: Send, still: Callable[[], Awaitable[bool]]) -> None:
        self.excessive = False
        self._receive, self._send, self._still = receive, send, still
        self._bytes = 0
        self._over = False

    async def receive(self) -> Message:
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        if self._bytes > MOST_BYTES:
            self.excessive = True
            raise TooLongError("the body is too long")
        return message

    async def send(self, message: Message) -> None:
        if self.excessive or self._over:
            return
        if message.get("more_body") and not await self._still():
            self._over, message = True, {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)
