"""Hosted providers over real sockets: what is sent, what comes back, and how it ends."""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys

import pytest

from pnyx.core.models import Usage
from pnyx.core.steps import Schema
from pnyx.providers.base import Call, Message, ToolCall, ToolSpec
from pnyx.providers.hosted.provider import open_hosted
from tests.support.hosting import KEY, KINDS, ask, kinds, open_provider, ways
from tests.support.scripted import ScriptedHost
from tests.support.waiting import until

VOTE = Schema.of(
    "vote",
    {"type": "object", "properties": {"choice": {"enum": ["A", "B"]}}, "required": ["choice"]},
)
SEARCH = ToolSpec(
    "web_search",
    "Searches the web.",
    {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)
CAPABLE = {"openai": "alpha", "anthropic": "claude-sonnet-4-6", "google": "gemini-2.5-pro"}


@kinds
@ways
async def test_a_reply_has_its_text_model_and_usage(host: ScriptedHost, kind: str, stream: bool) -> None:
    host.on("alpha", text="Yes: 7 is prime.")
    async with open_provider(kind, host) as provider:
        outcome = await ask(provider, stream=stream)
    completion = outcome.completion
    assert (completion.text, completion.finish_reason, completion.model) == (
        "Yes: 7 is prime.",
        "stop",
        "alpha",
    )
    assert completion.usage == Usage(input_tokens=3, output_tokens=5)
    assert outcome.pieces == (["Yes: ", "7 ", "is ", "prime."] if stream else [])
    assert len(host.log) == 1


@kinds
async def test_a_conversation_is_sent_in_order_with_its_settings(host: ScriptedHost, kind: str) -> None:
    turns = (
        Message("system", "Be brief."),
        Message("user", "One."),
        Message("assistant", "Two."),
        Message("user", "Three."),
    )
    async with open_provider(kind, host) as provider:
        await ask(provider, messages=turns, max_tokens=77, temperature=0.5)
    body = host.log[0].body
    sent = repr(body)
    order = [sent.index(text) for text in ("One.", "Two.", "Three.")]
    assert order == sorted(order)
    assert "Be brief." in sent
    settings = body.get("generationConfig", body)
    assert settings.get("max_tokens", settings.get("maxOutputTokens")) == 77
    assert settings["temperature"] == 0.5


@pytest.mark.parametrize(
    ("kind", "name"), [("openai", "seed"), ("mistral", "random_seed"), ("google", "seed")]
)
async def test_a_seed_is_sent_where_the_host_has_one(host: ScriptedHost, kind: str, name: str) -> None:
    async with open_provider(kind, host) as provider:
        await ask(provider, seed=7)
    body = host.log[0].body
    assert body.get("generationConfig", body)[name] == 7


async def test_a_seed_is_left_out_where_the_host_has_none(host: ScriptedHost) -> None:
    async with open_provider("anthropic", host) as provider:
        assert (await ask(provider, seed=7)).completion.text
    assert "seed" not in host.log[0].body


@pytest.mark.parametrize("kind", CAPABLE)
@ways
async def test_a_schema_uses_the_structured_output_of_the_host(
    host: ScriptedHost, kind: str, stream: bool
) -> None:
    async with open_provider(kind, host) as provider:
        completion = (await ask(provider, CAPABLE[kind], stream=stream, schema=VOTE)).completion
    assert completion.text in ('{"choice": "A"}', '{"choice": "B"}')


@pytest.mark.parametrize(("kind", "model"), [("mistral", "alpha"), ("anthropic", "claude-2")])
async def test_a_schema_is_sent_in_the_prompt_if_the_model_has_no_structured_output(
    host: ScriptedHost, kind: str, model: str
) -> None:
    async with open_provider(kind, host) as provider:
        assert (await ask(provider, model, schema=VOTE)).completion.text
    assert "choice" in repr(host.log[0].body)
    assert "output_config" not in host.log[0].body


@kinds
@pytest.mark.parametrize(
    "part",
    [
        {"type": ["string", "null"]},
        {},
        True,
        {"not": {"type": "null"}},
        {"allOf": [{"type": "string"}, {"minLength": 2}]},
        {"enum": [None, "A", {"B": 1}]},
        {"$ref": "#/properties/tree"},
    ],
    ids=repr,
)
async def test_any_schema_is_sent(host: ScriptedHost, kind: str, part: object) -> None:
    host.on("*", text='{"choice": "A"}')
    tree = {"type": "object", "properties": {"next": {"$ref": "#/properties/tree"}}}
    schema = Schema.of("any", {"type": "object", "properties": {"choice": part, "tree": tree}})
    async with open_provider(kind, host) as provider:
        outcome = await ask(provider, model=CAPABLE.get(kind, "alpha"), schema=schema)
    assert outcome.completion.text == '{"choice": "A"}'
    assert "choice" in repr(host.log[0].body)


@kinds
@ways
async def test_a_tool_is_offered_called_and_answered(host: ScriptedHost, kind: str, stream: bool) -> None:
    host.on("alpha", call=1, text="", tool_calls=(("web_search", {"query": "Pnyx"}),))
    host.on("alpha", call=2, text="A hill.")
    question = Message("user", "What is the Pnyx?")
    async with open_provider(kind, host) as provider:
        first = (await ask(provider, stream=stream, messages=(question,), tools=(SEARCH,))).completion
        (call,) = first.tool_calls
        turns = (
            question,
            Message("assistant", first.text, tool_calls=first.tool_calls),
            Message("tool", "The Pnyx is a hill.", tool_call_id=call.id, tool_name=call.name),
        )
        second = (await ask(provider, stream=stream, messages=turns, tools=(SEARCH,))).completion
    assert first.finish_reason == "tool"
    assert (call.name, call.arguments) == ("web_search", {"query": "Pnyx"})
    assert "Searches the web." in repr(host.log[0].body)
    assert "The Pnyx is a hill." in repr(host.log[1].body)
    assert (second.text, second.finish_reason) == ("A hill.", "stop")


@ways
@pytest.mark.parametrize(
    ("kind", "model", "choice"),
    [
        ("anthropic", "claude-sonnet-4-6", {"type": "none"}),
        ("anthropic", "alpha", {"type": "none"}),
        ("openai", "anthropic/claude-sonnet-4.6", "none"),
        ("openai", "alpha", None),
        ("mistral", "alpha", None),
    ],
)
async def test_the_last_turn_defines_tools_only_where_calls_of_them_need_it(
    host: ScriptedHost, kind: str, model: str, choice: object, stream: bool
) -> None:
    calls = tuple(ToolCall(str(n), "web_search", {"query": "Pnyx"}) for n in range(2))
    results = (Message("tool", "A hill.", tool_call_id=one.id, tool_name=one.name) for one in calls)
    turns = (Message("user", "What is the Pnyx?"), Message("assistant", "", tool_calls=calls), *results)
    async with open_provider(kind, host) as provider:
        assert (await ask(provider, model, stream=stream, messages=turns)).completion.text
        assert (await ask(provider, model, stream=stream)).completion.text
    last, plain = (request.body for request in host.log)
    assert last.get("tool_choice") == choice
    assert repr(last.get("tools", ())).count("'name': 'web_search'") == (1 if choice else 0)
    assert "tools" not in plain


@ways
@pytest.mark.parametrize(
    "written", ['["x"', '{"url": NaN}', '{"n": [1e999]}', '{"n": -Infinity}', '{"n": 1' + "0" * 5000 + "}"]
)
async def test_arguments_that_are_not_an_object_are_returned_as_text(
    host: ScriptedHost, stream: bool, written: str
) -> None:
    call = {
        "id": "c",
        "type": "function",
        "index": 0,
        "function": {"name": "web_search", "arguments": written},
    }
    host.on("alpha", text="", extra={"tool_calls": [call]})
    async with open_provider("openai", host) as provider:
        completion = (await ask(provider, stream=stream, tools=(SEARCH,))).completion
    assert completion.tool_calls == (ToolCall("c", "web_search", {"INVALID_JSON": written}),)


@kinds
@ways
async def test_an_empty_reply_is_a_reply(host: ScriptedHost, kind: str, stream: bool) -> None:
    host.on("alpha", text="")
    async with open_provider(kind, host) as provider:
        outcome = await ask(provider, stream=stream)
    assert (outcome.completion.text, outcome.completion.finish_reason, outcome.pieces) == ("", "stop", [])


@kinds
@ways
async def test_a_reply_cut_at_max_tokens_says_so(host: ScriptedHost, kind: str, stream: bool) -> None:
    host.on("alpha", text="half an", finish="length")
    async with open_provider(kind, host) as provider:
        completion = (await ask(provider, stream=stream)).completion
    assert (completion.text, completion.finish_reason) == ("half an", "length")


@pytest.mark.parametrize(("kind", "text"), [("openai", "I cannot."), ("anthropic", ""), ("google", "")])
@ways
async def test_a_refusal_is_filtered_with_what_text_there_is(
    host: ScriptedHost, kind: str, text: str, stream: bool
) -> None:
    host.on("alpha", refusal="I cannot.")
    async with open_provider(kind, host) as provider:
        completion = (await ask(provider, stream=stream)).completion
    assert (completion.text, completion.finish_reason) == (text, "filter")


@ways
async def test_a_content_filter_keeps_the_text_before_it(host: ScriptedHost, stream: bool) -> None:
    host.on("alpha", text="So far", finish="content_filter")
    async with open_provider("openai", host) as provider:
        completion = (await ask(provider, stream=stream)).completion
    assert (completion.text, completion.finish_reason) == ("So far", "filter")


@ways
async def test_reasoning_is_not_part_of_the_reply(host: ScriptedHost, stream: bool) -> None:
    host.on("alpha", text="Yes.", extra={"reasoning_content": "Let me think."})
    async with open_provider("openai", host) as provider:
        outcome = await ask(provider, stream=stream)
    assert outcome.completion.text == "Yes."
    assert "".join(outcome.pieces) in ("", "Yes.")


@kinds
async def test_half_characters_are_sent_as_replacements(host: ScriptedHost, kind: str) -> None:
    async with open_provider(kind, host) as provider:
        turns = (
            Message("user", "half \ud83d here"),
            Message("assistant", "\ude00"),
            Message("user", "Go on."),
        )
        assert (await ask(provider, messages=turns)).completion.text
    assert "half \ufffd here" in repr(host.log[0].body)


@pytest.mark.parametrize("kind", CAPABLE)
@ways
async def test_a_reply_is_returned_exactly(host: ScriptedHost, kind: str, stream: bool) -> None:
    text = "\x00 \x1b]52;c;aGk=\x07 \x1b[2J [/] \u202e \ud800 \r\n é 議"
    host.on("alpha", text=text)
    async with open_provider(kind, host) as provider:
        outcome = await ask(provider, stream=stream)
    assert outcome.completion.text == text
    assert "".join(outcome.pieces) in ("", text)


@kinds
async def test_calls_share_one_connection_and_closing_ends_it(host: ScriptedHost, kind: str) -> None:
    async with open_provider(kind, host) as provider:
        for stream in (False, True, False, True):
            await ask(provider, stream=stream)
        assert len(host.connections) == 1
    await until(lambda: not host.connections)


async def test_hundreds_of_calls_at_once_are_all_answered() -> None:
    with ScriptedHost() as host:
        host.on("*", after=300)
        async with open_provider("openai", host) as provider:
            outcomes = await asyncio.gather(*(ask(provider, f"m{i}") for i in range(300)))
            assert len(host.connections) == 300
    assert len({outcome.completion.text for outcome in outcomes}) == 300


@kinds
async def test_the_key_goes_where_the_host_looks_for_it(host: ScriptedHost, kind: str) -> None:
    async with open_provider(kind, host) as provider:
        await ask(provider)
    headers = host.log[0].headers
    assert KEY in headers.get("authorization", headers.get("x-goog-api-key", ""))


async def test_keys_and_addresses_in_the_environment_are_not_used(
    host: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GOOGLE", "GEMINI", "MISTRAL"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-of-the-environment")
        monkeypatch.setenv(f"{name}_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "sk-of-the-environment")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    for kind in KINDS:
        provider = open_hosted(kind, base_url=getattr(host, kind))
        await provider.complete(Call("alpha", (Message("user", "Hello."),), 10))
        await provider.close()
    assert "sk-of-the-environment" not in repr([request.headers for request in host.log])


async def test_an_address_may_end_in_the_version(host: ScriptedHost) -> None:
    for kind, ending in (("anthropic", "/v1/"), ("mistral", "/v1"), ("google", "/v1beta"), ("openai", "/")):
        provider = open_hosted(kind, base_url=getattr(host, kind) + ending, api_key=KEY)
        assert (await provider.complete(Call("alpha", (Message("user", "Hello."),), 10))).text
        await provider.close()


async def test_an_error_of_the_listener_is_its_own(host: ScriptedHost) -> None:
    def listen(piece: str) -> None:
        raise ZeroDivisionError(piece)

    async with open_provider("openai", host) as provider:
        with pytest.raises(ZeroDivisionError):
            await provider.complete(Call("alpha", (Message("user", "Hello."),), 10), listen)


async def test_a_compressed_answer_is_read(host: ScriptedHost) -> None:
    reply = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    reply |= {
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes."}}
        ]
    }
    host.on("alpha", body=gzip.compress(json.dumps(reply).encode()), headers={"Content-Encoding": "gzip"})
    async with open_provider("openai", host) as provider:
        assert (await ask(provider)).completion.text == "Yes."


def test_no_sdk_is_loaded_but_that_of_a_host_with_requests_of_its_own() -> None:
    code = (
        "import sys, pnyx.providers.hosted.provider as h\n"
        "sdks = {'openai', 'anthropic', 'google.genai', 'mistralai'}\n"
        "assert not sdks & set(sys.modules), sdks & set(sys.modules)\n"
        "for kind in h.DIALECTS: h.open_hosted(kind, base_url='http://127.0.0.1:1/v1')\n"
        "assert not sdks & set(sys.modules), sdks & set(sys.modules)\n"
        "h.open_hosted('mistral', base_url='http://user:password@127.0.0.1:1/v1')\n"
        "assert sdks & set(sys.modules) == {'mistralai'}\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
