"""Refused parameters over a connection: what is sent again, what is remembered, and what is said."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.steps import Schema
from pnyx.errors import ProviderError
from pnyx.providers.base import Call, Completion, Message, ToolCall, ToolSpec
from pnyx.providers.hosted import adjustments
from pnyx.providers.hosted.dialects import DIALECTS
from pnyx.providers.hosted.provider import open_hosted
from pnyx.providers.hosted.requests import RequestBuilder
from pnyx.providers.hosted.waits import retry_after
from tests.hosts.strict import PARAMETERS, STYLES, StrictHost
from tests.hosts.test_errors import Row, answer, errors
from tests.support.hosting import KEY
from tests.support.properties import THOROUGH, examples
from tests.support.rows import rows
from tests.support.scripted import ScriptedHost

QUESTION = (Message("system", "Be brief."), Message("user", "Is 7 prime?"))
SCHEMA = Schema.of("verdict", {"type": "object", "properties": {"prime": {"type": "string"}}})
TOOL = ToolSpec("search", "Searches.", {"type": "object", "properties": {"query": {"type": "string"}}})


def call(**changes: Any) -> Call:
    fields: dict[str, Any] = {"temperature": 0.7, "seed": 7, "effort": "low", "max_tokens": 32_000}
    fields |= {"schema": SCHEMA, "tools": (TOOL,)}
    return Call("alpha", QUESTION, **fields | changes)


async def two_calls(host: ScriptedHost, kind: str, base_url: str, **changes: Any) -> list[Completion]:
    provider = open_hosted(kind, base_url=base_url, api_key=KEY)
    try:
        return [await provider.complete(call(**changes), lambda _: None) for _ in range(2)]
    finally:
        await provider.close()


subsets = st.permutations(PARAMETERS).flatmap(lambda p: st.integers(0, len(p)).map(lambda n: p[:n]))


@examples(30)
@given(refused=subsets, styles=st.lists(st.sampled_from(sorted(STYLES)), min_size=1, max_size=5))
def test_each_refused_parameter_costs_one_request_and_the_next_call_none(
    refused: list[str], styles: list[str]
) -> None:
    async def trial() -> None:
        async with (host := StrictHost(refused, styles)):
            first, second = await two_calls(host, "openai", host.openai)
            assert first.text
            assert second.text
            assert len(host.log) - 1 <= len(refused) + 1
            assert host.refusals == len(host.log) - 2
            assert second.notes == ()
            assert len(set(first.notes)) == len(first.notes) == host.refusals
            answered = host.log[-2].body
            assert answered == host.log[-1].body
            # Whatever is not refused is sent.
            for name in ("temperature", "seed", "reasoning_effort"):
                assert (name in answered) == (name not in refused)
            limit = "max_completion_tokens" if "max_tokens" in refused else "max_tokens"
            assert answered[limit] == 32_000
            texts = json.dumps(answered["messages"])
            assert "Is 7 prime?" in texts
            assert "Be brief." in texts
            assert ("prime" in texts.replace("Is 7 prime?", "")) == ("response_format" in refused)

    asyncio.run(trial())


SENT = {
    "openai": {"temperature", "seed", "reasoning_effort", "stream_options", "tools", "tool_choice"},
    "anthropic": {"temperature", "tools"},
    "google": {"temperature", "seed", "thinkingConfig", "tools"},
    "mistral": {"random_seed", "temperature"},
}
DROPPED = [row for row in errors("drop") if set(row.meaning.split()) <= SENT[row.dialect] and row.status]
SOME = DROPPED[:: 1 if THOROUGH else 3]
"""test_errors.py reads all of them."""


@rows("row", SOME, map(str, SOME))
async def test_the_second_request_lacks_exactly_what_is_refused(row: Row) -> None:
    # With thoughts, Anthropic's API takes no temperature.
    effort = None if "temperature" in row.meaning else "low"
    async with ScriptedHost() as lab:
        lab.on("alpha", call=1, status=row.status, body=row.body.replace(row.model, "alpha").encode())
        first, second = await two_calls(lab, row.dialect, getattr(lab, row.dialect), effort=effort)
    sent = [{**r.body, **r.body.get("generationConfig", {}), "generationConfig": 0} for r in lab.log]
    assert len(sent) == 3
    gone = sent[0].keys() - sent[1].keys()
    follow = {"tool_choice", "toolConfig", "parallel_tool_calls"} if row.meaning == "tools" else set()
    assert gone - follow == set(row.meaning.split())
    assert {k: v for k, v in sent[0].items() if k not in gone} == sent[1] == sent[2]
    assert all(sum(name in note for note in first.notes) == 1 for name in row.meaning.split())
    assert (len(first.notes), second.notes) == (1, ())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_reply_is_read_where_only_the_other_form_is_offered(lab: ScriptedHost, stream: bool) -> None:
    message = "does not support streaming" if stream else "This model only support stream mode"
    body = json.dumps({"error": {"message": message, "type": "invalid_request_error"}}).encode()
    lab.on("alpha", call=1, status=400, body=body)
    lab.on("alpha", text="Seven is prime. " * 5_000, call=2)
    provider = open_hosted("openai", base_url=lab.openai, api_key=KEY)
    pieces: list[str] = []
    done = await provider.complete(call(), pieces.append if stream else None)
    await provider.close()
    assert done.text.count("Seven is prime.") == 5_000
    assert "".join(pieces) == (done.text if stream else "")
    assert [bool(request.body.get("stream")) for request in lab.log] == [stream, not stream]
    assert done.usage is not None


async def test_calls_at_the_same_time_each_learn_and_one_says_so(lab: ScriptedHost) -> None:
    async with StrictHost(["temperature", "system", "max_tokens"], ["OpenAI"]) as host:
        provider = open_hosted("openai", base_url=host.openai, api_key=KEY)
        replies = await asyncio.gather(*(provider.complete(call()) for _ in range(8)))
        await provider.close()
    assert all(reply.text for reply in replies)
    notes = [note for reply in replies for note in reply.notes]
    assert len(notes) == len(set(notes)) == 3
    assert len(host.log) <= 8 * 4


async def test_what_was_learned_is_said_though_the_call_then_failed(lab: ScriptedHost) -> None:
    refusal = b'{"error": {"message": "Unsupported parameter: \'seed\'", "param": "seed"}}'
    lab.on("alpha", call=1, status=400, body=refusal)
    lab.on("alpha", call=2, status=503)
    provider = open_hosted("openai", base_url=lab.openai, api_key=KEY)
    with pytest.raises(ProviderError, match="503"):
        await provider.complete(call())
    done = await provider.complete(call())
    await provider.close()
    assert done.notes == ("alpha does not accept seed: it is left out",)
    assert len(lab.log) == 3


async def test_a_limit_that_is_refused_by_both_names_is_not_left_out(lab: ScriptedHost) -> None:
    """Without a limit, a reply could cost more than is reserved for it."""
    async with StrictHost(["max_tokens", "max_completion_tokens"], ["OpenAI"]) as host:
        provider = open_hosted("openai", base_url=host.openai, api_key=KEY)
        with pytest.raises(ProviderError) as caught:
            await provider.complete(call())
        await provider.close()
    assert (caught.value.kind, caught.value.billed, len(host.log)) == ("refused", False, 2)


async def test_tools_are_kept_once_the_model_has_called_one(lab: ScriptedHost) -> None:
    asked = Message("assistant", "", (ToolCall("c1", "search", {"query": "7"}),))
    turns = (*QUESTION, asked, Message("tool", "7 is prime", tool_call_id="c1", tool_name="search"))
    body = b'{"error": {"message": "alpha does not support tools", "type": "api_error"}}'
    lab.on("alpha", status=400, body=body)
    provider = open_hosted("openai", base_url=lab.openai, api_key=KEY)
    with pytest.raises(ProviderError, match="does not support tools"):
        await provider.complete(Call("alpha", turns, 100, tools=(TOOL,)))
    await provider.close()
    assert len(lab.log) == 1


async def test_models_are_remembered_apart_and_the_least_used_is_forgotten(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adjustments, "MODELS", 2)
    provider = open_hosted("openai", base_url=lab.openai, api_key=KEY)
    refusal = b'{"error": {"message": "Unsupported parameter: \'seed\'", "param": "seed"}}'
    for model in ("a", "b", "c"):
        lab.on(model, call=1, status=400, body=refusal)
    for model in ("a", "b", "c", "b", "a"):
        await provider.complete(Call(model, QUESTION, 100, seed=7))
    await provider.close()
    assert ["seed" in r.body for r in lab.log] == [True, False] * 3 + [False, True]


@pytest.mark.parametrize(
    ("kind", "base_url", "address"),
    [
        ("openai", "https://gw.example/a/openai/", "https://gw.example/a/openai/chat/completions"),
        ("openai", "https://gw.example/v1?api-version=1&x=2", "https://gw.example/v1/chat/completions?api-version=1&x=2"),
        (
            "openai",
            "https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
            "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
        ),
        ("anthropic", "https://gw.example/a/anthropic?k=1", "https://gw.example/a/anthropic/v1/messages?k=1"),
        ("anthropic", "https://gw.example/a/v1/", "https://gw.example/a/v1/messages"),
        ("google", "https://gw.example/g/v1beta?k=1", "https://gw.example/g/v1beta/models/alpha:generateContent?k=1"),
        ("mistral", "https://gw.example/m/v1?k=1", "https://gw.example/m/v1/chat/completions?k=1"),
    ],
)  # fmt: skip
async def test_a_base_url_keeps_its_path_and_query(kind: str, base_url: str, address: str) -> None:
    builder = RequestBuilder(DIALECTS[kind], base_url, KEY)
    request = await builder.build(Call("alpha", QUESTION, 100), stream=False)
    await builder.close()
    assert request.url == address
    headers = {name.lower(): value for name, value in request.headers}
    assert ("api-key" in headers) == ("azure" in base_url)
    assert ("x-api-key" in headers) == (kind == "anthropic")
    assert any(KEY in value for value in headers.values())


@rows("kind", ["openai", "google", "mistral"])
@rows("seed", [7, 2**31, 2**32 - 1])
async def test_a_seed_fits_the_hosts_that_read_32_bits_with_a_sign(kind: str, seed: int) -> None:
    builder = RequestBuilder(DIALECTS[kind], "https://gw.example", KEY)
    body = (await builder.build(call(seed=seed), stream=False)).body
    await builder.close()
    body = {**body, **body.get("generationConfig", {})}
    assert body.get("seed", body.get("random_seed")) == seed % 2**31


LATER = "2999-01-01T00:00:00Z"


@rows(
    "headers, body, seconds",
    [
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1.5s"}, "", 1.5),
        ({"x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "1.5s"}, "", None),
        ({"x-ratelimit-reset-requests": "20ms", "x-ratelimit-reset-tokens": "12s"}, "", 12.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, "", None),
        ({"ratelimit-reset": "30"}, "", 30.0),
        ({"ratelimit": "limit=100, remaining=0, reset=42"}, "", 42.0),
        ({"ratelimit": '"default";r=0;t=50'}, "", 50.0),
        ({"ratelimit": '"default";r=5;t=50'}, "", None),
        ({"x-ratelimit-reset": "7", "retry-after": "3"}, "", 3.0),
        ({"x-ratelimit-reset": "1600000000000"}, "", 0.0),
        (
            {"anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": LATER},
            "",
            None,
        ),
        ({"retry-after": "soon"}, "Please try again in 3s.", 3.0),
        ({}, "Please try again in 1h2m3.5s.", 3723.5),
        ({}, "Please try again in 6 minutes.", 360.0),
        ({}, "Retry after 500 milliseconds", 0.5),
        ({}, "Limit 60 requests per 1 minute. Please wait and try again later", None),
        ({}, "retry. Limit: 60 requests", None),
        ({}, '{"retry_after": 7}', 7.0),
        ({}, '{"retryDelay": "0.5s"}', 0.5),
        ({}, r"{\"retryDelay\": \"12s\"}", 12.0),
        ({}, "请在 2 分钟后重试", 120.0),
        ({}, "请等待 10 秒", 10.0),
        ({}, "Please try again in a minute.", 60.0),
        ({}, "Only a few requests a minute are allowed, try again later", None),
        ({}, "Back off for 20 seconds", 20.0),
        ({}, "Cooldown: 15s", 15.0),
        ({}, "slow down, retry-after: 6", 6.0),
        ({}, '{"retryAfterMs": 2500}', 2.5),
        ({}, '{"cooldown_seconds": 5}', 5.0),
    ],
)
def test_the_wait_is_read_from_headers_fields_and_words(
    headers: dict[str, str], body: str, seconds: float | None
) -> None:
    assert retry_after(headers, body) == seconds


NAMED = (
    "Sampling with {name} is a feature of another tier",
    "{name} has no effect here; drop it",
    "Vorgang abgebrochen: {name} wird von diesem Modell ignoriert",
    "paramètre {name} inconnu",
    "Got an argument {name} that the backend has no idea about",
    "Support for '{name}' ended in March",
)
"""What hosts might say that nobody has tried; a sentence that names a parameter is enough."""
IN_PASSING = (
    "Try other models. Supported fields: {name}, top_p",
    "The field messages is missing; optional ones are {name} and top_p",
    "The key was made for another project, see https://api.example/docs#{name}",
    "Project {name}-lab has no balance sheet",
    "Example of a body: messages, {name}",
)


@rows("name", ["temperature", "seed", "top_p", "parallel_tool_calls", "response_format"])
@rows("status", [400, 422])
def test_a_wrong_request_is_sent_without_what_its_error_names_and_not_without_what_it_lists(
    name: str, status: int
) -> None:
    def gone(words: str, status: int = status) -> set[str]:
        return answer(Row("openai", "alpha", status, json.dumps({"error": {"message": words}}))).gone

    for words in NAMED:
        assert gone(words.format(name=name)) == {name}, words
        assert gone(words.format(name=name), 403) == set()
    for words in IN_PASSING:
        assert gone(words.format(name=name)) == set(), words


@pytest.mark.parametrize(
    "words",
    [
        "This deployment wants 'max_completion_tokens' rather than 'max_tokens'.",
        "max_tokens was retired, max_completion_tokens took over",
        "Sie haben max_tokens gesendet, hier heißt es max_completion_tokens",
    ],
)
def test_a_sentence_with_both_names_of_the_output_limit_renames_it(words: str) -> None:
    found = answer(Row("openai", "alpha", 400, json.dumps({"error": {"message": words}})))
    assert found.gone == {"max_tokens"}
    assert found.change is not None
    assert found.change.note == "takes max_completion_tokens instead of max_tokens"


@rows("limit, thoughts", [(32_000 - 1, 2000), (3000, 1976), (2048, 1024), (2000, None)])
def test_a_lowered_output_limit_leaves_room_for_an_answer_behind_the_thoughts(
    limit: int, thoughts: int | None
) -> None:
    words = f"max_tokens: 32000 > {limit}, which is the maximum allowed number of output tokens"
    body = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": words}})
    found = answer(Row("anthropic", "alpha", 400, body)).body
    assert (found["max_tokens"], found.get("thinking", {}).get("budget_tokens")) == (limit, thoughts)
