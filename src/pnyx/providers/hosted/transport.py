"""The transport of the hosted providers: one request per call, over aiohttp, with a record of its outcome.

Every SDK sends through one `httpx2.AsyncClient` whose transport is `Transport`. The transport knows what
the SDKs report in different ways: whether a request was sent, whether its reply ended properly, how long
it is. So errors come from the transport, not from four trees of exceptions.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
from yarl import URL

from ...errors import ProviderError
from .http_errors import refusal
from .usage import Meter

__all__ = ["WIRE", "Transport", "Wire"]

ANSWER_BYTES = 500_000
"""Decoded bytes of any reply; `TOKEN_BYTES` more for each requested token."""
TOKEN_BYTES = 32
MAX_BYTES = 10_000_000
FRAME_BYTES = 1_000
"""What a stream may add around each token."""
EVENT_BYTES = 250_000
"""One line of a stream of events; the time that an SDK's parser takes may grow with its square."""
SEARCH_BYTES = 400_000
"""What a search by the host may add to a reply: it includes the results, encrypted."""
PART_BYTES = 4_000
MARKS = 2_000
"""Commas and opening brackets outside strings in one JSON document. A reply has some hundred; the SDKs
block the event loop up to 0.1 ms for each."""
SEARCH_MARKS = 1_000
"""What a search may add to them: every result, and every citation of it."""
CONNECTIONS = 1_000
CONNECT_S = 10.0
IDLE_S = 60.0
READ_S = 600.0
"""Silence that ends a call without a deadline."""
ERROR_BYTES = 64_000


@dataclass(slots=True)
class Wire:
    """The record of one call. failure: set as soon as the call is known to have failed.

    max_answer, max_stream, max_event: bytes over which a document, a stream of events, and one line of it
    are refused. marks: how many a document or a line may have.
    silence_s: the longest wait between two bytes. cut: a stream of events ended inside an event.
    reports: usage as the host reports it.
    """

    max_answer: int
    max_stream: int
    silence_s: float
    max_event: int = EVENT_BYTES
    marks: int = MARKS
    sent: bool = False
    cut: bool = False
    failure: ProviderError | None = None
    reports: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, max_tokens: int, timeout_s: float | None, searches: int = 0) -> Wire:
        answer = min(ANSWER_BYTES + TOKEN_BYTES * max_tokens + SEARCH_BYTES * searches, MAX_BYTES)
        return cls(
            answer,
            answer + FRAME_BYTES * max_tokens,
            READ_S if timeout_s is None else timeout_s,
            EVENT_BYTES + SEARCH_BYTES * bool(searches),
            MARKS + SEARCH_MARKS * searches,
        )

    def fail(self, kind: str, message: str, *, billed: bool) -> httpx2.TransportError:
        self.failure = ProviderError(kind, message, billed=billed)
        return httpx2.TransportError(message)


WIRE: ContextVar[Wire] = ContextVar("WIRE")
"""The record of the call that the current task makes."""


class Transport(httpx2.AsyncBaseTransport):
    """An aiohttp session under httpx2, for one host. It reuses connections and follows no redirect."""

    def __init__(self, base_url: str, meter: Meter) -> None:
        self._meter = meter
        self._https = base_url.startswith("https:")
        self._proxy = _proxy(base_url)
        self._session: aiohttp.ClientSession | None = None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=CONNECTIONS, keepalive_timeout=IDLE_S, ssl=_trust() if self._https else False
            )
            self._session = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), max_field_size=65_536
            )
        return self._session

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        wire = WIRE.get()
        if wire.sent:
            raise httpx2.TransportError("an SDK tried to send a call twice")
        wire.sent = True
        response = await self._send(request, wire)
        content: bytes | None = None
        if response.status >= 300:
            content = await _read_error(response)
            wire.failure = refusal(response.status, response.headers, content.decode("utf-8", "replace"))
        elif response.content_type == "application/json":
            content = b"".join([piece async for piece in _read(response, wire, wire.max_answer)])
            if _is_dense(content, wire.marks):
                raise wire.fail("malformed", "the answer is too intricate", billed=True)
            content = self._meter.extract(content, wire.reports)
        headers = [(k, v) for k, v in response.raw_headers if k.lower() not in _FRAMING]
        if content is not None:
            return httpx2.Response(response.status, headers=headers, content=content, request=request)
        pieces = _read(response, wire, wire.max_stream)
        if response.content_type == "text/event-stream":
            pieces = _events(pieces, wire, self._meter)
        stream = _Stream(response, pieces)
        return httpx2.Response(response.status, headers=headers, stream=stream, request=request)

    async def _send(self, request: httpx2.Request, wire: Wire) -> aiohttp.ClientResponse:
        try:
            return await self._open().request(
                request.method,
                URL(str(request.url), encoded=True),
                headers=[(k.decode("latin-1"), v.decode("latin-1")) for k, v in request.headers.raw],
                data=await request.aread(),
                allow_redirects=False,
                proxy=self._proxy,
                timeout=aiohttp.ClientTimeout(sock_connect=CONNECT_S, sock_read=wire.silence_s),
            )
        except (*_NOT_SENT,) as exc:
            raise wire.fail("unreachable", f"cannot connect: {_describe(exc)}", billed=False) from exc
        except TimeoutError as exc:
            raise wire.fail("timeout", f"no answer within {wire.silence_s:g} s", billed=True) from exc
        except aiohttp.ClientResponseError as exc:
            raise wire.fail("malformed", f"the answer is not HTTP: {exc.message}", billed=True) from exc
        except (aiohttp.ClientError, OSError) as exc:
            raise wire.fail(
                "unreachable", f"the connection broke before an answer: {exc}", billed=True
            ) from exc
        except ValueError as exc:
            # Raised before anything is sent, for what cannot be; never raised for a reply.
            raise wire.fail("refused", f"the request cannot be made: {exc}", billed=False) from exc

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()


