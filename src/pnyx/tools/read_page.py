"""`read_page`: fetches a page of the public web and returns its text.

A name is resolved once per request, all its addresses are checked, and the connection uses one of these
addresses only; a redirect is a new request. Pages are parsed in a child process (`child.py`), since a
hostile page can keep a parser busy for minutes.
"""

from __future__ import annotations

import asyncio
import socket
import zlib
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from ..core.tool_calls import ToolSpec
from . import ToolError
from .addresses import Lookup, lookup, plain_url, resolve_public
from .arguments import text
from .confinement import child_command, run_confined

__all__ = ["Page", "ReadPage", "is_text_kind", "page_text"]

FETCH_S = 20.0
"""Limit for the download, redirects included."""
EXTRACT_S = 5.0
"""Limit for finding the main text of a page; after that all its text is used."""
STOP_S = 12.0
BYTES = 5 << 20
"""Limit of a page's size after decompression."""
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
class Page:
    """A response. kind: its media type. charset: from the host's header, or empty. whole: False if the body
    was cut.
    """

    url: URL
    kind: str
    charset: str
    body: bytes
    whole: bool


def is_text_kind(kind: str) -> bool:
    """Whether a media type is that of a text."""
    return kind in HTML or kind.startswith(TEXT) or kind.endswith(("+json", "+xml"))


class ReadPage:
    """The tool. allow: (address, port) pairs that are read although not public. look_up: resolves names."""

    spec = ToolSpec(
        "read_page",
        "Fetch a page of the public web and return its readable text.",
        {
            "type": "object",
            "properties": {"url": {"type": "string", "description": "full http(s) URL of the page"}},
            "required": ["url"],
        },
    )

    def __init__(
        self,
        *,
        allow: Collection[tuple[str, int]] = (),
        look_up: Lookup = lookup,
        fetch_s: float = FETCH_S,
        limit: int = BYTES,
        accepts: Callable[[str], bool] = is_text_kind,
    ) -> None:
        """limit: bytes of a page that are read. accepts: whether a media type is read."""
        self._limit, self._accepts = limit, accepts
        self._allow = frozenset(allow)
        self._look_up = look_up
        self._fetch_s = fetch_s

    async def run(self, arguments: Mapping[str, Any]) -> str:
        page = await self.fetch(text(arguments, "url").strip())
        content = await page_text(page)
        cut = "" if page.whole else f"\n[the page is longer; its first {self._limit >> 20} MB were read]"
        return f"{page.url}\n\n{content}{cut}"

    async def fetch(self, address: str) -> Page:
        """Return the response of a page. Raises `ToolError`."""
        try:
            async with asyncio.timeout(self._fetch_s):
                return await self._follow(plain_url(address))
        except TimeoutError:
            raise ToolError(f"the page did not load within {self._fetch_s:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError, zlib.error) as exc:
            why = " ".join(str(exc).split())[:200] or type(exc).__name__
            raise ToolError(f"the page cannot be fetched: {why}") from exc

    async def _follow(self, url: URL) -> Page:
        """Request `url` and follow its redirects, checking the addresses of each."""
        for _ in range(REDIRECTS + 1):
            addresses = await resolve_public(url, self._allow, self._look_up)
            async with _get(url, addresses) as response:
                location = response.headers.get("Location", "")
                if response.status not in (301, 302, 303, 307, 308) or not location:
                    return await _receive(url, response, self._limit, self._accepts)
            url = plain_url(str(url.join(URL(location))))
        raise ToolError(f"the page redirects more than {REDIRECTS} times")


class _Pinned(AbstractResolver):
    """A resolver that returns only the checked addresses."""

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
        # Proxies of the environment are not used: they would resolve the name again.
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


async def _receive(
    url: URL, response: aiohttp.ClientResponse, limit: int, accepts: Callable[[str], bool]
) -> Page:
    if response.status != 200:
        raise ToolError(f"{url.host} returned HTTP {response.status}")
    kind = response.content_type
    if not accepts(kind):
        raise ToolError(f"{url.host} sent {kind[:100]}; only text can be read")
    coding = response.headers.get("Content-Encoding", "identity").lower()
    if coding not in ("identity", "gzip"):
        raise ToolError(f"{url.host} used the content encoding {coding[:100]!r}, which is not supported")
    unpack = zlib.decompressobj(wbits=31) if coding == "gzip" else None
    body = bytearray()
    async for chunk in response.content.iter_any():
        # Never more than is kept, so that a decompression bomb stays small.
        body += unpack.decompress(chunk, limit + 1 - len(body)) if unpack else chunk
        if len(body) > limit:
            break
    return Page(url, kind, response.charset or "", bytes(body[:limit]), len(body) <= limit)


async def page_text(page: Page) -> str:
    """Return the readable text of a page. Raises `ToolError` if it has none."""
    command = child_command("page", LIMITS, html=page.kind in HTML, charset=page.charset, seconds=EXTRACT_S)
    finished = await run_confined(command, page.body, seconds=STOP_S, limit=TEXT_BYTES)
    if finished.status != 0 and not finished.cut:
        raise ToolError(f"{page.url} cannot be parsed")
    if not finished.output.strip():
        raise ToolError(f"{page.url} has no readable text; it may need JavaScript")
    return finished.output
