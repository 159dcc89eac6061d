"""Plain requests are those of pydantic-ai and the SDK, and need neither."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.models import KnownModelName

from pnyx.core.parsing.ballots import ballot_schema
from pnyx.core.parsing.json_objects import object_schema
from pnyx.core.parsing.partitions import groups_schema
from pnyx.core.parsing.plans import PLAN
from pnyx.core.parsing.positions import POSITION
from pnyx.core.parsing.verdicts import APPROVAL, QUESTION_CLASS
from pnyx.core.steps import Schema
from pnyx.providers.base import Call, Message
from pnyx.providers.hosted.connection import HostRequest
from pnyx.providers.hosted.dialects import DIALECTS
from pnyx.providers.hosted.plain import _SIGNS, _SPECIAL, PlainWriter
from pnyx.providers.hosted.requests import RequestBuilder
from tests.support.properties import examples
from tests.support.scripted import ScriptedHost

HOSTS = {
    "http://127.0.0.1:9000/v1": "openai",
    "http://127.0.0.1:9000": "openai",
    "https://models.example/api/v1/?team=blue": "openai",
    "http://127.0.0.1:11434/v1": "ollama",
    "https://api.openai.com/v1": "openai",
}
LOCAL = ("alpha", "llama3.2:3b", "qwen3:8b", "deepseek-r1", "gemma-3", "Qwen/Qwen3-8B", "mistral-small")
QUESTION = (Message("user", "Should we?"),)
SETTINGS = ("text", "temperature", "system", "schema", "effort")


def names() -> Iterator[str]:
    """The models that pydantic-ai knows, as hosts of their own and compatible hosts name them."""
    for known in get_args(KnownModelName.__value__):
        vendor, _, name = known.partition(":")
        yield from (known, name, name.rpartition("/")[2], f"{vendor}/{name}")


def _object(one: Any, other: Any) -> dict[str, Any]:
    return object_schema("part", {"one": one, "other": other}).document


NAMES = (*LOCAL, *sorted(set(names())))

texts = st.text(max_size=12) | st.sampled_from(
    (
        *("Why?", " ", "", "a\n\nb", "x <b>y</b> | z ~ [1]", "\ud800", "<think>no</think>", "INST"),
        *("<|im_start|>", "<|turn>", "<turn|>", "[INST]", "[/TOOL_RESULTS]", "]~b]", "<end_of_turn>"),
    )
)
messages = st.lists(
    st.builds(Message, st.sampled_from(("system", "user", "assistant")), texts), min_size=1, max_size=4
).map(tuple)
parts = st.recursive(
    st.sampled_from(
        (
            {"type": "string"},
            {"type": "integer"},
            {"type": "string", "enum": ["A", "B"]},
            {"type": "string", "description": "which"},
            {"type": "number", "minimum": 0},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
        )
    ),
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner) | st.builds(_object, inner, inner)
    ),
    max_leaves=4,
)


def _with(document: dict[str, Any], change: Mapping[str, Any]) -> Schema:
    return Schema.of("verdict", {**document, **change})


changes = st.sampled_from(
    ({}, {}, {}, {"required": ["one"]}, {"additionalProperties": True}, {"title": "Verdict"})
)
schemas = st.builds(_with, st.builds(_object, parts, parts), changes)


def usual(**more: Any) -> Call:
    return Call(**{"model": "alpha", "messages": QUESTION, "max_tokens": 100, **more})


def written(base: str, call: Call, **how: Any) -> HostRequest | None:
    writer = PlainWriter.of(base, "secret", {})
    assert writer is not None
    return writer.write(call, **how)


@cache
def builder(base: str) -> RequestBuilder:
    return RequestBuilder(DIALECTS[HOSTS[base]], base, "secret")


def compare(base: str, call: Call, **how: Any) -> None:
    plain = written(base, call, **how)
    if plain is None:
        return
    other = asyncio.run(builder(base).build(call, **how))
    assert (plain.url, plain.body) == (other.url, other.body)
    needed = ("authorization", "accept", "content-type")
    headers = {name.lower(): value for name, value in plain.headers}
    assert [headers[name] for name in needed] == [dict(other.headers)[name] for name in needed]


@examples(150)
@given(
    base=st.sampled_from(tuple(HOSTS)),
    call=st.builds(
        Call,
        model=st.sampled_from(NAMES) | st.sampled_from(LOCAL),
        messages=messages,
        max_tokens=st.integers(1, 9_000),
        temperature=st.none() | st.sampled_from((0.0, 0.5)),
        seed=st.none() | st.integers(0, 2**32),
        schema=st.none() | schemas,
        effort=st.sampled_from((None, None, "none", "low", "high")),
    ),
    stream=st.booleans(),
    plain_schema=st.booleans(),
    reasons=st.booleans(),
)
def test_what_is_written_is_what_the_libraries_write(
    base: str, call: Call, stream: bool, plain_schema: bool, reasons: bool
) -> None:
    compare(base, call, stream=stream, plain_schema=plain_schema, reasons=reasons)


@pytest.mark.parametrize("base", HOSTS)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"temperature": 0.5},
        {"messages": (Message("system", "Be brief."), *QUESTION)},
        {"schema": Schema.of("verdict", _object({"type": "string"}, {"type": "integer"}))},
        {"effort": "low"},
    ],
    ids=SETTINGS,
)
def test_every_known_name_of_a_model_is_written_alike(
    base: str, more: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    """Each name with each host, and with each setting, but not with each pair of them."""
    host, setting = list(HOSTS).index(base), SETTINGS.index(request.node.callspec.id.partition("-")[0])

    async def compare_all() -> None:
        for name in NAMES[(host + setting) % len(HOSTS) :: len(HOSTS)]:
            call = usual(model=name, **more)
            if (plain := written(base, call, stream=False)) is not None:
                assert plain.body == (await builder(base).build(call, stream=False)).body, name

    asyncio.run(compare_all())


SCHEMAS = (
    *(APPROVAL, PLAN, POSITION, QUESTION_CLASS),
    ballot_schema(("Participant A", "Participant B")),
    groups_schema(3),
)


@pytest.mark.parametrize("schema", SCHEMAS, ids=[schema.name for schema in SCHEMAS])
def test_the_schemas_of_protocols_are_plain(schema: Schema) -> None:
    base = "http://127.0.0.1:9000/v1"
    assert written(base, usual(schema=schema), stream=False) is not None
    compare(base, usual(schema=schema), stream=False)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"seed": 7, "temperature": 0.5},
        {"model": "meta-llama/Llama-4"},
        {"messages": (Message("system", "Be brief."), *QUESTION, Message("assistant", "Yes."), *QUESTION)},
        {"messages": (Message("user", "| a | b |\n|---|---|\n<b>~5</b> [1]"),)},
        {"schema": Schema.of("verdict", _object({"type": "string"}, {"type": "integer"}))},
        {"effort": "low"},
        {"timeout_s": 3.0},
    ],
)
def test_ordinary_calls_are_plain(more: dict[str, Any]) -> None:
    assert written("http://127.0.0.1:9000/v1", usual(**more), stream=False) is not None


@pytest.mark.parametrize("name", ["gpt-4o", "gpt-4.1-mini", "gpt-5", "gpt-5-mini", "o3", "chatgpt-4o-latest"])
def test_a_debate_of_openais_own_models_needs_no_libraries(name: str) -> None:
    messages = (Message("system", "Be brief."), *QUESTION)
    for schema in (None, APPROVAL):
        call = usual(model=name, messages=messages, seed=7, schema=schema)
        assert written("https://api.openai.com/v1", call, stream=False) is not None
        compare("https://api.openai.com/v1", call, stream=False)


@pytest.mark.parametrize(
    ("base_url", "key", "env"),
    [
        ("https://openrouter.ai/api/v1", "secret", {}),
        ("https://api.deepseek.com", "secret", {}),
        ("http://user:password@127.0.0.1:9000/v1", "secret", {}),
        ("http://127.0.0.1:9000/v1", "clé", {}),
        ("https://api.openai.com/v1", "secret", {"OPENAI_ORG_ID": "org-1"}),
    ],
)
def test_hosts_with_requests_of_their_own_get_no_plain_ones(
    base_url: str, key: str, env: dict[str, str]
) -> None:
    assert PlainWriter.of(base_url, key, env) is None


PROGRAM = """
import asyncio, sys
from pnyx.providers.base import Call, Message
from pnyx.providers.hosted.provider import open_hosted
async def main():
    host = open_hosted("openai", base_url=sys.argv[1], api_key=None)
    for text in sys.argv[2:]:
        print((await host.complete(Call("alpha", (Message("user", text),), 100))).finish_reason)
    await host.close()
asyncio.run(main())
print("pydantic_ai" in sys.modules or "openai" in sys.modules)
"""


@pytest.mark.parametrize(
    ("texts", "loaded"), [(["Why?"], False), (["Why?", "<|im_start|>system", "Why?"], True)]
)
def test_the_libraries_are_loaded_at_the_first_request_that_is_not_plain(
    texts: list[str], loaded: bool
) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    with ScriptedHost() as host:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, host.openai, *texts],
            capture_output=True,
            text=True,
            check=True,
            env=env,
        )
        sent = [json.dumps(request.body["messages"]) for request in host.log]
    assert done.stdout.splitlines() == ["stop"] * len(texts) + [str(loaded)]
    assert [("\\u200d" in text) for text in sent] == [text.startswith("<|") for text in texts]


def test_every_control_token_has_a_sign_for_which_prompts_are_searched_first() -> None:
    assert [token for token in _SPECIAL if not any(sign in token for sign in _SIGNS)] == []
