"""One request per call over aiohttp, with bounds on what a host may send.

Whether a request was sent, whether its reply ended properly and how long it is decide what a failure is and
whether it may have cost.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from ...errors import ProviderError
from ...json_bytes import json_bytes
from ..unsent import before_sending
from .behind_replies import LenientHandler
from .compression import Decompressor
from .documents import Documents
from .failures import HostError, failure, read_report, retry_after
from .proxies import Proxy
from .trouble import (
    NO_TLS,
    TWO_LENGTHS,
    NoTunnel,
    another_language,
    broken,
    is_of_two_lengths,
    no_http,
    trouble,
    unreadable_certificates,
)

__all__ = ["Connection", "HostRequest", "Limits"]

ANSWER_BYTES = 500_000
"""Decoded bytes of any reply; `TOKEN_BYTES` more for each requested token."""
TOKEN_BYTES = 32
MAX_BYTES = 10_000_000
FRAME_BYTES = 1_000
"""What a stream may add around each token."""
SEARCH_BYTES = 400_000
"""What a search by the host may add to a reply: it includes the results, encrypted."""
PART_BYTES = 4_000
MAX_HEADERS = 1_000
"""Gateways add those of the host behind them to their own, and each may come twice."""
CONNECTIONS = 1_000
CONNECT_S = 10.0
"""How long a connection may take, with its TLS handshake."""
AGAIN_S = 4.0
"""The same after a connection that took longer: several seats and their retries may wait for this host."""
PROBE_S = 2.0
"""How long a port may take to show that it speaks TLS, with the connection."""
HANDSHAKE_S, ROUND_TRIPS = 0.5, 10
"""The same without the connection: seconds, and times that the connection took."""
IDLE_S = 60.0
READ_S = 600.0
"""Silence that ends a call without a deadline."""
ERROR_BYTES = 64_000


@dataclass(frozen=True, slots=True)
class Limits:
    """max_bytes: decoded, over which a body is refused. silence_s: the longest wait between two bytes.

    frame_bytes: more of them, in a body that is a stream of events.
    """

    max_bytes: int = MAX_BYTES
    silence_s: float = READ_S
    frame_bytes: int = 0

    @classmethod
    def of(cls, max_tokens: int, timeout_s: float | None, searches: int) -> Limits:
        """The limits of a call for `max_tokens` with `searches` of the host."""
        answer = min(ANSWER_BYTES + TOKEN_BYTES * max_tokens + SEARCH_BYTES * searches, MAX_BYTES)
        return cls(answer, READ_S if timeout_s is None else timeout_s, FRAME_BYTES * max_tokens)


@dataclass(slots=True)
class HostRequest:
    """One HTTP request. body: the JSON document that is posted."""

    url: str
    headers: list[tuple[str, str]] = field(repr=False)
    body: dict[str, Any] = field(repr=False)


class Connection:
    """An aiohttp session for one host. It reuses connections and follows no redirect."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self._https = base_url.startswith("https:")
        self._proxy = Proxy.of(base_url)
        self._session: aiohttp.ClientSession | None = None
        self._silent = False
        self._may_be_tls = not self._https
        """Whether the port of an http address may speak TLS: it has answered nothing yet."""

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = _Connector(
                limit=CONNECTIONS, keepalive_timeout=IDLE_S, ssl=_trust() if self._https else False
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                max_field_size=65_536,
                max_headers=MAX_HEADERS,
                auto_decompress=False,  # hosts announce what they do not send
            )
        return self._session

    @asynccontextmanager
    async def request(
        self,
        method: str,
        url: str,
        headers: list[tuple[str, str]],
        limits: Limits,
        body: dict[str, Any] | None = None,
    ) -> AsyncIterator[Response]:
        """Send a request, with `body` as JSON; the response, whose status is below 300 and that of a reply.

        Raises `ProviderError`. Leaving the block early drops the connection.
        """
        response = await self._send(method, url, headers, limits, body)
        try:
            if response.status >= 300:
                text = (await _read_error(response)).decode("utf-8", "replace")
                error = failure(read_report(response.status, text), response.headers, text)
                if self._may_be_of_proxy(response.status, text):
                    error.args = (f"{error}: it may come from the proxy: {self._proxy.advice}",)
                raise error
            if response.status in WITHOUT_REPLY:
                words = f"HTTP {response.status}: no reply: {response.reason or 'no words'}"
                raise ProviderError("overloaded", words)
            yield Response(response, limits)
        except HostError as exc:
            # A reply of status 200 that reports an error may have the headers of one.
            if exc.retry_after is None and exc.kind in ("rate_limited", "overloaded"):
                exc.retry_after = retry_after(response.headers)
            raise
        finally:
            response.close()

    async def _send(
        self,
        method: str,
        url: str,
        headers: list[tuple[str, str]],
        limits: Limits,
        body: dict[str, Any] | None,
    ) -> aiohttp.ClientResponse:
        self._proxy.check()
        try:
            return await self._begin(method, url, headers, limits, body)
        except (*_NOT_SENT,) as exc:
            raise trouble(exc, urlsplit(url).hostname, self._proxy) from exc
        except TimeoutError as exc:
            raise ProviderError("timeout", f"no answer within {limits.silence_s:g} s", billed=True) from exc
        except aiohttp.ClientResponseError as exc:
            if TLS_ALERT in exc.message:
                raise ProviderError("refused", f"cannot connect: {NO_TLS}") from exc
            if other := another_language(exc.message):
                raise ProviderError("refused", f"cannot connect: {other}") from exc
            if is_of_two_lengths(exc.message):
                # The next answer would be no better, and may cost too.
                raise ProviderError("refused", TWO_LENGTHS, billed=True) from exc
            raise ProviderError("malformed", no_http(exc.message), billed=True) from exc
        except (aiohttp.ClientError, OSError) as exc:
            if self._may_be_tls and self._proxy.url is None:
                if await _speaks_tls(url):
                    raise ProviderError("refused", f"cannot connect: {NO_TLS}") from exc
                self._may_be_tls = False
            raise broken(exc) from exc
        except ValueError as exc:
            # Raised before anything is sent, for what cannot be; never raised for a reply.
            raise ProviderError(
                "refused", f"the request cannot be made: {exc}: check base_url and the key"
            ) from exc

    def _may_be_of_proxy(self, status: int, text: str) -> bool:
        """Whether an error may be that of a proxy, which without TLS can answer in the place of the host."""
        is_possible = self._proxy.url is not None and not self._https and status != PROXY_LOGIN
        return is_possible and text.lstrip()[:1] not in ("{", "[")

    async def _begin(
        self,
        method: str,
        url: str,
        headers: list[tuple[str, str]],
        limits: Limits,
        body: dict[str, Any] | None,
    ) -> aiohttp.ClientResponse:
        """Send a request. How long its connection may take depends on how the last one ended."""
        connect_s = min(AGAIN_S, CONNECT_S) if self._silent else CONNECT_S
        try:
            response = await self._open().request(
                method,
                URL(url, encoded=True),
                headers=[*headers, ("Accept-Encoding", "gzip, deflate")],
                data=None if body is None else json_bytes(body),
                allow_redirects=False,
                proxy=self._proxy.url,
                timeout=aiohttp.ClientTimeout(
                    sock_connect=connect_s,
                    # A proxy has to open a tunnel too.
                    connect=connect_s if self._proxy.url else None,
                    sock_read=limits.silence_s,
                ),
            )
        except aiohttp.ConnectionTimeoutError:
            self._silent = True
            raise
        except (aiohttp.ClientError, OSError):
            self._silent = False
            raise
        self._silent = self._may_be_tls = False
        return response

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


