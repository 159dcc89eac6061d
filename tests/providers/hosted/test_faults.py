"""What hosted providers make of hosts that fail: the kind of the error, whether it may cost, and how soon."""

from __future__ import annotations

import asyncio
import socket
import time
import tracemalloc
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from pnyx.providers.base import Call, Message
from pnyx.providers.hosted.failures import one_line, retry_after
from pnyx.providers.hosted.provider import open_hosted
from tests.support.bombs import bomb
from tests.support.hosting import KEY, ask, kinds, open_provider, stalls, ways
from tests.support.scripted import ScriptedHost
from tests.support.waiting import STALL_S

QUESTION = (Message("user", "Is 7 prime?"),)


STATUSES = {
    **{302: "refused", 400: "refused", 402: "refused", 409: "overloaded"},
    **{401: "auth", 403: "auth", 404: "not_found", 413: "too_long", 429: "rate_limited"},
    **{500: "overloaded", 502: "overloaded", 503: "overloaded", 529: "overloaded"},
}


@kinds
@ways
async def test_a_refusal_is_one_request_and_one_error_that_costs_nothing(
    host: ScriptedHost, kind: str, stream: bool
) -> None:
    async with open_provider(kind, host) as provider:
        for status, expected in STATUSES.items():
            name = f"m{status}"
            host.on(name, status=status, message=f"no, {KEY} is bad", headers={"Location": "/elsewhere"})
            error = (await ask(provider, name, stream=stream)).error
            assert (status, error.kind, error.billed) == (status, expected, False)
            assert len(host.requests(name)) == 1
            assert KEY not in repr(error)
            assert error.__cause__ is None


async def test_a_gateway_that_timed_out_may_have_cost(host: ScriptedHost) -> None:
    host.on("alpha", status=504)
    async with open_provider("openai", host) as provider:
        error = (await ask(provider)).error
    assert (error.kind, error.billed) == ("overloaded", True)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "2"}, 2.0),
        ({"Retry-After": "3600"}, 3600.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "1e999"}, None),
        ({"Retry-After": ""}, None),
        ({"Retry-After": "Wed, 99 Foo 2026 99:99:99 GMT"}, None),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after-ms": "1500", "Retry-After": "9"}, 1.5),
        ({"Retry-After": "1m30s"}, 90.0),
        ({"X-RateLimit-Reset-After": "7"}, 7.0),
        ({}, None),
    ],
)
@ways
async def test_the_wait_that_a_host_requests_is_passed_on(
    host: ScriptedHost, stream: bool, headers: dict[str, str], seconds: float | None
) -> None:
    host.on("alpha", status=429, headers=headers)
    async with open_provider("openai", host) as provider:
        assert (await ask(provider, stream=stream)).error.retry_after == seconds


def test_a_date_to_come_is_seconds_from_now_and_google_writes_it_in_the_body() -> None:
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 60 < (retry_after({"retry-after": then}) or 0) <= 91
    assert retry_after({}, '{"error": {"details": [{"retryDelay": "14s"}]}}') == 14.0


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This model's maximum context length is 8192 tokens."),
        (400, "prompt is too long: 250000 tokens > 200000 maximum"),
        (400, "The input token count (9000) exceeds the maximum number of tokens allowed (8192)."),
        (422, "Please reduce the length of the messages."),
    ],
)
async def test_a_prompt_over_the_window_is_too_long(host: ScriptedHost, status: int, message: str) -> None:
    host.on("alpha", status=status, message=message)
    async with open_provider("openai", host) as provider:
        error = (await ask(provider)).error
    assert error.kind == "too_long"
    assert message in str(error)


async def test_an_empty_account_is_not_retried(host: ScriptedHost) -> None:
    host.on("alpha", status=429, body=b'{"error": {"code": "insufficient_quota", "message": "Pay first."}}')
    async with open_provider("openai", host) as provider:
        error = (await ask(provider)).error
    assert (error.kind, error.retryable) == ("refused", False)


def test_a_message_is_one_short_printable_line_without_the_key() -> None:
    line = one_line(f"bad\x1b[2J\n\n{KEY}\t\u202e" + "x" * 1000, (KEY,))
    assert line.startswith("bad [2J [redacted] x")
    assert len(line) == 300
    assert line.isprintable()


