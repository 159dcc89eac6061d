"""How long a connection to a host may take, and how often it is tried."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from pnyx.errors import ProviderError
from pnyx.providers.hosted import connection
from pnyx.providers.hosted.provider import open_hosted
from pnyx.providers.hosted.proxies import Proxy
from pnyx.providers.hosted.trouble import NO_PROXY, trouble
from pnyx.run.calls.limits import delay
from tests.support.hosting import KEY, ask
from tests.support.rows import rows
from tests.support.scripted import ScriptedHost

PROXY = Proxy("http://proxy.example:3128", "HTTPS_PROXY")


async def test_after_one_silence_a_host_has_less_time_until_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float | None] = []

    async def request(*_: object, **options: Any) -> None:
        waits.append(options["timeout"].sock_connect)
        raise failures.pop()

    silence, refused = aiohttp.ConnectionTimeoutError(), aiohttp.ClientOSError()
    failures: list[Exception] = [silence, refused, silence, silence, silence]
    monkeypatch.setattr(aiohttp.ClientSession, "request", request)
    provider = open_hosted("openai", base_url="http://127.0.0.1:9/v1", api_key=KEY)
    try:
        while failures:
            assert (await ask(provider)).error.kind == "unreachable"
    finally:
        await provider.close()
    assert waits == [10.0, 4.0, 4.0, 4.0, 10.0]


async def test_a_host_that_accepts_and_speaks_no_tls_ends_as_one_that_does_not_accept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "CONNECT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the system accepts, and nobody reads
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/v1"
        provider = open_hosted("openai", base_url=url, api_key=KEY)
        try:
            error = (await ask(provider)).error
        finally:
            await provider.close()
    assert (error.kind, error.billed, error.retries) == ("unreachable", False, 1)
    assert str(error).startswith("127.0.0.1:")
    assert "cannot connect: nothing answers: check base_url" in str(error)
    assert delay(1, error) is not None
    assert delay(2, error) is None


@pytest.mark.parametrize(
    ("code", "words", "fix"),
    [
        (18, "self-signed certificate", "set SSL_CERT_FILE"),
        (10, "certificate has expired", "its operator has to renew it"),
        (9, "certificate is not yet valid", "check the clock"),
        (62, "Hostname mismatch, certificate is not valid for 'x'.", "check base_url"),
    ],
)
def test_a_certificate_is_explained_by_what_is_wrong_with_it(code: int, words: str, fix: str) -> None:
    wrong = ssl.SSLCertVerificationError(1, words)
    wrong.verify_code, wrong.verify_message = code, words
    key = aiohttp.client_reqrep.ConnectionKey("x", 443, True, True, None, None, None)
    refused = aiohttp.ClientConnectorCertificateError(key, wrong)
    for host, who in (("x", "host"), ("api.example", "proxy")):
        error = trouble(refused, host, PROXY)
        assert error.kind == "refused"
        at = fix.replace("base_url", "HTTPS_PROXY") if who == "proxy" else fix
        assert f"certificate of the {who} is not accepted ({words.removesuffix('.')}): {at}" in str(error)


@rows(
    "host, url, words",
    [
        ("x", None, "the host does not speak TLS (WRONG): check whether base_url starts with http://"),
        (
            "x",
            "http://p",
            "the host does not speak TLS (WRONG): check whether base_url starts with http://,"
            " and HTTPS_PROXY (p)",
        ),
        (
            "y",
            "https://x",
            "the proxy does not speak TLS (WRONG): check whether HTTPS_PROXY (p) starts with http://",
        ),
    ],
)
def test_a_port_without_tls_is_that_of_the_host_or_of_the_proxy(
    host: str, url: str | None, words: str
) -> None:
    key = aiohttp.client_reqrep.ConnectionKey("x", 443, True, True, None, None, None)
    wrong = ssl.SSLError(1, "WRONG")
    wrong.reason = "WRONG"
    error = trouble(aiohttp.ClientConnectorSSLError(key, wrong), host, Proxy(url, "HTTPS_PROXY (p)"))
    assert (error.kind, str(error)) == ("refused", f"cannot connect: {words}")


@asynccontextmanager
async def proxy(does: str) -> AsyncIterator[str]:
    """The address of a proxy that reads the request for a tunnel and `does` something else than open one."""
    over = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if does == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        elif does == "silence":
            await over.wait()
        elif does != "close":
            writer.write(f"{does}\r\n\r\n".encode())
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        over.set()


@pytest.mark.parametrize(
    ("does", "kind", "words"),
    [
        ("close", "unreachable", "the proxy closes the connection without an answer: check HTTPS_PROXY"),
        ("reset", "unreachable", "the proxy closes the connection without an answer: check HTTPS_PROXY"),
        ("silence", "unreachable", "nothing answers: check base_url, the network and HTTPS_PROXY"),
        ("SSH-2.0-OpenSSH_9.6", "refused", "the proxy speaks another protocol than HTTP: check HTTPS_PROXY"),
        (
            "HTTP/1.1 200 Connection established",
            "unreachable",
            "the connection was closed: check base_url, the network and HTTPS_PROXY (127.0.0.1",
        ),
    ],
)
async def test_a_proxy_that_opens_no_tunnel_costs_nothing(
    monkeypatch: pytest.MonkeyPatch, does: str, kind: str, words: str
) -> None:
    monkeypatch.setattr(connection, "CONNECT_S", 0.5)
    async with proxy(does) as address:
        monkeypatch.setenv("HTTPS_PROXY", address)
        provider = open_hosted("openai", base_url="https://pnyx.invalid/v1", api_key=KEY)
        error = (await ask(provider)).error
        await provider.close()
    assert (error.kind, error.billed) == (kind, False)
    assert f"cannot connect: {words}" in str(error)


async def test_a_proxy_without_a_scheme_speaks_http(
    host: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", host.url.removeprefix("http://"))
    provider = open_hosted("openai", base_url="http://pnyx.invalid/v1", api_key=KEY)
    error = (await ask(provider)).error
    await provider.close()
    assert str(error).startswith("pnyx.invalid: HTTP 404: no such page")


@pytest.mark.parametrize(
    ("page", "advice"),
    [
        ("Access denied by policy", ": it may come from the proxy: check HTTP_PROXY (127.0.0.1:"),
        ("<html><title>Blocked</title></html>", ": it may come from the proxy: check HTTP_PROXY (127.0.0.1:"),
        ('{"error": {"message": "no such team"}}', ": no such team"),
    ],
)
async def test_an_error_without_tls_may_come_from_the_proxy(
    monkeypatch: pytest.MonkeyPatch, page: str, advice: str
) -> None:
    async with proxy(f"HTTP/1.1 403 Forbidden\r\n\r\n{page}") as address:
        monkeypatch.setenv("HTTP_PROXY", address)
        provider = open_hosted("openai", base_url="http://pnyx.invalid/v1", api_key=KEY)
        error = (await ask(provider)).error
        await provider.close()
    assert advice in str(error)
    assert ("NO_PROXY" in str(error)) == (page[0] != "{")


@rows(
    "address",
    ["http://", "https://", "http:/127.0.0.1:3128", "http://[::1", "http://:3128", "https", "http://a:b"],
)
def test_a_proxy_without_an_address_is_none(address: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HTTPS_PROXY", "ALL_PROXY"):
            patch.setenv("HTTPS_PROXY", "")
            patch.setenv(name, address)
            words = rf"{name}.* is no address of a proxy: set it to http://HOST:PORT, or unset it"
            with pytest.raises(ProviderError, match=words):
                Proxy.of("https://pnyx.invalid/v1").check()


@rows("address", ["", "   ", "proxy.example:3128", "http://ann:p@ss@proxy.example", "HTTP://proxy.example/"])
def test_a_proxy_with_an_address_or_none_is_one(address: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTTPS_PROXY", address)
        found = Proxy.of("https://pnyx.invalid/v1")
    found.check()
    assert (found.url is None) == (not address.strip())
    assert "p@ss" not in found.name


NO_SCHEME = "cannot connect: base_url does not start with http:// or https://"


@rows(
    "base_url, message",
    [
        ("htps://pnyx.invalid/v1", f"pnyx.invalid: {NO_SCHEME}"),
        ("ftp://pnyx.invalid/v1", f"pnyx.invalid: {NO_SCHEME}"),
        ("localhost:8000/v1", f"base_url: {NO_SCHEME}"),
        (
            "https//pnyx.invalid/v1",
            "base_url: cannot connect: the address of the host, or of its proxy, is not",
        ),
        (
            "http://127.0.0.1:99999/v1",
            "127.0.0.1:99999: the request cannot be made: Port out of range 0-65535",
        ),
        ("http://::1:80/v1", "::1:80: the request cannot be made: Invalid URL"),
    ],
)
async def test_an_address_that_is_none_is_not_tried_again(base_url: str, message: str) -> None:
    provider = open_hosted("openai", base_url=base_url, api_key=KEY)
    error = (await ask(provider)).error
    await provider.close()
    assert (error.kind, error.billed) == ("refused", False)
    assert str(error).startswith(message)


async def test_an_address_without_a_path_is_mostly_one_without_v1(host: ScriptedHost) -> None:
    for base_url, words in (
        (f" {host.url}\n", ": check base_url, which mostly ends with /v1"),
        (f"{host.url}/v2", ": check base_url"),
    ):
        provider = open_hosted("openai", base_url=base_url, api_key=KEY)
        error = (await ask(provider)).error
        await provider.close()
        assert error.kind == "not_found"
        assert str(error).endswith(words)


def test_a_name_that_is_not_known_may_be_that_of_the_proxy() -> None:
    key = aiohttp.client_reqrep.ConnectionKey("proxy.example", 3128, False, True, None, None, None)
    error = aiohttp.ClientConnectorDNSError(key, OSError("unknown"))
    assert "check HTTPS_PROXY" in str(trouble(error, "api.example", PROXY))
    for host, used in (("proxy.example", PROXY), ("proxy.example", NO_PROXY), ("Proxy.example", NO_PROXY)):
        assert "the name of the host is not known: check base_url" in str(trouble(error, host, used))


def test_a_name_that_could_not_be_looked_up_is_not_an_unknown_one() -> None:
    key = aiohttp.client_reqrep.ConnectionKey("host.example", 443, True, True, None, None, None)
    error = aiohttp.ClientConnectorDNSError(key, OSError(errno.EMFILE, "Too many open files"))
    assert str(trouble(error, "host.example")).startswith("cannot connect: Too many open files: check")


@pytest.mark.parametrize(
    ("port", "start"),
    [
        (11434, " (Ollama: `ollama serve`)"),
        (1234, " (LM Studio: `lms server start`)"),
        (8080, " (llama.cpp: `llama-server -m FILE`)"),
        (8000, " (vLLM: `vllm serve MODEL`)"),
        (9999, ""),
    ],
)
def test_a_refused_connection_to_the_port_of_a_local_server_says_how_it_is_started(
    port: int, start: str
) -> None:
    key = aiohttp.client_reqrep.ConnectionKey("127.0.0.1", port, False, False, None, None, None)
    error = trouble(aiohttp.ClientConnectorError(key, ConnectionRefusedError()))
    assert str(error) == f"cannot connect: connection refused: is its server running?{start}"
