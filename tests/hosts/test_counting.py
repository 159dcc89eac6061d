"""A host counts the tokens of the request that would be sent, if its API has a count."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from pnyx.core.steps import Schema
from pnyx.core.tool_calls import ToolCall
from pnyx.providers.base import Call, Message, ToolSpec, counted_tokens
from pnyx.providers.hosted.connection import HostRequest
from pnyx.providers.hosted.counting import _forms
from pnyx.providers.hosted.provider import HostedProvider, open_hosted
from tests.support.counting import CountingHost
from tests.support.hosting import KEY
from tests.support.rows import rows

TEXT = "توصي مجموعة العمل بإبقاء الخدمات الأربع. " * 50
TOOL = ToolSpec("add", "Adds.", {"type": "object", "properties": {"x": {"type": "integer"}}})
SCHEMA = Schema.of("verdict", {"type": "object", "properties": {"yes": {"type": "boolean"}}})
PLAIN = Call("m", (Message("system", "Be brief."), Message("user", TEXT)), 500, temperature=0.5, seed=7)
CALLED = ToolCall("1", "add", {"x": 1})
CALLS = {
    "text": PLAIN,
    "thinking": replace(PLAIN, temperature=None, thinking_tokens=300),
    "schema": replace(PLAIN, schema=SCHEMA),
    "tools": replace(PLAIN, tools=(TOOL,)),
    "turns": replace(
        PLAIN,
        tools=(TOOL,),
        messages=(
            *PLAIN.messages,
            Message("assistant", "I add.", (CALLED,)),
            Message("tool", TEXT, tool_call_id="1", tool_name="add"),
        ),
    ),
    "cached": replace(
        PLAIN, cache_key="k", messages=(PLAIN.messages[0], Message("user", TEXT, breaks=(40, 90)))
    ),
}
SERVERS = (("anthropic", ""), ("google", ""), ("openai", "vllm"), ("openai", "llama.cpp"))
LEFT_OUT = ("max_tokens", "max_completion_tokens", "stream", "temperature", "seed", "prompt_cache_key")


@asynccontextmanager
async def opened(dialect: str, server: str) -> AsyncIterator[tuple[CountingHost, HostedProvider]]:
    async with CountingHost(server) as host:
        provider = open_hosted(dialect, base_url=getattr(host, dialect), api_key=KEY)
        try:
            yield host, provider
        finally:
            await provider.close()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(("dialect", "server"), SERVERS)
async def test_a_count_is_that_of_the_request_that_is_sent(dialect: str, server: str, call: Call) -> None:
    async with opened(dialect, server) as (host, provider):
        if server == "llama.cpp":
            await provider.count_tokens(PLAIN)  # finds out what server it is
        counted = await provider.count_tokens(call)
        assert host.log == []
        if call.tools and server == "vllm":
            assert (counted, host.counts) == (None, [])
            return
        _, asked = host.counts[-1]
        await provider.complete(call)
        sent = host.log[-1].body
        assert counted == host.tokens(sent)
        asked = asked.get("generateContentRequest", asked)
        assert asked["model"] in ("m", "models/m")
        assert all(asked[name] == sent.get(name) for name in asked if name != "model")
        assert "tools" not in sent or asked["tools"] == sent["tools"]
        assert dialect == "google" or not set(LEFT_OUT) & asked.keys()


async def test_a_count_comes_from_the_responses_api_of_openai() -> None:
    body = {"model": "gpt-9", "stream": False, "seed": 7, "max_completion_tokens": 500}
    body |= {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": TEXT}]}
    headers = [("Authorization", f"Bearer {KEY}")]
    request = HostRequest("https://api.openai.com/v1/chat/completions", headers, body)
    ((_, asked),) = _forms(request)
    assert (asked.url, asked.headers) == ("https://api.openai.com/v1/responses/input_tokens", headers)
    assert asked.body.keys() == {"model", "input"}
    assert [item["role"] for item in asked.body["input"]] == ["system", "user"]
    elsewhere = HostRequest("https://example.com/a/responses?v=1", headers, {**asked.body, "store": False})
    ((_, again),) = _forms(elsewhere)
    assert (again.url, again.body) == ("https://example.com/a/responses/input_tokens?v=1", asked.body)


@rows("status", [404, 405, 501])
@rows("dialect, server", SERVERS)
async def test_a_host_without_a_count_is_asked_once_for_each_model(
    dialect: str, server: str, status: int
) -> None:
    async with opened(dialect, server) as (host, provider):
        host.answers = lambda path, document: (status, b'{"error": {"message": "unknown url"}}')
        for call in (PLAIN, PLAIN, replace(PLAIN, model="n"), replace(PLAIN, model="n"), PLAIN):
            assert await provider.count_tokens(call) is None
        assert len(host.counts) == 2
        host.answers = host.count
        assert await provider.count_tokens(PLAIN) is None
        assert (await provider.complete(PLAIN)).text


@rows("status", [400, 401, 403, 422, 429, 500, 503, 529])
async def test_a_host_that_refuses_one_count_is_asked_for_the_next(status: int) -> None:
    async with opened("anthropic", "") as (host, provider):
        host.answers = lambda path, document: (status, b'{"error": {"message": "no"}}')
        assert await counted_tokens(provider, PLAIN) is None
        host.answers = host.count
        assert await counted_tokens(provider, PLAIN) == host.tokens(host.counts[-1][1])


NUMBERS: tuple[Any, ...] = (None, "12", 12.0, True, [12], {}, -1, 0)
ODD: dict[str, Any] = {
    "empty": b"",
    "text": b"twelve",
    "HTML": b"<!doctype html><html><body>Welcome</body></html>",
    "number": b"12",
    "list": b"[12]",
    "null": b"null",
    "no JSON": b'{"input_tokens": 12',
    "other name": {"tokens_of_input": 12},
    **{repr(odd): {"input_tokens": odd} for odd in NUMBERS},
    "nan": b'{"input_tokens": NaN}',
    "error": {"error": {"message": "overloaded", "type": "overloaded_error"}},
}


@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
async def test_an_odd_answer_is_no_count_and_no_failure(body: Any) -> None:
    async with opened("anthropic", "") as (host, provider):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        host.answers = lambda path, document: (200, raw)
        for _ in range(2):
            assert await counted_tokens(provider, PLAIN) is None
        done = await provider.complete(PLAIN)
        assert (done.text != "", done.notes) == (True, ())
        says_nothing = b"error" not in raw and not re.search(rb'_tokens": -?\d+}', raw)
        assert len(host.counts) == (1 if says_nothing else 2)


async def test_a_server_of_unknown_kind_is_not_sent_what_it_may_take_for_a_chat() -> None:
    async with opened("openai", "other") as (host, provider):
        assert [await provider.count_tokens(PLAIN) for _ in range(3)] == [None, None, None]
        assert [path for path, _ in host.counts] == ["/tokenize"]


async def test_a_count_without_a_host_is_none() -> None:
    provider = open_hosted("openai", base_url="http://127.0.0.1:9/v1", api_key=KEY)
    assert await counted_tokens(provider, PLAIN) is None
    await provider.close()


@pytest.mark.parametrize(
    "method", [lambda call: 9, lambda call: None, lambda: 9], ids=["plain", "none", "bare"]
)
async def test_a_method_that_is_not_async_counts_nothing(method: Callable[..., Any]) -> None:
    class Odd:
        count_tokens = staticmethod(method)

    assert await counted_tokens(Odd(), PLAIN) is None
