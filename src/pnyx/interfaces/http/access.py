"""Access control before routing: a request needs a known host, no foreign origin, a key and JSON.

Default deny: only the listed public paths are served without a key.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from functools import partial
from ipaddress import ip_address
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from ...config.tables.server import KeyLimits, ServeSettings
from ...core.caching.regex import regex
from ...errors import LinkEnded, OverLimit, PnyxError, StoreError
from ..access.shares import Share
from .encodings import ENCODINGS, Decoder
from .errors import Exact, error_response, refusal
from .key_log import WrongKeys
from .paced_send import PacedSend
from .request_body import CLOSE, Body, Message, Receive, Send, too_large
from .usage import KeyUsage, LocalRate, RequestRate, unread

__all__ = ["HEALTH", "Access", "App", "Owner", "origin_pattern"]

App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]
Owner: TypeAlias = Callable[[str], Awaitable[str | None]]
"""Key -> its owner, or None for an unknown key."""
OpenShare: TypeAlias = Callable[[str], Awaitable[Share | None]]
"""Token of a link -> what it opens, or None for an unknown one. Raises `LinkEnded`."""

HEALTH = "/health"
"""The path that is answered even if there are too many connections."""
LOOPBACK = frozenset(("localhost", "127.0.0.1", "[::1]"))
_HOST = regex(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_ADDRESS = regex(r"(\[[0-9a-f:.]+\]|[0-9]{1,3}(\.[0-9]{1,3}){3})(:[0-9]{1,5})?")
_ORDINARY = regex(r"[\w.:/\[\]-]{1,200}")
_BEARER = regex(r"bearer +(?P<key>[!-~]{1,400})", re.IGNORECASE)


class Access:
    """ASGI middleware that checks every request, and sets the owner of its key in `scope["state"]["owner"]`.

    public: the exact paths that need no key. limits: returns the limits of an owner. most_open: requests of
    one owner that may be under way at once. shared: the exact paths that need the token of a link instead,
    whose `Share` is set in `scope["state"]["share"]`; they have no owner, and no other path accepts a token.
    local: the exact paths that need no key either if a program of this machine sends the request.
    rate: counts the requests of keys with such a limit.
    """

    def __init__(
        self,
        app: App,
        settings: ServeSettings,
        owner: Owner,
        public: Set[str],
        limits: Callable[[str], KeyLimits],
        most_open: int,
        shared: Set[str] = frozenset(),
        share: OpenShare | None = None,
        local: Set[str] = frozenset(),
        rate: RequestRate | None = None,
    ) -> None:
        self.inner, self._settings, self._owner, self._public = app, settings, owner, public
        self._limits, self._usage, self._wrong_keys = limits, KeyUsage(most_open), WrongKeys()
        self._rate = rate or LocalRate()
        self._shared, self._share, self._local = shared, share, local
        self._origins = origin_pattern(settings.origins)
        self._most = int(settings.body_mb * 1_000_000)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            # Websockets are not served; closing one before it is accepted is a 403.
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            refused = await self._refusal(scope)
        except PnyxError as exc:  # the database of keys
            refused = error_response(exc, str, "key")
        if refused is not None:
            await refused(scope, receive, send)
            return
        owner = scope.get("state", {}).get("owner")
        if owner is None:
            await self._serve(scope, receive, send)
            return
        try:
            self._usage.begin(owner)
        except OverLimit as exc:
            await error_response(exc, str, "limits")(scope, receive, send)
            return
        paced = PacedSend(send, self._usage, owner)
        try:
            if (over := await self._refused_by_rate(owner)) is not None:
                await error_response(over, str, "limits")(scope, receive, send)
                return
            await self._serve(scope, receive, paced.send)
        finally:
            self._usage.end(owner)
            paced.end()
        if paced.refused:
            await error_response(unread(), str, "limits")(scope, receive, send)

    async def _refused_by_rate(self, owner: str) -> PnyxError | None:
        """Count a request, and return why it is refused, or None."""
        try:
            if (per_minute := self._limits(owner).requests_per_minute) is not None:
                await self._rate.count(owner, per_minute)
        except (OverLimit, StoreError) as exc:
            return exc
        return None

    async def _serve(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request that is allowed."""
        body = Body(scope, receive, send, partial(self._ended, scope), self._most, self._settings.body_s)
        if (encoding := _encoding(_Headers(scope))) is not None:
            body.decoder = Decoder(encoding, self._most)
            headers = [one for one in scope["headers"] if one[0].lower() not in _OF_ENCODED]
            scope = {**scope, "headers": headers}
        await self.inner(scope, body.receive, body.send)
        if body.refused is not None:
            await body.refused(scope, receive, send)

    async def _refusal(self, scope: Message) -> Any:
        """Return the response that refuses a request, or None."""
        if scope.get("state", {}).get("spare") and scope["path"] != HEALTH:
            return refusal(503, "the server has as many connections as it can; try again later")
        headers = _Headers(scope)
        host = headers.one("host")
        if not (_is_check(scope, headers) or (host and self._known_host(host.lower(), scope))):
            return refusal(421, f"unknown host name; if it is this server's, {_setting('hosts', host)}")
        origin = headers.one("origin")
        if headers.many("origin") and not self._same_site(origin, scope):
            return refusal(
                403,
                "requests from pages of other origins are refused; if you trust this one, "
                + _setting("origins", origin),
            )
        if scope["path"] in self._shared:
            share = await self._known_share(headers)
            if share is None:
                return _unauthorized("this link is not known here; check that its address is complete")
            scope.setdefault("state", {})["share"] = share
        elif not (
            scope["path"] in self._public or (scope["path"] in self._local and _is_local(scope, headers))
        ):
            owner = await self._known_owner(headers)
            if owner is None:
                return await self._no_owner(scope, headers)
            scope.setdefault("state", {})["owner"] = owner
        return _body_refusal(headers, self._most)

    async def _no_owner(self, scope: Message, headers: _Headers) -> Any:
        """Return the response to a request without a valid key; that to one of many wrong keys comes late."""
        problem = "a key is required: Authorization: Bearer KEY"
        if headers.many("authorization") or headers.many("x-api-key"):
            scope.setdefault("state", {})["wrong_key"] = True
            delay_s = self._wrong_keys.count((scope.get("client") or ("",))[0])
            if delay_s is None:
                return refusal(429, "too many wrong keys from this address; try again later", CLOSE)
            if delay_s:
                await self._wrong_keys.wait(delay_s)
            # Which of the three it is, only the operator may read.
            problem = "this key is not valid here: it is mistyped, expired or revoked, or of another server"
        return _unauthorized(problem)

    async def _ended(self, scope: Message) -> Exact | None:
        """Return the refusal of a request whose key or link has ended since it was accepted, or None."""
        state: Mapping[str, Any] = scope.get("state", {})
        try:
            if "share" in state:
                still = await self._known_share(_Headers(scope)) == state["share"]
            elif "owner" in state:
                still = await self._known_owner(_Headers(scope)) == state["owner"]
            else:  # it needed neither
                still = True
        except LinkEnded as exc:
            return error_response(exc, str, "link")
        except PnyxError:  # a database that fails revokes nothing
            return None
        return None if still else _unauthorized("this key was revoked or has expired; use a valid one")

    async def _known_share(self, headers: _Headers) -> Share | None:
        """What the token in `Authorization` opens. Raises `LinkEnded`."""
        match = _BEARER.fullmatch(headers.one("authorization") or "")
        return await self._share(match["key"]) if match and self._share else None

    async def _known_owner(self, headers: _Headers) -> str | None:
        """The owner of the key in `Authorization`, or in Anthropic's `x-api-key`."""
        match = _BEARER.fullmatch(headers.one("authorization") or "")
        key = match["key"] if match else headers.one("x-api-key")
        return await self._owner(key) if key and len(key) <= 400 else None

    def _known_host(self, host: str, scope: Message) -> bool:
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        if host in map(str.lower, self._settings.hosts):
            return True
        if match["name"] in LOOPBACK:
            # Another port of this machine is another server, with pages of its own.
            return int(match["port"] or 80) == (scope.get("server") or (None, None))[1]
        return match["name"] in map(str.lower, self._settings.hosts)

    def _same_site(self, origin: str | None, scope: Message) -> bool:
        if origin and self._origins.fullmatch(origin):
            return True
        try:
            url = urlsplit(origin or "")
        except ValueError:
            return False
        return url.scheme in ("http", "https") and self._known_host(url.netloc.lower(), scope)