class Response:
    """The response to a request, while it arrives.

    size: bytes of its body. streamed: whether it is a stream of events. unread: an event that is no document.
    start: how the body starts. All are known after the documents.
    """

    def __init__(self, response: aiohttp.ClientResponse, limits: Limits) -> None:
        self._response, self._limits = response, limits
        self.streamed, self.unread, self.start, self.size = False, "", "", 0

    async def documents(self) -> AsyncIterator[Any]:
        """Yield the JSON documents of the body as they arrive. Raises `ProviderError`."""
        documents, broken = Documents(charset=self._response.charset or ""), None
        try:
            async for piece in self._pieces():
                for number, part in enumerate(_parts(piece)):
                    if number:
                        # A burst does not wait for the network, so nothing else would run before its end.
                        await asyncio.sleep(0)
                    for document in documents.feed(part):
                        yield document
                    # Whether it was asked for or not.
                    self.streamed = documents.is_stream
        except ProviderError as exc:
            broken = exc
        self.start = documents.start
        try:
            for document in documents.end():
                yield document
        except ProviderError as exc:
            raise broken or exc from None
        self.unread = documents.words
        if broken is not None:
            raise broken

    async def _pieces(self) -> AsyncIterator[bytes]:
        """Yield the decompressed body, whose size is checked while it arrives."""
        body = Decompressor(self._response.headers.get("Content-Encoding", ""))
        try:
            while piece := await self._response.content.readany():
                for part in body.feed(piece):
                    yield self._counted(part)
            for part in body.end():
                yield self._counted(part)
        except TimeoutError as exc:
            message = f"nothing came for {self._limits.silence_s:g} s"
            raise ProviderError("timeout", message, billed=True) from exc
        except (aiohttp.ClientError, OSError) as exc:
            # aiohttp quotes a status of its own, which the host has not sent.
            is_cut = "Not enough data" in str(exc)
            words = f"the connection was closed after {self.size} bytes" if is_cut else str(exc)
            raise ProviderError("truncated", f"the answer broke off: {words}", billed=True) from exc

    def _counted(self, part: bytes) -> bytes:
        self.size += len(part)
        if self.size > (most := self._limits.max_bytes + self._limits.frame_bytes * self.streamed):
            raise ProviderError("malformed", f"the answer is over {most} bytes", billed=True)
        return part


