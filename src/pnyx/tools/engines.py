"""Search services with one interface: `await engine.search(query, n)` returns sources or raises `ToolError`.

Tavily, Exa and SearXNG are called over HTTP and have similar responses; DuckDuckGo is called through `ddgs`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import aiohttp

from ..config.credentials import key_in
from ..config.schema import SearchSettings
from ..errors import ConfigError, MissingExtra
from ..extras import need
from . import ToolError

__all__ = ["DuckDuckGo", "Engine", "Service", "Source", "open_engine"]

SECONDS = 20.0
BYTES = 2 << 20
TEXT = 2_000
"""Characters of a source's text that are kept."""
HOW = (
    "set tools.web_search.backend to duckduckgo (no key), tavily or exa (with the key in "
    "TAVILY_API_KEY or EXA_API_KEY), or searxng (with base_url)"
)


@dataclass(frozen=True, slots=True)
class Source:
    """A search result. text: the extract that the service returned, on one line."""

    title: str
    url: str
    text: str


class Engine(Protocol):
    """Searches the web. Raises `ToolError` if the search fails; no results are an empty list."""

    async def search(self, query: str, n: int) -> list[Source]: ...


@dataclass(frozen=True, slots=True)
class Service:
    """A service whose response is {"results": [{"title", "url", …}]}.

    arguments: (query, number of results) -> the keyword arguments of the HTTP request. text: the key of
    a result that holds its text. denied: what a 401 or 403 means.
    """

    name: str
    method: str
    url: str
    text: str
    denied: str
    arguments: Callable[[str, int], Mapping[str, Any]]
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    seconds: float = SECONDS

    async def search(self, query: str, n: int) -> list[Source]:
        try:
            async with asyncio.timeout(self.seconds):
                results = await self._results(query, n)
        except TimeoutError:
            raise ToolError(f"{self.name} did not respond within {self.seconds:g} s; {HOW}") from None
        except (aiohttp.ClientError, OSError, ValueError) as exc:
            raise ToolError(f"{self.name} cannot be reached ({type(exc).__name__}); {HOW}") from exc
        return [_source(r.get("title"), r.get("url"), r.get(self.text)) for r in results[:n]]

    async def _results(self, query: str, n: int) -> list[Mapping[str, Any]]:
        async with (
            aiohttp.ClientSession(headers=self.headers, trust_env=True) as session,
            # A redirect would send the key to another host.
            session.request(
                self.method, self.url, allow_redirects=False, **self.arguments(query, n)
            ) as response,
        ):
            if response.status in (401, 403):
                raise ToolError(f"{self.name} returned HTTP {response.status}: {self.denied}")
            if response.status == 429:
                raise ToolError(f"{self.name} returned HTTP 429: too many searches, or no credit left; {HOW}")
            if response.status != 200:
                raise ToolError(f"{self.name} returned HTTP {response.status}; {HOW}")
            raw = await _read(response)
        try:
            results = json.loads(raw)["results"]
        except (ValueError, KeyError, TypeError, RecursionError):
            results = None
        if not isinstance(results, list) or not all(isinstance(r, dict) for r in results):
            raise ToolError(f"the response of {self.name} is not a list of search results; {HOW}")
        return results


async def _read(response: aiohttp.ClientResponse) -> bytes:
    raw = bytearray()
    async for chunk in response.content.iter_any():
        raw += chunk
        if len(raw) > BYTES:
            raise aiohttp.ClientPayloadError("the response is too large")
    return bytes(raw)


@dataclass(frozen=True, slots=True)
class DuckDuckGo:
    """DuckDuckGo's page for browsers without JavaScript, read by `ddgs`. seconds: limit of one request."""

    seconds: int = 10

    async def search(self, query: str, n: int) -> list[Source]:
        # Slow to load, and only a run that searches needs it.
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException

        def find() -> list[dict[str, Any]]:
            return DDGS(timeout=self.seconds).text(query, max_results=n, backend="duckduckgo")

        try:
            async with asyncio.timeout(2 * self.seconds):
                found = await asyncio.to_thread(find)
        except (DDGSException, TimeoutError) as exc:
            # DuckDuckGo also sends an empty page to clients that it takes for robots.
            raise ToolError(
                f"DuckDuckGo returned no results: nothing found, or a temporary refusal; {HOW}"
            ) from exc
        return [_source(r.get("title"), r.get("href"), r.get("body")) for r in found[:n]]


def _source(*parts: object) -> Source:
    """Return a source with each part on one line, so that a page's text cannot imitate another result."""
    title, url, text = (" ".join(part.split())[:TEXT] if isinstance(part, str) else "" for part in parts)
    return Source(title or url, url, text)


def open_engine(settings: SearchSettings, env: Mapping[str, str]) -> Engine:
    """Return the configured search service. Raises `ToolError` if a key or a package is missing."""
    match settings.backend:
        case "tavily":
            key = _key(settings, env, "Tavily", "tavily.com")
            return tavily(settings.base_url or "https://api.tavily.com", key)
        case "exa":
            key = _key(settings, env, "Exa", "exa.ai")
            return exa(settings.base_url or "https://api.exa.ai", key)
        case "searxng":
            return searxng(settings.base_url or "")
        case "duckduckgo" | "provider":
            # With `provider`, seats whose host cannot search need a service without a key.
            try:
                need("tools", "a search with DuckDuckGo", "ddgs")
            except MissingExtra as exc:
                raise ToolError(f"{exc}. Or {HOW}") from None
            return DuckDuckGo()
        case "none":
            raise ToolError(f"no search back end is configured; {HOW}")


def _key(settings: SearchSettings, env: Mapping[str, str], name: str, site: str) -> str:
    # As with models, the standard key is sent only to the vendor's host; another host needs its own variable.
    variable = settings.api_key_env or (settings.usual_key if settings.base_url is None else None)
    if variable is None:
        raise ToolError(
            f"set tools.web_search.api_key_env to the variable with the key for {settings.base_url}"
        )
    try:
        key = key_in(variable, name, env)
    except ConfigError as exc:
        raise ToolError(str(exc)) from None
    if key is None:
        raise ToolError(f"{name} needs a key in ${variable} (get one at {site}); {HOW}")
    return key


def tavily(base_url: str, key: str) -> Service:
    return Service(
        "Tavily",
        "POST",
        f"{base_url.rstrip('/')}/search",
        "content",
        "the key was rejected",
        lambda query, n: {"json": {"query": query, "max_results": n}},
        {"Authorization": f"Bearer {key}"},
    )


def exa(base_url: str, key: str) -> Service:
    return Service(
        "Exa",
        "POST",
        f"{base_url.rstrip('/')}/search",
        "text",
        "the key was rejected",
        lambda query, n: {
            "json": {"query": query, "numResults": n, "contents": {"text": {"maxCharacters": TEXT}}}
        },
        {"x-api-key": key},
    )


def searxng(base_url: str) -> Service:
    return Service(
        "SearXNG",
        "GET",
        f"{base_url.rstrip('/')}/search",
        "content",
        "its search.formats must include json",
        lambda query, n: {"params": {"q": query, "format": "json"}},
    )