def _is_check(scope: Message, headers: _Headers) -> bool:
    """Whether it is a check of the server that names no host, or an address, as load balancers do.

    A page of another site cannot send it: its browser names the site, whatever its address is.
    """
    hosts = headers.many("host")
    return scope["path"] == HEALTH and (len(hosts) < 2 and all(map(_ADDRESS.fullmatch, hosts)))


def _is_local(scope: Message, headers: _Headers) -> bool:
    """Whether a program of this machine sent the request itself: it comes from no page and no proxy."""
    client = (scope.get("client") or ("",))[0]
    try:
        loopback = ip_address(client).is_loopback
    except ValueError:
        return False
    return loopback and not any(map(headers.many, ("origin", "forwarded", "x-forwarded-for", "via")))


def origin_pattern(origins: Sequence[str]) -> re.Pattern[str]:
    """A pattern of the allowed origins; their `*` matches any characters but `/`."""
    forms = [re.escape(origin).replace(r"\*", "[^/]*") for origin in origins]
    return re.compile("|".join(forms) or r"(?!)", re.IGNORECASE)


def _setting(name: str, value: str | None) -> str:
    """How to allow a value of a header, which is quoted only if it is an ordinary one."""
    shown = value if value and _ORDINARY.fullmatch(value) else "NAME"
    return f'add it to {name} in [serve] of the settings: {name} = ["{shown}"]'


