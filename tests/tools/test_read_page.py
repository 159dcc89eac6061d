"""Pages are fetched only from allowed addresses, in bounded time and size, and become text."""

from __future__ import annotations

import asyncio
import gzip
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from pnyx.tools import Toolbox, ToolError
from pnyx.tools.read_page import BYTES, ReadPage
from tests.support.hosting import stalls
from tests.support.waiting import STALL_S

ARTICLE = "<h1>Owls</h1>" + "".join(
    f"<p>Owl number {n} sees well at night and turns its head.</p>" for n in range(9)
)
PAGE = f"<html><head><title>On owls</title><script>var spam = 1</script></head><body>{ARTICLE}</body></html>"


class Site:
    """A site on loopback: `pages` by path; the requests that arrived are in `requests`."""

    def __init__(self) -> None:
        self.pages: dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]] = {}
        self.requests: list[web.Request] = []
        self.port = 0

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        return await self.pages[request.path](request)

    def page(self, path: str, body: str | bytes, **more: Any) -> str:
        async def send(request: web.Request) -> web.Response:
            raw = body.encode() if isinstance(body, str) else body
            return web.Response(body=raw, **{"content_type": "text/html", "charset": "utf-8", **more})

        self.pages[path] = send
        return f"http://127.0.0.1:{self.port}{path}"

    def redirect(self, path: str, location: str, status: int = 302) -> str:
        async def send(request: web.Request) -> web.Response:
            return web.Response(status=status, headers={"Location": location})

        self.pages[path] = send
        return f"http://127.0.0.1:{self.port}{path}"

    def reader(self, *names: str, **more: Any) -> ReadPage:
        """A reader that may read this site, under its address and under `names`."""

        async def look_up(host: str, port: int) -> list[str]:
            if host not in names:
                raise OSError(host)
            return ["127.0.0.1"]

        return ReadPage(**{"allow": [("127.0.0.1", self.port)], "look_up": look_up, **more})


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", site.answer)
    runner = web.AppRunner(application, shutdown_timeout=0)
    await runner.setup()
    listener = web.TCPSite(runner, "127.0.0.1", 0)
    await listener.start()
    site.port = runner.addresses[0][1]
    yield site
    await runner.cleanup()


async def refusal(reader: ReadPage, url: str) -> str:
    with pytest.raises(ToolError) as caught:
        await reader.run({"url": url})
    return str(caught.value)


async def test_a_page_becomes_its_readable_text_under_its_address(site: Site) -> None:
    url = site.page("/owls", PAGE)
    output = await site.reader().run({"url": f" {url} "})
    assert output.startswith(f"{url}\n\n")
    assert "Owl number 8 sees well" in output
    assert "title: " in output
    assert "spam" not in output
    assert "fingerprint" not in output


async def test_a_page_without_an_article_is_read_as_plain_text(site: Site) -> None:
    url = site.page("/", "<style>p {}</style><nav>a &lt;b&gt;<br>c</nav><script>x < y</script>")
    assert await site.reader().run({"url": url}) == f"{url}\n\na <b>\nc"


async def test_text_and_json_are_returned_unchanged(site: Site) -> None:
    reader = site.reader()
    for kind, body in {"text/plain": "a <b>\n  c", "application/json": '{"a": 1}'}.items():
        url = site.page("/plain", body, content_type=kind)
        assert await reader.run({"url": url}) == f"{url}\n\n{body}"


@pytest.mark.parametrize("charset", ["utf-8", "latin-1", "utf-16", None])
async def test_the_charset_comes_from_the_host_or_else_from_the_page(site: Site, charset: str | None) -> None:
    text = PAGE.replace("<title>", '<meta charset="latin-1"><title>').replace("Owls", "Käuze")
    url = site.page("/", text.encode(charset or "latin-1"), charset=charset)
    assert "Käuze" in await site.reader().run({"url": url})


@pytest.mark.parametrize("charset", ["none-such", "punycode", "hex", "idna"])
async def test_an_unknown_charset_does_no_harm(site: Site, charset: str) -> None:
    url = site.page("/", "plain " * 1000, content_type="text/plain", charset=charset)
    assert (await site.reader().run({"url": url})).startswith(f"{url}\n\n")


