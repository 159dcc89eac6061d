"""What a host, or what stands before it, sends without a reply of a model: read from a socket as it is."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pnyx.errors import ProviderError
from pnyx.providers.base import Call, Completion, Message
from pnyx.providers.hosted import connection
from pnyx.providers.hosted.provider import open_hosted
from tests.support.rows import rows

STREAM = (
    b'data: {"choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":10,"completion_tokens":5}}\n\ndata: [DONE]\n\n'
)
PAGE = b"<html><head><title>Blocked by ACME</title></head></html>"
SOON = b'{"error":{"message":"slow","code":429,"metadata":{"headers":{"X-RateLimit-Reset":"%d"}}}}'
H2 = b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x80\r\n"
TO_TLS = b"<html><title>400 The plain HTTP request was sent to HTTPS port</title></html>"
APACHE_TO_TLS = b"""<html><head><title>400 Bad Request</title></head><body><p>
Reason: You're speaking plain HTTP to an
SSL-enabled server port.</p></body></html>"""
TOMCAT_TO_TLS = b"Bad Request\r\nThis combination of host and port requires TLS.\r\n"
GO_TO_TLS = b"Client sent an HTTP request to an HTTPS server.\n"
ENDPOINT = b'{"error":"Unexpected endpoint or method. (POST /chat/completions)"}'
TWICE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
FAILURES: list[tuple[bytes, str, bool, str]] = [
    # what comes, the kind of the error, whether it is billed, words of it
    (b"HTTP/1.1 204 No Content\r\n\r\n", "overloaded", False, "HTTP 204: no reply"),
    (b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", "overloaded", False, "HTTP 202: no reply"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "truncated", True, "the reply is empty"),
    (b"\x15\x03\x01\x00\x02\x02P", "refused", False, "https://"),
    (b"SSH-2.0-OpenSSH_9.2\r\n", "refused", False, "the host speaks SSH: check base_url and its port"),
    (b"-ERR unknown command\r\n", "refused", False, "the protocol of Redis: check base_url"),
    (H2, "refused", False, "HTTP/2 without HTTP/1.1"),
    (
        b"hello there\r\n",
        "malformed",
        True,
        "the answer is not HTTP (hello there): check base_url and its port",
    ),
    (b"HTTP/1.1 up\r\n\r\n", "malformed", True, "the answer is not HTTP (HTTP/1.1 up): check base_url"),
    (TWICE, "refused", True, "both Content-Length and Transfer-Encoding"),
    (b"HTTP/1.1 200 OK\r\nContent-Le", "unreachable", True, "broke before an answer: the host closed it"),
    (b"HTTP/1.1 400 Bad\r\n\r\n" + TO_TLS, "refused", False, "the host speaks TLS: check whether base_url"),
    *(
        (head + page, "refused", False, "the host speaks TLS: check whether base_url")
        for head, page in (
            (b"HTTP/1.1 400 Bad\r\n\r\n", APACHE_TO_TLS),
            (b"HTTP/1.1 400 Bad\r\n\r\n", TOMCAT_TO_TLS),
            (b"HTTP/1.1 497 \r\n\r\n", TO_TLS),
            (b"HTTP/1.1 426 Upgrade Required\r\n\r\n", GO_TO_TLS),
        )
    ),
    (
        b"HTTP/1.1 400 Bad\r\n\r\n" + GO_TO_TLS,
        "refused",
        False,
        "the host speaks TLS: check whether base_url",
    ),
    (b"HTTP/1.1 511 Login\r\n\r\n" + PAGE, "refused", False, "(a web page and no API: check base_url"),
    (b"HTTP/1.1 200 OK\r\n\r\n" + ENDPOINT, "not_found", False, "check base_url"),
    (b"HTTP/1.1 403 Forbidden\r\n\r\n" + PAGE, "auth", False, "Blocked by ACME (a web page and no API"),
    (b"HTTP/1.1 308 Moved\r\nLocation: /v1/x/\r\n\r\n", "refused", False, "redirects to /v1/x/"),
    (b"HTTP/1.1 302 Found\r\n\r\n", "refused", False, "redirects to an address that it does not name: check"),
    (
        b"HTTP/1.1 429 Slow\r\nRetry-After: 3600\r\n\r\n",
        "rate_limited",
        False,
        "(it asks for a wait of 3,600 s)",
    ),
    (b"HTTP/1.1 429 Slow\r\nRetry-After: 9\r\n\r\n", "rate_limited", False, "HTTP 429: Too Many Requests"),
    (b"HTTP/1.1 407 Who\r\n\r\n", "refused", False, "USER:PASSWORD"),
    (b"HTTP/1.1 521\r\n\r\nerror code: 521", "overloaded", False, "HTTP 521: error code: 521"),
]


@asynccontextmanager
async def server(answer: bytes) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}")
        writer.write(answer)
        await writer.drain()
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listener:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"


async def ask(answer: bytes) -> Completion | ProviderError:
    async with server(answer) as base_url:
        return await call(base_url)


async def call(base_url: str, question: str = "Is 7 prime?") -> Completion | ProviderError:
    provider = open_hosted("openai", base_url=base_url, api_key="k")
    try:
        return await provider.complete(Call("alpha", (Message("user", question),), max_tokens=100))
    except ProviderError as exc:
        return exc
    finally:
        await provider.close()


async def test_what_is_no_reply_is_explained_and_billed_only_where_a_model_may_have_written() -> None:
    for answer, kind, billed, words in FAILURES:
        error = await ask(answer)
        assert isinstance(error, ProviderError), answer
        assert (error.kind, error.billed) == (kind, billed), answer
        assert words in str(error)


async def test_a_port_that_closes_since_it_speaks_tls_has_cost_nothing() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (await reader.read(1)) == b"\x16":  # a handshake, which this server refuses
            writer.write(b"\x15\x03\x03\x00\x02\x02\x28")
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listener:
        error = await call(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1")
    assert isinstance(error, ProviderError)
    assert (error.kind, error.billed) == ("refused", False)
    assert "the host speaks TLS: check whether base_url starts with https://" in str(error)


async def test_a_port_that_ignores_a_greeting_of_tls_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "HANDSHAKE_S", 0.05)
    greetings: list[bytes] = []
    over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        greetings.append(await reader.read(1))
        if greetings[-1] == b"\x16":
            await reader.read()  # it waits for the end of a request
            over.set()
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listener:
        async with asyncio.timeout(connection.PROBE_S):
            error = await call(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1")
            await over.wait()
            await asyncio.sleep(0.01)
    assert isinstance(error, ProviderError)
    assert greetings == [b"P", b"\x16"]
    assert "the connection broke before an answer: the host closed it" in str(error)


async def test_a_request_that_was_not_all_written_has_cost_nothing() -> None:
    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(close, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        error = await call(f"http://127.0.0.1:{port}/v1", "word " * 180_000)
    assert isinstance(error, ProviderError)
    # The kernel may report that the host closed before it reports that nobody reads: then nothing is certain.
    assert error.billed is ("before it had the whole request" not in str(error))
    assert error.kind == "unreachable"


async def test_a_limit_that_a_gateway_quotes_is_waited_for() -> None:
    error = await ask(b"HTTP/1.1 429 Slow\r\n\r\n" + SOON % int((time.time() + 50) * 1000))
    assert isinstance(error, ProviderError)
    assert error.retry_after is not None
    assert 0 < error.retry_after <= 50


@pytest.mark.parametrize(
    ("body", "wait"),
    [
        (b'{"error": {"code": 429, "message": "slow down"}}', 7),
        (b'data: {"error": {"code": 529, "message": "busy"}}\n\n', 7),
        (b'{"error": {"code": 429, "message": "slow down, try again in 3 s"}}', 3),
        (b'{"error": {"code": 401, "message": "no such key"}}', None),
    ],
)
async def test_an_error_inside_a_reply_is_tried_again_after_the_wait_of_its_headers(
    body: bytes, wait: float | None
) -> None:
    error = await ask(b"HTTP/1.1 200 OK\r\nRetry-After: 7\r\n\r\n" + body)
    assert isinstance(error, ProviderError)
    assert error.retry_after == wait


@rows(
    "behind",
    [b"data: [DONE]\n\n", b"}", b"\0", b"0\r\n\r\n", b"<!-- cached -->", b"HTTP/1.1 400 Bad\r\n\r\n"],
)
async def test_a_reply_is_read_whatever_comes_behind_it(behind: bytes) -> None:
    chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(STREAM), STREAM)
    length = b"Content-Length: %d" % len(STREAM)
    twice = length + b"\r\nX: y\r\n" + length.lower()
    many = b"X-Host-Limit: 9\r\n" * 300 + length
    for head, body in (
        (length, STREAM),
        (twice, STREAM),
        (many, STREAM),
        (b"Transfer-Encoding: chunked", chunk),
    ):
        reply = await ask(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n" + body + behind)
        assert isinstance(reply, Completion), reply
        assert reply.text == "Yes."


@pytest.mark.parametrize("chunk", [b"53d\n{}\n", b"-1\r\n{}\r\n", b"2\r\n{}junk\r\n"])
async def test_a_body_that_is_no_http_breaks_off(chunk: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}")
        writer.write(head + chunk)
        await reader.read()  # a host that waits, as it does for the next request
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listener:
        async with asyncio.timeout(10):
            error = await call(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1")
    assert isinstance(error, ProviderError)
    assert error.billed
    assert "the answer broke off: " in str(error)


async def test_a_compressed_stream_that_breaks_off_behind_its_end_is_whole() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9000\r\n\r\n"
    reply = await ask(head + gzip.compress(STREAM))
    assert isinstance(reply, Completion)
    assert reply.text == "Yes."