class _Headers:
    def __init__(self, scope: Message) -> None:
        self._headers = scope["headers"]

    def many(self, name: str) -> list[str]:
        encoded = name.encode()
        return [value.decode("latin-1") for key, value in self._headers if key.lower() == encoded]

    def one(self, name: str) -> str | None:
        """The value of a header; None if it is missing or repeated."""
        found = self.many(name)
        return found[0] if len(found) == 1 else None


def _body_refusal(headers: _Headers, most: int) -> Any:
    """Return the response that refuses a body of more than `most` bytes by its headers, or None."""
    lengths = headers.many("content-length")
    if any(not length.isdecimal() for length in lengths) or len(set(lengths)) > 1:
        return refusal(400, "Content-Length is not a number")
    if lengths and headers.many("transfer-encoding"):
        # A proxy may go by the other one, and take the end of this request for the next.
        return refusal(400, "a request has Content-Length or Transfer-Encoding, not both", CLOSE)
    length = int(lengths[0][:20]) if lengths else 0
    if length > most:
        return too_large(most)
    if length or headers.many("transfer-encoding"):
        kind = (headers.one("content-type") or "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return refusal(415, "a body must be JSON: Content-Type: application/json")
        if (encoding := _encoding(headers)) is not None and encoding not in ENCODINGS:
            return refusal(
                415, f"a body can be sent as it is, or as {_CODINGS}", {"Accept-Encoding": _CODINGS}
            )
    return None


_CODINGS = ", ".join(ENCODINGS)
_OF_ENCODED = (b"content-encoding", b"content-length")
"""Headers that say nothing of a body once it is decoded."""


def _encoding(headers: _Headers) -> str | None:
    """The encoding of the body, None if it is sent as it is."""
    named = ",".join(headers.many("content-encoding")).strip().lower()
    return None if named in ("", "identity") else named


def _unauthorized(message: str) -> Exact:
    return refusal(401, message, {"WWW-Authenticate": 'Bearer realm="pnyx"'})