@pytest.mark.parametrize("kind", ["application/pdf", "image/png", "application/octet-stream"])
async def test_a_page_that_is_not_text_is_refused(site: Site, kind: str) -> None:
    url = site.page("/", b"%PDF", content_type=kind, charset=None)
    assert kind in await refusal(site.reader(), url)


@pytest.mark.parametrize("status", [204, 304, 404, 500])
async def test_an_http_error_status_is_an_error(site: Site, status: int) -> None:
    url = site.page("/", "", status=status)
    assert await refusal(site.reader(), url) == f"127.0.0.1 returned HTTP {status}"


async def test_a_page_without_text_is_an_error(site: Site) -> None:
    assert "no readable text" in await refusal(site.reader(), site.page("/", "<script>draw()</script>"))


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://[::ffff:127.0.0.1]/"),
        *("http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://[64:ff9b::7f00:1]/"),
        *("http://2130706433/", "http://0x7f.1/", "http://127.1/", "http://0/", "http://u:p@127.0.0.1/"),
        *("file:///etc/passwd", "ftp://127.0.0.1/", "http://127.0.0.1:22/", "http://127。0。0。1/"),
    ],
)
async def test_no_private_address_is_ever_connected_to(site: Site, url: str) -> None:
    """The harness fails a test that connects anywhere but to loopback; the site sees what comes there."""
    began = time.monotonic()
    target = url.replace("127.0.0.1/", f"127.0.0.1:{site.port}/")
    await refusal(ReadPage(), target)
    assert not site.requests
    assert time.monotonic() - began < STALL_S


async def test_a_redirect_to_an_allowed_address_is_followed(site: Site) -> None:
    end = site.page("/end", "<p>there", content_type="text/plain")
    site.redirect("/middle", "end", 307)
    url = site.redirect("/start", f"http://owls.example:{site.port}/middle", 301)
    output = await site.reader("owls.example").run({"url": url})
    assert output == f"{end.replace('127.0.0.1', 'owls.example')}\n\n<p>there"
    assert [request.host for request in site.requests] == [
        f"127.0.0.1:{site.port}",
        f"owls.example:{site.port}",
        f"owls.example:{site.port}",
    ]


@pytest.mark.parametrize(
    "location",
    [
        *("http://127.0.0.2:{port}/", "http://127.0.0.1:1/", "http://[::ffff:127.0.0.1]:{port}/"),
        *("http://169.254.169.254/", "//10.0.0.1/", "file:///etc/passwd", "http://0x7f000001:{port}/"),
        *("http://u:p@127.0.0.1:{port}/", "http://[::1", "https://nowhere.example/", "javascript:0"),
    ],
)
async def test_a_redirect_to_a_refused_address_is_refused(site: Site, location: str) -> None:
    url = site.redirect("/start", location.format(port=site.port))
    await refusal(site.reader(), url)
    assert len(site.requests) == 1


async def test_a_circle_of_redirects_ends(site: Site) -> None:
    url = site.redirect("/start", "/start")
    assert "more than 5 times" in await refusal(site.reader(), url)
    assert len(site.requests) == 6


class Rebinding:
    """A name that resolves to an allowed address the first time and to a private one afterwards."""

    def __init__(self) -> None:
        self.lookups = 0

    async def __call__(self, host: str, port: int) -> list[str]:
        self.lookups += 1
        return ["127.0.0.1" if self.lookups == 1 else "127.0.0.2"]


async def test_a_name_is_resolved_once_and_that_address_is_used(site: Site) -> None:
    site.page("/", "here", content_type="text/plain")
    rebinding = Rebinding()
    reader = site.reader(look_up=rebinding)
    assert (await reader.run({"url": f"http://evil.example:{site.port}/"})).endswith("here")
    assert rebinding.lookups == 1
    assert site.requests[0].headers["Host"] == f"evil.example:{site.port}"