@kinds
@ways
async def test_an_address_without_a_host_is_unreachable_and_costs_nothing(kind: str, stream: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    provider = open_hosted(kind, base_url=f"http://127.0.0.1:{port}", api_key=KEY)
    error = (await ask(provider, stream=stream)).error
    await provider.close()
    assert (error.kind, error.billed) == ("unreachable", False)


async def test_a_proxy_in_the_environment_is_used(
    host: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", host.url)
    provider = open_hosted("openai", base_url="http://pnyx.invalid/v1", api_key=KEY)
    error = (await ask(provider)).error
    await provider.close()
    assert (error.kind, str(error)) == ("not_found", "pnyx.invalid: HTTP 404: no such page: check base_url")


@pytest.mark.parametrize("status", ["407 Proxy Authentication Required", "502 Bad Gateway", "no HTTP"])
async def test_a_proxy_that_refuses_is_reported_without_its_password(
    monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
        port = proxy.sockets[0].getsockname()[1]
        monkeypatch.setenv("HTTPS_PROXY", f"http://planted-user:planted-pass@127.0.0.1:{port}")
        provider = open_hosted("openai", base_url="https://pnyx.invalid/v1", api_key=KEY)
        error = (await ask(provider)).error
        await provider.close()
    assert "planted" not in str(error)
    if status[0].isdigit():
        code, _, words = status.partition(" ")
        hint = f"check the user and the password in HTTPS_PROXY (127.0.0.1:{port})"
        if code != "407":
            hint = f"check HTTPS_PROXY (127.0.0.1:{port}), or name the host in NO_PROXY if it needs no proxy"
        assert str(error) == f"pnyx.invalid: cannot connect: the proxy answers HTTP {code}: {words}: {hint}"
        assert (error.kind, error.billed) == ("unreachable" if code >= "500" else "refused", False)


@pytest.mark.parametrize(
    "proxy", ["http://{}@[", "http://{}@127.0.0.1:port", "{}@127.0.0.1:9", "socks5://{}@127.0.0.1:9"]
)
async def test_a_proxy_that_cannot_be_used_is_reported_without_its_password(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy.format("planted-user:planted-pass"))
    provider = open_hosted("openai", base_url="https://pnyx.invalid/v1", api_key=KEY)
    error = (await ask(provider)).error
    await provider.close()
    assert "planted" not in str(error)


@kinds
@ways
async def test_a_connection_reset_before_the_answer_may_have_cost(
    host: ScriptedHost, kind: str, stream: bool
) -> None:
    host.on("alpha", reset=True)
    async with open_provider(kind, host) as provider:
        error = (await ask(provider, stream=stream)).error
    assert (error.kind, error.billed) == ("unreachable", True)
    assert len(host.log) == 1


@kinds
@ways
async def test_a_request_that_cannot_be_made_costs_nothing(
    host: ScriptedHost, kind: str, stream: bool
) -> None:
    provider = open_hosted(kind, base_url=getattr(host, kind), api_key="sk-planted\n0123456789")
    error = (await ask(provider, stream=stream)).error
    await provider.close()
    assert (error.kind, error.billed, host.log) == ("refused", False, [])
    assert "planted" not in str(error)


CUTS: tuple[dict[str, Any], ...] = (
    {"cut_at": 0},
    {"cut_at": 120},
    {"cut_at": 350},
    {"reset": True, "cut_at": 120},
    {"text": "é" * 200, "cut_at": 221},
)


@kinds
@ways
async def test_an_answer_that_breaks_off_is_truncated(host: ScriptedHost, kind: str, stream: bool) -> None:
    async with open_provider(kind, host) as provider:
        for number, cut in enumerate(CUTS):
            name = f"m{number}"
            host.on(name, **{"text": "word " * 60, **cut})
            error = (await ask(provider, name, stream=stream)).error
            found = (cut, error.kind, error.billed, "Error: 400" in str(error))
            assert found == (cut, "truncated", True, False)
            assert len(host.requests(name)) == 1


@kinds
async def test_a_stream_that_stops_before_its_end_is_truncated_wherever_it_stops(
    host: ScriptedHost, kind: str
) -> None:
    """The connection's end is the body's here, so that only the events tell that some are missing."""
    host.on("alpha", text="One two three.", unframed=True)
    async with open_provider(kind, host) as provider:
        whole = await ask(provider, stream=True)
        assert whole.completion.text == "One two three."
        length = host.log[0].sent
        # After the finish reason, the text is complete.
        tail = {"anthropic": 200, "openai": 300, "mistral": 300, "google": 150}[kind]
        for cut in range(0, length - tail, 23):
            host.on("alpha", text="One two three.", unframed=True, cut_at=cut)
            error = (await ask(provider, stream=True)).error
            assert (cut, error.kind, error.billed) == (cut, "truncated", True)


NO_ANSWERS = (
    b"<html><b>It works!</b></html>",
    b"{",
    b"null",
    b"[]",
    b"{}",
    b"NaN",
    b'{"choices": [], "candidates": [], "content": null}',
    b'{"choices": null, "candidates": null, "type": "message"}',
    b"[" * 200_000,
    b'{"a":' * 200_000,
    b'{"choices":' + b"[" * 900 + b"]" * 900 + b"}",
)
NO_EVENTS = (
    b"<html><b>It works!</b></html>",
    b"data: {\n\ndata: [DONE]\n\n",
    b"event: message_start\ndata: null\n\n",
    b"event: message_start\ndata: " + b"[" * 200_000 + b"\n\n",
    b"event: message_start\ndata: " + b"[" * 400_000,
)


@kinds
@ways
async def test_a_reply_of_no_dialect_is_malformed_and_blocks_nothing(
    host: ScriptedHost, kind: str, stream: bool
) -> None:
    async with open_provider(kind, host) as provider:
        await ask(provider, "warm", stream=stream)
        for body in NO_EVENTS if stream else NO_ANSWERS:
            for headers in ({}, {"Content-Type": "text/html"}):
                host.on("alpha", body=body, headers=headers)
                async with stalls() as spells:
                    error = (await ask(provider, stream=stream)).error
                # No model writes a web page.
                expected = ("not_found", False) if body.startswith(b"<") else ("malformed", True)
                assert (body[:40], (error.kind, error.billed)) == (body[:40], expected)
                assert len(str(error)) <= 300
                assert max(spells) < 0.25


@pytest.mark.parametrize(
    ("kind", "event", "kind_of_error"),
    [
        ("openai", b'data: {"error": {"message": "busy", "code": 503}}', "overloaded"),
        ("openai", b'data: {"error": {"message": "wait", "type": "rate_limit_error"}}', "rate_limited"),
        ("openai", b'data: {"error": {"message": "long", "code": "context_length_exceeded"}}', "too_long"),
        (
            "anthropic",
            b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}',
            "overloaded",
        ),
    ],
)
async def test_an_error_inside_a_stream_has_its_kind(
    host: ScriptedHost, kind: str, event: bytes, kind_of_error: str
) -> None:
    host.on("alpha", body=event + b"\n\n")
    async with open_provider(kind, host) as provider:
        error = (await ask(provider, stream=True)).error
    assert (error.kind, error.billed) == (kind_of_error, False)


EMPTIES = {
    "openai": b'{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[%s]}',
    "anthropic": b'{"id":"x","type":"message","role":"assistant","model":"m","content":[%s]}',
    "google": b'{"candidates":[{"content":{"parts":[%s]}}]}',
    "mistral": b'{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[%s]}',
}


@pytest.mark.parametrize("count", [600, 160_000])
@kinds
async def test_a_reply_of_many_empty_parts_blocks_nothing(host: ScriptedHost, kind: str, count: int) -> None:
    async with open_provider(kind, host) as provider:
        await ask(provider, "warm")
        host.on("alpha", body=EMPTIES[kind] % b",".join([b"{}"] * count))
        async with stalls() as spells:
            outcome = await ask(provider)
    if kind in ("openai", "mistral"):
        assert outcome.error.kind == "malformed"
    else:
        assert outcome.completion.text == ""
    assert max(spells) < 0.5


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b'{"choices": [{"message": {"content": "' + b"x" * 12_000_000 + b'"}}]}', {}),
        (b"data: " + b"x" * 12_000_000 + b"\n\n", {}),
        ((b'data: {"choices": [{"delta": {"content": "' + b"x" * 2000 + b'"}}]}\n\n') * 6_000, {}),
        (None, {"Content-Encoding": "gzip"}),
    ],
    ids=["document", "event", "events", "bomb"],
)
@kinds
@ways
async def test_a_reply_without_end_is_refused(
    host: ScriptedHost, kind: str, stream: bool, body: bytes | None, headers: dict[str, str]
) -> None:
    async with open_provider(kind, host) as provider:
        await ask(provider, "warm", stream=stream)
        host.on("alpha", body=bomb() if body is None else body, headers=headers)
        tracemalloc.start()
        outcome = await ask(provider, stream=stream)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert (outcome.error.kind, outcome.error.billed) == ("malformed", True)
    assert peak < 100_000_000


