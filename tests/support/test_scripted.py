from __future__ import annotations

import asyncio
import hashlib
import json
import resource
import time
from collections.abc import Callable
from typing import Any

import pytest

from pnyx.core.models import Price, Usage
from tests.support.scripted import RemoteHost, ScriptedHost, spawn
from tests.support.waiting import STALL_S

ASK = {"model": "alpha", "messages": [{"role": "user", "content": "Where did the assembly meet?"}]}
PATHS = {
    "openai": "/v1/chat/completions",
    "mistral": "/mistral/v1/chat/completions",
    "anthropic": "/v1/messages",
    "google": "/v1beta/models/alpha:generateContent",
}


class Client:
    """One raw connection, so that tests see bytes and not a client library's view of them."""

    def __init__(self, host: ScriptedHost) -> None:
        self.port = host.port

    async def __aenter__(self) -> Client:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()

    def send(self, document: Any, path: str = "/v1/chat/completions") -> bytes:
        raw = json.dumps(document).encode()
        self.writer.write(
            f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(raw)}\r\n\r\n".encode() + raw
        )
        return raw

    async def head(self) -> tuple[int, dict[str, str]]:
        first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        return int(first.split()[1]), {
            k.lower(): v.strip() for k, _, v in (li.partition(":") for li in lines)
        }

    async def ask(
        self, document: Any, path: str = "/v1/chat/completions"
    ) -> tuple[int, dict[str, str], bytes]:
        self.send(document, path)
        status, headers = await self.head()
        if "content-length" in headers:
            return status, headers, await self.reader.readexactly(int(headers["content-length"]))
        body = b""
        while size := int(await self.reader.readline(), 16):
            body += (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readexactly(2)
        return status, headers, body


async def test_the_default_reply_depends_on_model_and_prompt_only(host: ScriptedHost) -> None:
    async with Client(host) as client:
        replies = [json.loads((await client.ask(ASK | {"model": m}))[2]) for m in ("alpha", "alpha", "beta")]
    texts = [reply["choices"][0]["message"]["content"] for reply in replies]
    assert texts[0] == texts[1] != texts[2]
    assert "Final answer: " in texts[0]
    made = len(texts[0]) // 4 + 1
    assert replies[0]["usage"] == {"prompt_tokens": 8, "completion_tokens": made, "total_tokens": 8 + made}


async def test_it_serves_in_the_loop_of_a_test_too() -> None:
    async with ScriptedHost() as host, Client(host) as client:
        assert (await client.ask(ASK))[0] == 200


@pytest.mark.parametrize("dialect", PATHS)
async def test_every_dialect_returns_the_same_text_whole_and_streamed(
    host: ScriptedHost, dialect: str
) -> None:
    host.on("alpha", text="Upon the Pnyx, a hill.")
    path = PATHS[dialect]
    document: dict[str, Any] = dict(ASK)
    if dialect == "google":
        document = {"contents": [{"role": "user", "parts": [{"text": "Where?"}]}]}
    async with Client(host) as client:
        whole = json.loads((await client.ask(document, path))[2])
        if dialect == "google":
            path = path.replace("generateContent", "streamGenerateContent") + "?alt=sse"
        else:
            document["stream"] = True
        _, headers, body = await client.ask(document, path)
    assert headers["content-type"] == "text/event-stream"
    assert "Upon the Pnyx, a hill." in json.dumps(whole)
    events = [line[6:] for line in body.decode().splitlines() if line.startswith("data: ")]
    read: dict[str, Callable[[Any], str]] = {
        "openai": lambda e: e["choices"][0]["delta"].get("content", "") if e["choices"] else "",
        "anthropic": lambda e: e.get("delta", {}).get("text", ""),
        "google": lambda e: "".join(p["text"] for p in e["candidates"][0]["content"]["parts"]),
    }
    read["mistral"] = read["openai"]
    pieces = [read[dialect](json.loads(event)) for event in events if event != "[DONE]"]
    assert "".join(pieces) == "Upon the Pnyx, a hill."
    assert len([piece for piece in pieces if piece]) == 5


async def test_usage_is_streamed_only_on_request(host: ScriptedHost) -> None:
    async with Client(host) as client:
        silent = (await client.ask(ASK | {"stream": True}))[2]
        body = (await client.ask(ASK | {"stream": True, "stream_options": {"include_usage": True}}))[2]
    assert b"usage" not in silent
    assert b'"completion_tokens"' in body


async def test_a_schema_gets_an_instance_of_it(host: ScriptedHost) -> None:
    schema = {
        "type": "object",
        "properties": {
            "choice": {"enum": ["A", "B"]},
            "score": {"type": "integer", "minimum": 3, "maximum": 5},
            "why": {"type": ["string", "null"]},
            "sure": {"type": "boolean"},
            "points": {
                "type": "array",
                "minItems": 2,
                "items": {"anyOf": [{"const": "x"}, {"type": "null"}]},
            },
        },
    }
    async with Client(host) as client:
        asked = ASK | {"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}}
        reply = json.loads((await client.ask(asked))[2])
    made = json.loads(reply["choices"][0]["message"]["content"])
    assert made["choice"] in ("A", "B")
    assert 3 <= made["score"] <= 5
    assert isinstance(made["why"], str)
    assert isinstance(made["sure"], bool)
    assert made["points"] == ["x", "x"]


async def test_a_fault_applies_to_its_model_and_call_and_the_last_one_wins(host: ScriptedHost) -> None:
    host.on("*", text="any")
    host.on("alpha", call=2, status=429, headers={"Retry-After": "2"}, message="slow down")
    host.on("alpha", call=range(3, 5), text=lambda request: f"call {request.call}")
    async with Client(host) as client:
        replies = [
            await client.ask(ASK | {"model": m})
            for m in ("alpha", "beta", "alpha", "alpha", "alpha", "alpha")
        ]
    assert [reply[0] for reply in replies] == [200, 200, 429, 200, 200, 200]
    assert replies[2][1]["retry-after"] == "2"
    assert b"slow down" in replies[2][2]
    texts = [json.loads(reply[2])["choices"][0]["message"]["content"] for reply in replies if reply[0] == 200]
    assert texts == ["any", "any", "call 3", "call 4", "any"]


async def test_a_cut_is_exact_to_the_byte(host: ScriptedHost) -> None:
    for unframed in (False, True):
        host.on("alpha", cut_at=120, unframed=unframed)
        async with Client(host) as client:
            client.send(ASK)
            _, headers = await client.head()
            assert ("content-length" in headers) is not unframed
            assert len(await client.reader.read()) == 120
        assert host.log[-1].sent == 120
        assert not host.log[-1].completed


async def test_a_cut_inside_a_streamed_event_breaks_its_frame(host: ScriptedHost) -> None:
    host.on("alpha", cut_at=7)
    async with Client(host) as client:
        client.send(ASK | {"stream": True})
        await client.head()
        promised = int(await client.reader.readline(), 16)
        assert await client.reader.read() == b"data: {"
        assert promised > 100


async def test_a_cut_after_the_end_has_no_effect(host: ScriptedHost) -> None:
    host.on("alpha", cut_at=100_000)
    async with Client(host) as client:
        assert (await client.ask(ASK))[0] == 200
    assert host.log[-1].completed


async def test_a_reset_breaks_the_connection_before_or_inside_a_reply(host: ScriptedHost) -> None:
    host.on("alpha", reset=True)
    host.on("beta", reset=True, cut_at=10)
    async with Client(host) as client:
        client.send(ASK)
        with pytest.raises(ConnectionResetError):
            await client.reader.read()
    async with Client(host) as client:
        client.send(ASK | {"model": "beta"})
        with pytest.raises(ConnectionResetError):
            await client.reader.readexactly(100_000)
    assert [r.sent for r in host.log] == [0, 10]


async def test_a_hang_ends_when_the_client_disconnects_and_the_log_has_the_time(host: ScriptedHost) -> None:
    host.on("alpha", hang=True)
    began = time.time()
    async with Client(host) as client:
        client.send(ASK)
        await host.wait_for_requests(1)
        await asyncio.sleep(0.1)
        assert host.log[0].left is None
    await host.wait_until_idle()
    assert host.log[0].left is not None
    assert 0.1 < host.log[0].left - began < STALL_S
    assert host.log[0].usage is None


async def test_drips_and_pings_are_slow(host: ScriptedHost) -> None:
    host.on("alpha", body=b"0123456789", drip=(4, 0.05))
    host.on("beta", pings=0.02)
    async with Client(host) as client:
        began = time.monotonic()
        assert (await client.ask(ASK))[2] == b"0123456789"
        assert time.monotonic() - began >= 0.1
        client.send(ASK | {"model": "beta"})
        await client.head()
        for _ in range(3):
            assert await client.reader.readuntil(b"\n\n\r\n") == b"e\r\n: still here\n\n\r\n"


async def test_a_reply_can_wait_for_other_requests() -> None:
    async with ScriptedHost() as host, Client(host) as one, Client(host) as other:
        host.on("alpha", call=1, after=2)
        waiting = asyncio.create_task(one.ask(ASK))
        await host.wait_for_requests(1)
        await asyncio.sleep(0.05)
        assert not host.log[0].done
        await other.ask(ASK)
        assert (await waiting)[0] == 200


async def test_delay_and_latency_delay_a_reply_and_keep_the_connection() -> None:
    async with ScriptedHost(latency=0.05) as host, Client(host) as client:
        host.on("beta", delay=0.05)
        for model, least in (("alpha", 0.05), ("beta", 0.1)):
            began = time.monotonic()
            await client.ask(ASK | {"model": model})
            assert time.monotonic() - began >= least
        assert len(host.connections) == 1


async def test_the_log_has_the_hash_of_each_body(host: ScriptedHost) -> None:
    async with Client(host) as client:
        raw = client.send(ASK)
        await client.head()
    (request,) = host.log
    assert request.sha256 == hashlib.sha256(raw).hexdigest()
    assert (request.bytes, request.body, request.path) == (len(raw), ASK, "/v1/chat/completions")
    assert host.requests("alpha") == [request]
    assert host.requests("beta") == []


async def test_the_bill_counts_real_usage_whatever_is_reported(host: ScriptedHost) -> None:
    cached = {"prompt_tokens": 1000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 400}}
    host.on("alpha", text="x" * 400)
    for call, usage in enumerate((None, {"prompt_tokens": -5, "completion_tokens": 1e18}, cached), 1):
        host.on("alpha", call=call, text="x" * 400, usage=usage)
    host.on("beta", status=500)
    price = Price(1.0, 4.0, cached=0.1)
    async with Client(host) as client:
        for model in ("alpha", "alpha", "alpha", "beta"):
            await client.ask(ASK | {"model": model})
    counted = price.cost(Usage(8, 0, 101))
    assert host.bill({"alpha": price, "beta": price}) == 2 * counted + price.cost(Usage(1000, 400, 10))


async def test_a_cut_reply_is_billed(host: ScriptedHost) -> None:
    host.on("alpha", text="x" * 400, cut_at=10)
    async with Client(host) as client:
        client.send(ASK)
        await client.reader.read()
    assert host.bill({"alpha": Price(1.0, 4.0)}) == Price(1.0, 4.0).cost(Usage(8, 0, 101))


async def test_models_are_listed_and_unknown_pages_are_not_found(host: ScriptedHost) -> None:
    async with Client(host) as client:
        assert b'"alpha"' in (await client.ask({}, "/v1/models"))[2]
        assert (await client.ask({}, "/elsewhere"))[0] == 404
    assert host.log == []


async def test_hundreds_of_concurrent_clients_are_cheap() -> None:
    async with ScriptedHost(latency=0.3) as host:

        async def one() -> int:
            async with Client(host) as client:
                return (await client.ask(ASK))[0]

        used = time.process_time()
        began = time.monotonic()
        assert await asyncio.gather(*(one() for _ in range(300))) == [200] * 300
        assert time.monotonic() - began < STALL_S  # one after another they take 90 s
        assert (time.process_time() - used) / 300 < 0.005
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 700


def test_a_host_in_its_own_process_is_scripted_and_read_over_http() -> None:
    with spawn(latency=0.01) as host:
        host.on("alpha", text="from afar")

        async def ask() -> bytes:
            async with Client(host) as client:
                return (await client.ask(ASK))[2]

        assert b"from afar" in asyncio.run(ask())
        assert isinstance(host, RemoteHost)
        (request,) = host.log
        assert (request.model, request.completed, request.body) == ("alpha", True, ASK)
        assert host.bill({"alpha": Price(1.0, 4.0)}) == Price(1.0, 4.0).cost(Usage(8, 0, 3))
