"""`read_page`: the text of a page on the public web.

A name is resolved once for each request, all its addresses are checked, and the connection goes to
one of those and to no other; a redirect is a new request. Pages are taken apart in a process of its
own (`inside.py`), since a hostile one can keep a parser busy for minutes.
"""

from __future__ import annotations

import asyncio
import socket
import zlib
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from ..core.tool_calls import ToolSpec
from . import ToolError
from .addresses import Lookup, admitted, lookup, plain_url
from .arguments import text
from .confined import confined, inside

__all__ = ["ReadPage"]

ARRIVE_S = 20.0
"""For the page to arrive, redirects included."""
EXTRACT_S = 5.0
"""For telling the text of a page from the rest of it; after that all of it is taken."""
STOP_S = 12.0
BYTES = 5 << 20
"""Of a page that are read, unpacked."""
REDIRECTS = 5
TEXT_BYTES = 256 << 10
HTML = ("text/html", "application/xhtml+xml")
TEXT = ("text/", "application/json", "application/xml", "application/yaml", "application/toml")
LIMITS = {"AS": 1 << 30, "CPU": 15, "FSIZE": 0, "CORE": 0}
HEADERS = {
    "User-Agent": "pnyx (reads single pages for a person)",
    "Accept": "text/html, text/plain;q=0.9, */*;q=0.1",
    "Accept-Encoding": "gzip",
}


@dataclass(frozen=True, slots=True)
class _Page:
    """What arrived. charset: as the host names it, or empty. whole: False when more was there."""

    url: URL
    kind: str
    charset: str
    body: bytes
    whole: bool


class ReadPage:
    """The tool. allow: (address, port) that are read though not public. look_up: resolves names."""

    spec = ToolSpec(
        "read_page",
        "Fetch a page of the public web and give its readable text.",
        {
            "type": "object",
            "properties": {"url": {"type": "string", "description": "full http(s) address of the page"}},
            "required": ["url"],
        },
    )

    def __init__(
        self,
        *,
        allow: Collection[tuple[str, int]] = (),
        look_up: Lookup = lookup,
        arrive_s: float = ARRIVE_S,
    ) -> None:
        self._allow = frozenset(allow)
        self._look_up = look_up
        self._arrive_s = arrive_s

    async def run(self, arguments: Mapping[str, Any]) -> str:
        page = await self._arrive(text(arguments, "url").strip())
        shown = await _text(page)
        if not shown.strip():
            raise ToolError(f"{page.url} has no text that can be read; it may be drawn by scripts")
        cut = "" if page.whole else f"\n[the page goes on; its first {BYTES >> 20} MB were read]"
        return f"{page.url}\n\n{shown}{cut}"

    async def _arrive(self, address: str) -> _Page:
        try:
            async with asyncio.timeout(self._arrive_s):
                return await self._fetch(plain_url(address))
        except TimeoutError:
            raise ToolError(f"the page did not arrive within {self._arrive_s:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError, zlib.error) as exc:
            why = " ".join(str(exc).split())[:200] or type(exc).__name__
            raise ToolError(f"the page cannot be had: {why}") from exc

    async def _fetch(self, url: URL) -> _Page:
        for _ in range(REDIRECTS + 1):
            addresses = await admitted(url, self._allow, self._look_up)
            async with _get(url, addresses) as response:
                onward = response.headers.get("Location", "")
                if response.status not in (301, 302, 303, 307, 308) or not onward:
                    return await _receive(url, response)
            url = plain_url(str(url.join(URL(onward))))
        raise ToolError(f"the page redirects more than {REDIRECTS} times")


class _Pinned(AbstractResolver):
    """Knows nothing but the addresses that were checked."""

    def __init__(self, addresses: Collection[str]) -> None:
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        pass


@asynccontextmanager
async def _get(url: URL, addresses: Collection[str]) -> AsyncIterator[aiohttp.ClientResponse]:
    connector = aiohttp.TCPConnector(resolver=_Pinned(addresses), use_dns_cache=False, force_close=True)
    async with (
        # A proxy would resolve the name again, by itself: the environment's are not used.
        aiohttp.ClientSession(
            connector=connector,
            headers=HEADERS,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        ) as session,
        session.get(url, allow_redirects=False) as response,
    ):
        yield response


async def _receive(url: URL, response: aiohttp.ClientResponse) -> _Page:
    if response.status != 200:
        raise ToolError(f"{url.host} answered {response.status}")
    kind = response.content_type
    if kind not in HTML and not kind.startswith(TEXT) and not kind.endswith(("+json", "+xml")):
        raise ToolError(f"{url.host} sent {kind[:100]}; only text can be read")
    coding = response.headers.get("Content-Encoding", "identity").lower()
    if coding not in ("identity", "gzip"):
        raise ToolError(f"{url.host} sent the page packed as {coding[:100]!r}, which was not asked for")
    unpack = zlib.decompressobj(wbits=31) if coding == "gzip" else None
    body = bytearray()
    async for chunk in response.content.iter_any():
        # Never more than is kept, so that a bomb stays small.
        body += unpack.decompress(chunk, BYTES + 1 - len(body)) if unpack else chunk
        if len(body) > BYTES:
            break
    return _Page(url, kind, response.charset or "", bytes(body[:BYTES]), len(body) <= BYTES)


async def _text(page: _Page) -> str:
    command = inside("page", LIMITS, html=page.kind in HTML, charset=page.charset, seconds=EXTRACT_S)
    finished = await confined(command, page.body, seconds=STOP_S, limit=TEXT_BYTES)
    if finished.status != 0 and not finished.cut:
        raise ToolError(f"{page.url} is too tangled to be read")
    return finished.output
