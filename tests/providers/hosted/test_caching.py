"""How hosts learn which beginnings requests share, and what their caches cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.models import Usage
from pnyx.core.parsing.verdicts import APPROVAL
from pnyx.core.tool_calls import ToolCall, ToolSpec
from pnyx.providers.base import Call, Message
from pnyx.providers.hosted.dialects import DIALECTS
from pnyx.providers.hosted.requests import RequestBuilder
from tests.support.hosting import ask, kinds, open_provider, openrouter, provider_at, ways
from tests.support.scripted import ScriptedHost

GROWING = ("<question>Is 7 prime?</question>\n", "A says yes.\n", "B says no.\n", "Now vote.")
TEXT = "".join(GROWING)
BREAKS = (len(GROWING[0]), len("".join(GROWING[:2])), len("".join(GROWING[:3])))
TURNS = (Message("system", "You sit on a panel."), Message("user", TEXT, breaks=BREAKS))
CLAUDE = "claude-sonnet-4-6"
TOOLS = (ToolSpec("read_file", "Read a file.", {"type": "object"}),)


def parts(content: Any) -> list[tuple[str, bool]]:
    """The parts of a message: text, and whether a mark follows it."""
    return [(part["text"], "cache_control" in part) for part in content]


@ways
async def test_anthropic_gets_a_mark_behind_the_first_and_the_last_shared_prefix(
    host: ScriptedHost, stream: bool
) -> None:
    async with open_provider("anthropic", host) as provider:
        assert (await ask(provider, CLAUDE, stream=stream, messages=TURNS, cache_key="k")).completion.text
    body = host.log[0].body
    (message,) = body["messages"]
    assert parts(message["content"]) == list(zip(GROWING, (True, False, True, False), strict=True))
    assert "You sit on a panel." in repr(body["system"])
    assert "prompt_cache_key" not in body


async def sent(call: Call) -> Any:
    """The content of the only message of the request for `call`."""
    builder = RequestBuilder(DIALECTS["anthropic"], "http://127.0.0.1:9", None)
    (message,) = (await builder.build(call, stream=False)).body["messages"]
    await builder.close()
    return message["content"]


@given(text=st.text("ab \n<|é議", min_size=1, max_size=60), data=st.data())
async def test_marks_never_change_the_text(text: str, data: st.DataObject) -> None:
    places = data.draw(st.sets(st.integers(1, len(text)), min_size=1, max_size=5))
    text = f".{text}."
    marked = await sent(Call(CLAUDE, (Message("user", text, breaks=tuple(sorted(places))),), 100))
    found = parts(marked)
    marks = [n for n, (_, mark) in enumerate(found) if mark]
    assert marks[0] == 0
    assert len(marks) == min(len(places), 2)
    assert all(part for part, _ in found)
    assert "".join(part for part, _ in found).replace("\u200b", "") == text


@pytest.mark.parametrize("tools", [TOOLS, ()])
async def test_results_of_tools_have_a_mark_if_another_turn_may_follow(tools: tuple[ToolSpec, ...]) -> None:
    results = list[Message]()
    for turn in "123":
        results += [
            Message("assistant", "", (ToolCall(turn, "read_file", {"path": "a.md"}),)),
            Message("tool", f"Retries: {turn}", tool_call_id=turn, tool_name="read_file"),
        ]
    builder = RequestBuilder(DIALECTS["anthropic"], "http://127.0.0.1:9", None)
    request = await builder.build(Call(CLAUDE, (*TURNS, *results), 100, tools=tools), stream=False)
    await builder.close()
    marks = [
        (number, place)
        for number, message in enumerate(request.body["messages"])
        for place, block in enumerate(message["content"])
        if "cache_control" in block
    ]
    assert marks == [(0, 0), (0, 2), *([(6, 0)] if tools else [])]


async def test_openai_gets_the_key_and_one_text(host: ScriptedHost) -> None:
    async with open_provider("openai", host) as provider:
        await ask(provider, messages=TURNS, cache_key="run-and-model")
        await ask(provider, messages=TURNS)
    first, second = (request.body for request in host.log)
    assert first["prompt_cache_key"] == "run-and-model"
    assert [message["content"] for message in first["messages"]] == ["You sit on a panel.", TEXT]
    assert "prompt_cache_key" not in second


@kinds
async def test_other_hosts_find_the_prefixes_themselves(host: ScriptedHost, kind: str) -> None:
    async with open_provider(kind, host) as provider:
        await ask(provider, messages=TURNS, cache_key="k")
    body = repr(host.log[0].body)
    assert ("prompt_cache_key" in body) == (kind == "openai")
    assert ("cache_control" in body) == (kind == "anthropic")


async def test_a_host_that_refuses_the_key_is_asked_without_it_from_then_on(host: ScriptedHost) -> None:
    refusal = b'{"error": {"message": "Unrecognized request argument supplied: prompt_cache_key"}}'
    host.on("alpha", call=1, status=400, body=refusal)
    async with open_provider("openai", host) as provider:
        for _ in range(2):
            assert (await ask(provider, cache_key="k")).completion.text
    assert ["prompt_cache_key" in request.body for request in host.log] == [True, False, False]


@pytest.mark.parametrize(
    ("model", "marked"), [("anthropic/claude-sonnet-4.6", True), ("openai/gpt-5", False)]
)
async def test_openrouter_gets_marks_for_the_vendors_that_read_them(
    host: ScriptedHost, model: str, marked: bool
) -> None:
    async with openrouter(host) as provider:
        assert (await ask(provider, model, messages=TURNS)).completion.text
    assert ("cache_control" in repr(host.log[0].body)) == marked


def sentences(body: Any) -> set[str]:
    """All texts of a body that are more than one word."""
    if isinstance(body, str):
        return {body} if " " in body else set()
    values = body.values() if isinstance(body, dict) else body if isinstance(body, list) else ()
    return set().union(*map(sentences, values))


@kinds
async def test_a_schema_in_words_changes_nothing_before_the_task(kind: str) -> None:
    builder = RequestBuilder(DIALECTS[kind], "http://127.0.0.1:9", None)
    bodies = [
        (await builder.build(Call("alpha", TURNS, 100, schema=one), stream=False, plain_schema=True)).body
        for one in (None, APPROVAL)
    ]
    await builder.close()
    ((without,), (with_schema,)) = (
        sentences(one) - sentences(other) for one, other in (bodies, bodies[::-1])
    )
    assert with_schema.startswith(without)
    assert without.endswith("Now vote.")
    assert "JSON schema" in with_schema


OPENAI, ROUTER = "https://api.openai.com/v1", "https://openrouter.ai/api/v1"


@pytest.mark.parametrize("shares", [True, False])
@pytest.mark.parametrize(
    ("kind", "address", "model", "first"),
    [
        ("openai", OPENAI, "gpt-4.1", True),
        ("openai", "https://lab.openai.azure.com/v1", "gpt-4.1", True),
        ("openai", "https://api.groq.com/v1", "gpt-oss-120b", False),
        ("anthropic", "https://api.anthropic.com", CLAUDE, True),
        ("google", "https://generativelanguage.googleapis.com", "gemini-2.5-pro", False),
        ("openrouter", ROUTER, "openai/gpt-4.1", True),
        ("openrouter", ROUTER, "google/gemini-2.5-pro", False),
    ],
)
async def test_a_schema_that_a_host_puts_first_is_in_words_where_a_prefix_is_shared(
    host: ScriptedHost, kind: str, address: str, model: str, first: bool, shares: bool
) -> None:
    turns = TURNS if shares else [replace(turn, breaks=()) for turn in TURNS]
    async with provider_at(kind, address, host) as provider:
        await ask(provider, model, messages=turns, schema=APPROVAL)
    body = {**host.log[0].body}
    texts = repr([body.pop(name, None) for name in ("messages", "contents")])
    assert ("JSON schema" in texts) == (first and shares)
    assert ("APPROVE" in repr(body)) != (first and shares)


LIVES = {"ephemeral_5m_input_tokens": 60, "ephemeral_1h_input_tokens": 40}


@ways
@pytest.mark.parametrize(
    ("extra", "usage"),
    [
        ({}, Usage(1000, 400, 50, 0, 100)),
        ({"cache_creation": LIVES}, Usage(1000, 400, 50, 0, 60, 40)),
        ({"cache_creation": {"ephemeral_1h_input_tokens": 4000}}, Usage(1000, 400, 50, 0, 100)),
        ({"cache_creation": None}, Usage(1000, 400, 50, 0, 100)),
    ],
)
async def test_what_is_written_to_a_cache_is_counted_apart(
    host: ScriptedHost, stream: bool, extra: dict[str, Any], usage: Usage
) -> None:
    report = {"input_tokens": 500, "cache_read_input_tokens": 400, "cache_creation_input_tokens": 100}
    host.on(CLAUDE, text="Yes.", usage={**report, "output_tokens": 50, **extra})
    async with open_provider("anthropic", host) as provider:
        assert (await ask(provider, CLAUDE, stream=stream)).completion.usage == usage


async def test_a_router_counts_what_it_writes_to_a_cache_too(host: ScriptedHost) -> None:
    details = {"cached_tokens": 400, "cache_write_tokens": 100}
    report = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
    host.on("alpha", usage={**report, "prompt_tokens_details": details})
    async with open_provider("openai", host) as provider:
        assert (await ask(provider)).completion.usage == Usage(1000, 400, 50, 0, 100)