async def test_a_long_answer_is_read_to_its_end(host: ScriptedHost) -> None:
    text = "word " * 60_000
    host.on("alpha", text=text)
    async with open_provider("openai", host) as provider:
        assert (await ask(provider)).completion.text == text


@kinds
@ways
async def test_a_silent_host_times_out_after_the_time_that_is_left(
    host: ScriptedHost, kind: str, stream: bool
) -> None:
    host.on("alpha", hang=True)
    async with open_provider(kind, host) as provider:
        began = time.monotonic()
        error = (await ask(provider, stream=stream, timeout_s=0.2)).error
    assert (error.kind, error.billed) == ("timeout", True)
    assert 0.2 <= time.monotonic() - began < STALL_S


@pytest.mark.parametrize(
    "fault", [{"hang": True}, {"drip": (1, 0.05)}, {"pings": 0.05}], ids=["hang", "drip", "pings"]
)
@pytest.mark.parametrize("kind", ["openai", "anthropic", "mistral"])
@ways
async def test_a_cancelled_call_closes_its_connection_at_once(
    host: ScriptedHost, kind: str, stream: bool, fault: dict[str, Any]
) -> None:
    host.on("alpha", **fault)
    async with open_provider(kind, host) as provider:
        call = Call("alpha", QUESTION, 100)
        asked = asyncio.create_task(provider.complete(call, (lambda _: None) if stream else None))
        await host.wait_for_requests(1)
        await asyncio.sleep(0.1)  # the call reads what comes
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        cancelled = time.time()
        await host.wait_until_idle()
        (request,) = host.log
        assert request.left is not None
        assert request.left - cancelled < STALL_S
        assert (await ask(provider, "beta", stream=stream)).completion.text