def _describe(exc: Exception) -> str:
    """The error without the address, which may contain a proxy's password."""
    match exc:
        case aiohttp.ClientHttpProxyError():
            return f"the proxy answers HTTP {exc.status}: {exc.message}"
        case aiohttp.InvalidURL():
            return "the address of the host, or of its proxy, is not a URL"
    return str(exc)


_FRAMING = (b"content-encoding", b"content-length", b"transfer-encoding")
_NOT_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.InvalidURL,
)


class _Stream(httpx2.AsyncByteStream):
    """A body that is passed on as it arrives; closing it early drops the connection."""

    def __init__(self, response: aiohttp.ClientResponse, pieces: AsyncGenerator[bytes]) -> None:
        self._response = response
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        self._response.close()
        await self._pieces.aclose()


async def _read(response: aiohttp.ClientResponse, wire: Wire, most: int) -> AsyncGenerator[bytes]:
    """The decoded body as it arrives. aiohttp inflates in bounded steps, so a zip bomb is stopped early."""
    size = 0
    try:
        while piece := await response.content.readany():
            size += len(piece)
            if size > most:
                raise wire.fail("malformed", f"the answer is over {most} bytes", billed=True)
            yield piece
    except TimeoutError as exc:
        raise wire.fail("timeout", f"nothing came for {wire.silence_s:g} s", billed=True) from exc
    except (aiohttp.ClientError, OSError) as exc:
        raise wire.fail("truncated", f"the answer broke off: {exc}", billed=True) from exc
    finally:
        response.close()


async def _events(pieces: AsyncGenerator[bytes], wire: Wire, meter: Meter) -> AsyncGenerator[bytes]:
    """Whole lines of events, with their usage reports set aside."""
    head: bytes | None = None
    line = bytearray()
    last = b""
    async with aclosing(pieces):
        async for piece in pieces:
            head = piece[:6] if head is None else head
            end = piece.rfind(b"\n") + 1
            if end:
                last = (last + piece[:end])[-8:]
                block = bytes(line) + piece[:end]
                line.clear()
                if len(block) > wire.marks and any(
                    len(e) > wire.max_event or _is_dense(e, wire.marks) for e in block.split(b"\n")
                ):
                    raise wire.fail("malformed", "an event is too large or too intricate", billed=True)
                for number, part in enumerate(_parts(meter.extract_events(block, wire.reports))):
                    if number:
                        # A burst does not wait for the network, so nothing else would run before its end.
                        await asyncio.sleep(0)
                    yield part
            line += piece[end:]
            if len(line) > wire.max_event:
                raise wire.fail("malformed", "an event is too large", billed=True)
    ended = not line and last.replace(b"\r", b"").endswith((b"\n\n", b"[DONE]\n"))
    wire.cut = _is_event(head or b"") and not ended
    yield bytes(line)


def _parts(block: bytes) -> Iterator[bytes]:
    """`block` in parts of about `PART_BYTES` that end where lines end."""
    start = 0
    while start < len(block):
        end = block.rfind(b"\n", start, start + PART_BYTES) + 1 or block.find(b"\n", start) + 1
        yield block[start:end]
        start = end


def _is_event(head: bytes) -> bool:
    """Whether a body that starts with `head`, perhaps cut after it, can be a stream of events."""
    return any(head[: len(field)] == field[: len(head)] for field in (b"data:", b"event:", b"id:", b":"))


def _is_dense(document: bytes, marks: int) -> bool:
    """Whether there are more than `marks` commas and opening brackets, or strings, in JSON."""
    if len(document) <= marks:
        return False
    bare = document.replace(rb"\\", b"").replace(rb"\"", b"")
    if bare.count(b'"') > marks:
        return True
    outside = b"".join(bare.split(b'"')[::2])
    return sum(map(outside.count, (b",", b"[", b"{"))) > marks


async def _read_error(response: aiohttp.ClientResponse) -> bytes:
    body = b""
    try:
        while len(body) < ERROR_BYTES and (piece := await response.content.readany()):
            body += piece
    except (aiohttp.ClientError, OSError, TimeoutError):
        pass  # the status is enough; the body only explains it
    finally:
        response.close()
    return body[:ERROR_BYTES]


@cache
def _trust() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


def _proxy(base_url: str) -> str | None:
    """The proxy that the environment names for this host; the loopback never has one."""
    url = urlsplit(base_url)
    host = url.hostname or ""
    if host == "localhost" or _is_loopback(host) or proxy_bypass(host):
        return None
    proxies = getproxies()
    return proxies.get(url.scheme) or proxies.get("all")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