WITHOUT_REPLY = (202, 204, 205)
"""Statuses below 300 that say that there is no reply, or not yet."""
PROXY_LOGIN = 407
"""The status whose message is about the proxy anyway."""
TLS_ALERT = r"\x15\x03"
"""How an answer of TLS to a request without it starts, as aiohttp quotes it."""
_NOT_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.InvalidURL,
    aiohttp.NonHttpUrlClientError,
    NoTunnel,
)


class _Connector(aiohttp.TCPConnector):
    """It tells what happens before a request is sent, which costs nothing, from what a host may bill.

    Before it: a proxy opens no tunnel, or the deadline passes during a handshake.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._factory = partial(LenientHandler, loop=self._loop)  # type: ignore[assignment]

    async def connect(self, *args: Any, **options: Any) -> aiohttp.connector.Connection:
        try:
            with before_sending():
                return await super().connect(*args, **options)
        except (*_NOT_SENT,):
            raise
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, aiohttp.ClientResponseError) as exc:
            raise NoTunnel(exc) from exc


async def _speaks_tls(url: str) -> bool:
    """Whether the port of an http address accepts TLS, and so has read no request.

    Servers with OpenSSL close such a connection without a word, as one does that breaks down while it works.
    """
    at, context = urlsplit(url), ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(PROBE_S):
            start = time.monotonic()
            _, writer = await asyncio.open_connection(at.hostname, at.port or 80)
            try:
                # A port that speaks no TLS may ignore the greeting, and the next attempt waits for this one.
                async with asyncio.timeout(HANDSHAKE_S + ROUND_TRIPS * (time.monotonic() - start)):
                    await writer.start_tls(context)
            finally:
                writer.close()
    except ssl.SSLError as exc:
        return "ALERT" in str(exc.reason)  # such as one that asks for a certificate
    except (OSError, TimeoutError):
        return False
    return True


def _parts(block: bytes) -> Iterator[bytes]:
    """`block` in parts of `PART_BYTES`."""
    for start in range(0, len(block), PART_BYTES):
        yield block[start : start + PART_BYTES]


async def _read_error(response: aiohttp.ClientResponse) -> bytes:
    body, raw = bytearray(), Decompressor(response.headers.get("Content-Encoding", ""))
    try:
        while len(body) < ERROR_BYTES and (piece := await response.content.readany()):
            for part in raw.feed(piece):
                body += part[: ERROR_BYTES - len(body)]
        body += b"".join(raw.end())
    except (aiohttp.ClientError, OSError, TimeoutError, ProviderError):
        pass  # the status is enough; the body only explains it
    return bytes(body[:ERROR_BYTES])


@cache
def _trust() -> ssl.SSLContext:
    # Loopback hosts do without certificates, and most start-ups without a second HTTP client.
    import httpx2

    try:
        return httpx2.create_ssl_context()
    except OSError as exc:  # an `ssl.SSLError` too
        raise ProviderError("refused", f"cannot connect: {unreadable_certificates(exc)}") from exc
