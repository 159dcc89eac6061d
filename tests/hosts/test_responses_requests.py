"""Models that their host offers in OpenAI's Responses API alone: requests in its form, over a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pnyx.core.steps import Schema
from pnyx.errors import ProviderError
from pnyx.providers.base import Call, Message, ToolCall, ToolSpec
from pnyx.providers.hosted.provider import HostedProvider, open_hosted


def error(message: str, **more: str) -> str:
    return json.dumps({"error": {"message": message, **more}})


REFUSALS = [
    (
        404,
        error("This model is only supported in v1/responses and not in v1/chat/completions.", param="model"),
    ),
    (404, error("This is not a chat model and thus not supported in the v1/chat/completions endpoint.")),
    (
        400,
        error('model "alpha" is not accessible via the /chat/completions endpoint', code="unsupported_api"),
    ),
    (400, error("The chatCompletion operation does not work with the specified model, alpha.")),
]
EFFORT = error(
    "Function tools with reasoning_effort are not supported for alpha in /v1/chat/completions. "
    "Please use /v1/responses instead.",
    param="reasoning_effort",
)
MISSING = (404, error("Not Found"))
USAGE = {"input_tokens": 10, "output_tokens": 5}
TEXT = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]}
RESPONSE = {"object": "response", "status": "completed", "output": [TEXT], "usage": USAGE}
DELTA = {"type": "response.output_text.delta", "output_index": 0, "delta": "Yes."}
EVENTS = [DELTA, {"type": "response.completed", "response": RESPONSE}]
DOCUMENT = (200, json.dumps(RESPONSE))
STREAM = (200, "".join(f"data: {json.dumps(event)}\n\n" for event in EVENTS))
ANSWER = (
    200,
    '{"choices":[{"message":{"content":"Yes."},"finish_reason":"stop"}],'
    '"usage":{"prompt_tokens":10,"completion_tokens":5}}',
)
CALL = Call("alpha", (Message("system", "Be brief."), Message("user", "Is 7 prime?")), max_tokens=100)
SEARCH = ToolSpec("search", "Searches.", {"type": "object", "properties": {}})


class Host:
    """Sends `replies` one after another. sent: the path and the body of each request."""

    def __init__(self, replies: Sequence[tuple[int, str]]) -> None:
        self.replies = list(replies)
        self.sent: list[tuple[str, dict[str, Any]]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(line for line in head.lower().split("\r\n") if line.startswith("content-length:"))
        body = await reader.readexactly(int(length.partition(":")[2]))
        self.sent.append((head.split()[1], json.loads(body)))
        status, text = self.replies.pop(0)
        close = f"Content-Length: {len(text.encode())}\r\nConnection: close"
        writer.write(f"HTTP/1.1 {status} X\r\n{close}\r\n\r\n{text}".encode())
        await writer.drain()
        writer.close()

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.sent]


@asynccontextmanager
async def opened(*replies: tuple[int, str]) -> AsyncIterator[tuple[Host, HostedProvider]]:
    host = Host(replies)
    listener = await asyncio.start_server(host.serve, "127.0.0.1", 0)
    async with listener:
        address = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
        provider = open_hosted("openai", base_url=address, api_key="k")
        try:
            yield host, provider
        finally:
            await provider.close()


CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"


async def test_a_model_of_the_responses_api_alone_is_asked_there_from_then_on() -> None:
    for refusal in REFUSALS:
        async with opened(refusal, DOCUMENT, STREAM) as (host, provider):
            first = await provider.complete(CALL)
            pieces: list[str] = []
            second = await provider.complete(CALL, pieces.append)
        assert host.paths == [CHAT, RESPONSES, RESPONSES], refusal
        assert (first.text, second.text, "".join(pieces)) == ("Yes.", "Yes.", "Yes.")
        assert first.usage is not None
        assert (first.usage.input_tokens, first.usage.output_tokens) == (10, 5)
        assert (first.notes, second.notes) == (
            ("alpha is asked in the Responses API, as its host wants it",),
            (),
        )


async def test_a_request_says_the_same_in_the_form_of_the_responses_api() -> None:
    schema = Schema.of("verdict", {"type": "object", "properties": {"vote": {"type": "string"}}})
    turns = (
        *CALL.messages,
        Message("assistant", "One moment.", tool_calls=(ToolCall("c1", "search", {"q": "7"}),)),
        Message("tool", "7 is prime.", tool_call_id="c1", tool_name="search"),
    )
    call = Call(
        "alpha", turns, max_tokens=100, temperature=0.5, seed=7, schema=schema, tools=(SEARCH,), effort="low"
    )
    async with opened(REFUSALS[0], DOCUMENT) as (host, provider):
        await provider.complete(call)
    body = host.sent[1][1]
    assert body["input"] == [
        {"role": "system", "content": [{"type": "input_text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "input_text", "text": "Is 7 prime?"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "One moment."}]},
        {"type": "function_call", "call_id": "c1", "name": "search", "arguments": '{"q":"7"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "7 is prime."},
    ]
    assert (body["max_output_tokens"], body["temperature"], body["store"]) == (100, 0.5, False)
    assert body["reasoning"] == {"effort": "low"}
    assert [tool["name"] for tool in body["tools"]] == ["search"]
    assert not body.keys() & {"messages", "max_tokens", "seed", "stream_options", "reasoning_effort"}


async def test_what_the_responses_api_refuses_is_left_out_or_lowered_too() -> None:
    refused = [
        error(f"Unsupported parameter: '{name}' is not supported with this model.", param=name)
        for name in ("temperature", "reasoning.effort", "store")
    ]
    limit = error("max_output_tokens is too large: 100. The maximum is 64.", param="max_output_tokens")
    replies = [(400, text) for text in (*refused, limit)]
    call = Call("alpha", CALL.messages, max_tokens=100, temperature=0.5, effort="low")
    async with opened(REFUSALS[0], *replies, DOCUMENT) as (host, provider):
        assert (await provider.complete(call)).text == "Yes."
    body = host.sent[-1][1]
    assert not body.keys() & {"temperature", "reasoning", "store"}
    assert body["max_output_tokens"] == 64


async def test_a_host_without_the_responses_api_is_asked_no_more_than_once() -> None:
    async with opened(REFUSALS[0], MISSING, REFUSALS[0]) as (host, provider):
        for _ in range(2):
            with pytest.raises(ProviderError, match="only supported in v1/responses") as caught:
                await provider.complete(CALL)
            assert (caught.value.kind, caught.value.billed) == ("not_found", False)
    assert host.paths == [CHAT, RESPONSES, CHAT]


async def test_without_the_responses_api_what_the_chat_api_refuses_is_left_out() -> None:
    call = Call("alpha", CALL.messages, max_tokens=100, tools=(SEARCH,), effort="low")
    async with opened((400, EFFORT), MISSING, ANSWER) as (host, provider):
        assert (await provider.complete(call)).text == "Yes."
    assert host.paths == [CHAT, RESPONSES, CHAT]
    assert "tools" in host.sent[-1][1]
    assert "reasoning_effort" not in host.sent[-1][1]