async def test_a_name_that_turns_private_is_refused_at_the_next_request(site: Site) -> None:
    site.redirect("/", "/again")
    reader = site.reader(look_up=Rebinding())
    assert "only public addresses" in await refusal(reader, f"http://evil.example:{site.port}/")
    assert len(site.requests) == 1


async def test_no_cookie_key_or_proxy_goes_along(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")

    async def send(request: web.Request) -> web.Response:
        response = web.Response(status=302, headers={"Location": "/next"})
        response.set_cookie("a", "b")
        return response

    site.pages["/"] = send
    site.page("/next", "fine", content_type="text/plain")
    assert (await site.reader().run({"url": f"http://127.0.0.1:{site.port}/"})).endswith("fine")
    assert {"Cookie", "Authorization", "Referer"}.isdisjoint(site.requests[1].headers)


async def test_a_gzipped_page_is_decompressed(site: Site) -> None:
    url = site.page("/", gzip.compress(PAGE.encode()), headers={"Content-Encoding": "gzip"})
    assert "Owl number 8" in await site.reader().run({"url": url})


async def test_a_decompression_bomb_stays_small_and_is_cut(site: Site) -> None:
    bomb = gzip.compress(b"a " * (50 << 20))
    url = site.page("/", bomb, content_type="text/plain", headers={"Content-Encoding": "gzip"})
    tracemalloc.start()
    output = await site.reader().run({"url": url})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert output.endswith(f"[the page is longer; its first {BYTES >> 20} MB were read]")
    assert peak < 50 << 20


@pytest.mark.parametrize(
    ("coding", "body"), [("gzip", b"no gzip at all"), ("br", b"x"), ("deflate", b"x"), ("gzip, gzip", b"x")]
)
async def test_another_content_encoding_is_an_error(site: Site, coding: str, body: bytes) -> None:
    url = site.page("/", body, headers={"Content-Encoding": coding})
    await refusal(site.reader(), url)


async def test_an_endless_page_is_cut_at_the_limit(site: Site) -> None:
    async def send(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        while request.transport is not None:
            await response.write(b"more and " * 10_000)
        return response

    site.pages["/"] = send
    output = await site.reader().run({"url": f"http://127.0.0.1:{site.port}/"})
    assert output.endswith("MB were read]")


@pytest.mark.parametrize("headers", [True, False])
async def test_a_slow_page_times_out(site: Site, headers: bool) -> None:
    async def send(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        if headers:
            await response.prepare(request)
        while request.transport is not None:
            await asyncio.sleep(0.01)
            if headers:
                await response.write(b".")
        return response

    site.pages["/"] = send
    began = time.monotonic()
    output = await refusal(site.reader(fetch_s=0.3), f"http://127.0.0.1:{site.port}/")
    assert output == "the page did not load within 0.3 s"
    assert time.monotonic() - began < STALL_S


async def test_a_name_that_never_resolves_times_out() -> None:
    async def look_up(host: str, port: int) -> list[str]:
        await asyncio.sleep(60)
        return []

    reader = ReadPage(look_up=look_up, fetch_s=0.1)
    assert "did not load" in await refusal(reader, "http://example.org/")


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort", b"\x16\x03 no HTTP\r\n\r\n"]
)
async def test_a_broken_response_is_an_error(answer: bytes) -> None:
    left = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()
        left.set()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        reader = ReadPage(allow=[("127.0.0.1", port)])
        await refusal(reader, f"http://127.0.0.1:{port}/")
        await left.wait()


@pytest.mark.parametrize(
    "html",
    [
        "<p>a few words. " * 200_000,
        "<div>" * 300_000,
        "<b><table><td><a href=x>" * 200_000,
        "<" * 1_000_000,
    ],
    ids=["paragraphs", "nested", "tangled", "open"],
)
async def test_a_hostile_page_ends_in_time_and_the_event_loop_stays_free(
    site: Site, html: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pnyx.tools.read_page.EXTRACT_S", 2.0)
    url = site.page("/", html)
    began = time.monotonic()
    async with stalls() as spells:
        result = await Toolbox({"read_page": site.reader()}).run("read_page", {"url": url})
    assert time.monotonic() - began < STALL_S
    assert len(result.text) < 20_000
    assert max(spells) < 0.25
