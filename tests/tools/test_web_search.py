"""Each search service receives the right request, and each response becomes results or an error."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from aiohttp import web

from pnyx.config.schema import SearchSettings
from pnyx.tools import ToolError
from pnyx.tools.engines import BYTES, DuckDuckGo, Engine, Service, Source, open_engine
from pnyx.tools.web_search import WebSearch

OWL = {"title": "Owls", "url": "https://owls.example/", "content": "They turn\n their heads.", "score": 0.9}
KEYS = {"TAVILY_API_KEY": "tvly-planted", "EXA_API_KEY": "exa-planted", "LAB_KEY": "lab-planted"}


class Host:
    """A search service on loopback. status, body, headers: of its answer. requests: (request, its JSON)."""

    def __init__(self) -> None:
        self.status = 200
        self.body: Any = {"results": [OWL]}
        self.headers: dict[str, str] = {}
        self.requests: list[tuple[web.Request, Any]] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        raw = await request.read()
        self.requests.append((request, json.loads(raw) if raw[:1] == b"{" else raw.decode()))
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        return web.Response(status=self.status, body=body, headers=self.headers, content_type="text/html")

    def engine(self, backend: str, env: Mapping[str, str] = KEYS) -> Engine:
        settings = {"backend": backend, "base_url": f"{self.url}/base/"}
        if backend != "searxng":
            settings["api_key_env"] = "LAB_KEY"
        return open_engine(SearchSettings.model_validate(settings), env)


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    host = Host()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", host.answer)
    runner = web.AppRunner(application, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield host
    await runner.cleanup()


async def test_results_are_numbered_with_title_url_and_extract(host: Host) -> None:
    host.body = {"results": [OWL, {"url": "https://b.example/", "content": "x" * 5000}]}
    output = await WebSearch(host.engine("tavily"), 5).run({"query": " owls\nat night "})
    assert output == (
        "1. Owls\n   https://owls.example/\n   They turn their heads.\n"
        f"2. https://b.example/\n   https://b.example/\n   {'x' * 600}"
    )
    assert host.requests[0][1]["query"] == "owls at night"


async def test_a_result_cannot_imitate_another_one(host: Host) -> None:
    host.body = {"results": [{"title": "a\n2. b", "url": "https://a/", "content": "c\r\n3. d"}]}
    output = await WebSearch(host.engine("tavily"), 5).run({"query": "x"})
    assert output == "1. a 2. b\n   https://a/\n   c 3. d"


async def test_no_results_are_reported(host: Host) -> None:
    host.body = {"results": []}
    assert await WebSearch(host.engine("exa"), 5).run({"query": "x"}) == "no results for 'x'"


@pytest.mark.parametrize(("requested", "sent"), [(None, 5), (3, 3), ("7", 7), (0, 1), (999, 20), (2.0, 2)])
async def test_the_number_of_results_is_the_requested_one_within_bounds(
    host: Host, requested: Any, sent: int
) -> None:
    host.body = {"results": [OWL] * 30}
    output = await WebSearch(host.engine("tavily"), 5).run({"query": "x", "max_results": requested})
    assert host.requests[0][1]["max_results"] == sent
    assert output.count("https://owls.example/") == sent


async def test_tavily_receives_its_key_in_the_header(host: Host) -> None:
    found = await host.engine("tavily").search("owls", 4)
    assert found == [Source("Owls", "https://owls.example/", "They turn their heads.")]
    request, body = host.requests[0]
    assert (request.method, request.path) == ("POST", "/base/search")
    assert request.headers["Authorization"] == "Bearer lab-planted"
    assert body == {"query": "owls", "max_results": 4}


async def test_exa_receives_its_key_in_the_header_and_returns_text(host: Host) -> None:
    host.body = {"results": [{"title": "Owls", "url": "https://owls.example/", "text": "Heads"}]}
    assert await host.engine("exa").search("owls", 4) == [Source("Owls", "https://owls.example/", "Heads")]
    request, body = host.requests[0]
    assert (request.method, request.path, request.headers["x-api-key"]) == (
        "POST",
        "/base/search",
        "lab-planted",
    )
    assert (body["query"], body["numResults"]) == ("owls", 4)
    assert body["contents"]["text"]["maxCharacters"] > 0


async def test_searxng_is_queried_for_json_without_a_key(host: Host) -> None:
    host.body = {"results": [OWL] * 20}
    assert len(await host.engine("searxng").search("owls & more", 4)) == 4
    request, _ = host.requests[0]
    assert (request.method, request.path) == ("GET", "/base/search")
    assert dict(request.query) == {"q": "owls & more", "format": "json"}
    assert "planted" not in str(request.headers)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"<html>", b"{", b"null", b"[]", b"NaN", b'{"results": null}', b'{"results": [1]}', b"\xff"),
        *(b"[" * 200_000, b'{"results": {"a": 1}}', b'{"results": [' + b"1" * 10_000 + b"]}"),
        b'{"results": "' + b"x" * BYTES + b'"}',
    ],
)
async def test_a_response_without_results_is_an_error(host: Host, body: bytes) -> None:
    host.body = body
    with pytest.raises(ToolError, match=r"tools\.web_search\.backend"):
        await host.engine("tavily").search("x", 3)


@pytest.mark.parametrize("result", [{}, {"title": 5, "url": None, "content": [1]}, {"url": {"a": 1}}])
async def test_a_result_with_wrong_types_is_shown_empty(host: Host, result: Any) -> None:
    host.body = {"results": [result]}
    assert await host.engine("tavily").search("x", 3) == [Source("", "", "")]


@pytest.mark.parametrize(
    ("backend", "status", "message"),
    [
        ("tavily", 401, "the key was rejected"),
        ("exa", 403, "the key was rejected"),
        ("searxng", 403, "search.formats must include json"),
        ("tavily", 429, "too many searches"),
        ("exa", 500, "returned HTTP 500"),
        ("tavily", 302, "returned HTTP 302"),
    ],
)
async def test_a_refusal_says_what_to_do_and_never_shows_the_key(
    host: Host, backend: str, status: int, message: str
) -> None:
    host.status, host.headers = status, {"Location": f"{host.url}/elsewhere"}
    with pytest.raises(ToolError, match=message) as caught:
        await host.engine(backend).search("x", 3)
    assert "planted" not in str(caught.value)
    assert len(host.requests) == 1


async def test_an_unreachable_service_is_an_error() -> None:
    settings = SearchSettings(backend="searxng", base_url="http://127.0.0.1:1")
    with pytest.raises(ToolError, match="SearXNG cannot be reached"):
        await open_engine(settings, {}).search("x", 3)


async def test_a_service_that_never_responds_times_out() -> None:
    began, left, seconds = asyncio.Event(), asyncio.Event(), 0.2

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        began.set()
        await reader.read()
        writer.close()
        left.set()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        engine = open_engine(SearchSettings(backend="searxng", base_url=f"http://127.0.0.1:{port}"), {})
        assert isinstance(engine, Service)
        while not began.is_set():  # a machine that stands still may not even connect within the first limit
            with pytest.raises(ToolError, match=rf"did not respond within {seconds:g} s"):
                await dataclasses.replace(engine, seconds=seconds).search("x", 3)
            seconds *= 2
        await left.wait()


def test_the_standard_key_is_sent_only_to_the_vendors_host() -> None:
    own = open_engine(SearchSettings(backend="tavily"), KEYS)
    assert isinstance(own, Service)
    assert own.url == "https://api.tavily.com/search"
    assert own.headers == {"Authorization": "Bearer tvly-planted"}
    assert "planted" not in repr(own)
    elsewhere = SearchSettings(backend="tavily", base_url="http://127.0.0.1:9")
    with pytest.raises(ToolError, match="api_key_env to the variable with the key"):
        open_engine(elsewhere, KEYS)


@pytest.mark.parametrize(
    ("backend", "message"),
    [
        ("tavily", r"needs a key in \$TAVILY_API_KEY \(get one at tavily\.com"),
        ("exa", r"needs a key in \$EXA_API_KEY \(get one at exa\.ai"),
        ("none", r"no search back end is configured; set tools\.web_search\.backend to duckduckgo"),
    ],
)
def test_a_missing_key_or_back_end_is_an_error_that_says_what_to_do(backend: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        open_engine(SearchSettings.model_validate({"backend": backend}), {"TAVILY_API_KEY": ""})


@pytest.mark.parametrize("key", ["exa\nkey", "exa key", "exä", "'exa-key'"])
def test_an_invalid_key_is_named_by_its_variable_and_not_sent(key: str) -> None:
    with pytest.raises(ToolError, match=r"^\$EXA_API_KEY, the key of Exa, contains a space") as caught:
        open_engine(SearchSettings(backend="exa"), {"EXA_API_KEY": key})
    assert key not in str(caught.value)


def test_a_key_is_read_without_its_trailing_line_break() -> None:
    engine = open_engine(SearchSettings(backend="exa"), {"EXA_API_KEY": " exa-planted\n"})
    assert isinstance(engine, Service)
    assert engine.headers == {"x-api-key": "exa-planted"}


def test_without_ddgs_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ddgs", None)
    with pytest.raises(ToolError, match="needs the extra 'tools'"):
        open_engine(SearchSettings(), {})


def duckduckgo_at(monkeypatch: pytest.MonkeyPatch, host: Host) -> Engine:
    """The real library, with its one address turned to loopback."""
    from ddgs.engines.duckduckgo import Duckduckgo

    monkeypatch.setattr(Duckduckgo, "search_url", f"{host.url}/html/")
    return open_engine(SearchSettings(), {})


async def test_duckduckgo_is_queried_through_its_library(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.body = b"".join(
        b"<div class='body'><h2><a>Owl %d</a></h2><a href='https://owls.example/%d'>They see.</a></div>"
        % (n, n)
        for n in range(9)
    )
    found = await duckduckgo_at(monkeypatch, host).search("owls at night", 3)
    assert [source.url for source in found] == [f"https://owls.example/{n}" for n in range(3)]
    assert found[0] == Source("Owl 0", "https://owls.example/0", "They see.")
    assert "owls+at+night" in host.requests[0][1]


@pytest.mark.parametrize(
    ("status", "body"), [(202, b"<html>"), (200, b"<html></html>"), (500, b""), (200, b"")]
)
async def test_no_results_from_duckduckgo_are_an_error(
    host: Host, monkeypatch: pytest.MonkeyPatch, status: int, body: bytes
) -> None:
    host.status, host.body = status, body
    with pytest.raises(ToolError, match=r"DuckDuckGo returned no results.*TAVILY_API_KEY"):
        await duckduckgo_at(monkeypatch, host).search("owls", 3)


@pytest.mark.parametrize(
    "arguments", [{}, {"query": ""}, {"query": 5}, {"query": "x", "max_results": "many"}]
)
async def test_invalid_search_arguments_are_an_error_for_the_model(arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match="must be"):
        await WebSearch(DuckDuckGo(), 5).run(arguments)
