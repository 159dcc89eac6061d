"""Plain requests are those of pydantic-ai and the SDK, and need neither."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from pnyx.providers.hosted.plain import PlainWriter
from pnyx.providers.hosted.requests import RequestBuilder
from pnyx.providers.hosted.texts import CONTROL_TOKENS, has_control_tokens
from tests.support.model_names import CURRENT, LOCAL, NAMES, OLDER
from tests.support.properties import THOROUGH, examples
from tests.support.rows import rows
from tests.support.scripted import ScriptedHost

HOSTS = (
    ("openai", "http://127.0.0.1:9000/v1"),
    ("openai", "http://127.0.0.1:9000"),
    ("openai", "https://models.example/api/v1/?team=blue"),
    ("ollama", "http://127.0.0.1:11434/v1"),
    ("openai", "https://api.openai.com/v1"),
    ("anthropic", "https://api.anthropic.com"),
    ("anthropic", "https://models.example/anthropic/v1?team=blue"),
    ("google", "https://generativelanguage.googleapis.com"),
    ("google", "https://models.example/google/v1beta/?team=blue"),
    ("mistral", "https://api.mistral.ai"),
    ("mistral", "https://models.example/v1?team=blue"),
)
FAMILIES = {"openai": "gpt", "anthropic": "claude", "google": "gem", "mistral": "stral"}
"""Kind -> what the names of its own models contain."""
QUESTION = (Message("user", "Should we?"),)


def _object(one: Any, other: Any) -> dict[str, Any]:
    return object_schema("part", {"one": one, "other": other}).document


texts = st.text(max_size=12) | st.sampled_from(
    (
        *("Why?", " ", "", "a\n\nb", "x <b>y</b> | z ~ [1]", "\ud800", "<think>no</think>", "INST"),
        *("<|im_start|>", "<|turn>", "<turn|>", "[INST]", "[/TOOL_RESULTS]", "]~b]", "<end_of_turn>"),
    )
)


@st.composite
def turns(draw: st.DrawFn) -> Message:
    text = draw(texts)
    places = st.lists(st.integers(0, max(len(text) - 1, 0)), max_size=3).map(tuple)
    return Message(draw(st.sampled_from(("system", "user", "assistant"))), text, breaks=draw(places))


TURNS = (Message("system", "Be brief."), Message("user", "Should we? Vote.", breaks=(10,)))
CONVERSATION = (
    *TURNS,
    Message("assistant", "Yes."),
    *TURNS[1:],
    Message("user", "A or B?", breaks=(1, 3, 5)),
)
messages = st.lists(turns(), min_size=1, max_size=4).map(tuple) | st.sampled_from((TURNS, CONVERSATION))
parts = st.recursive(
    st.sampled_from(
        (
            {"type": "string"},
            {"type": "integer"},
            {"type": "string", "enum": ["A", "É"]},
            {"type": "integer", "enum": [1, 2]},
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


def writer(kind: str, base: str, key: str = "secret", **env: str) -> PlainWriter | None:
    dialect = DIALECTS[kind]
    return PlainWriter.of(dialect.plain, base, key, env, dialect.key_headers(urlsplit(base).hostname))


def written(kind: str, base: str, call: Call, **how: Any) -> HostRequest | None:
    plain = writer(kind, base)
    assert plain is not None
    return plain.write(call, **how)


@cache
def builder(kind: str, base: str) -> RequestBuilder:
    return RequestBuilder(DIALECTS[kind], base, "secret")


def without_defaults(body: dict[str, Any]) -> dict[str, Any]:
    """A body of Mistral's SDK, without nulls and what is the default in the API's documentation."""
    defaults = {"top_p": 1, "n": 1, "prefix": False, "tool_calls": []}
    kept = {k: v for k, v in body.items() if v is not None and (k not in defaults or v != defaults[k])}
    for turn in kept.get("messages", ()):
        if isinstance(turn["content"], list):
            turn["content"] = "".join(part["text"] for part in turn["content"])
    return (
        kept | {"messages": [without_defaults(turn) for turn in kept["messages"]]}
        if "model" in kept
        else kept
    )


async def compare(kind: str, base: str, call: Call, **how: Any) -> bool:
    """Whether the call is plain; it is then what the libraries write."""
    plain = written(kind, base, call, **how)
    if plain is None:
        return False
    if kind == "mistral" and (schema := call.schema) and not how.get("plain_schema"):
        # Mistral's API takes schemas of all models, of which pydantic-ai does not know.
        format = {"name": schema.name, "schema": schema.document, "strict": True}
        assert plain.body.pop("response_format") == {"type": "json_schema", "json_schema": format}
        call = replace(call, schema=None)
    with warnings.catch_warnings(action="ignore"):  # about settings that the libraries leave out
        other = await builder(kind, base).build(call, **how)
    body = without_defaults(other.body) if kind == "mistral" else other.body
    assert (plain.url, plain.body) == (other.url, body)
    headers, others = ({k.lower(): v for k, v in one.headers} for one in (plain, other))
    assert headers.pop("user-agent")
    about_libraries = ("user-agent", "x-goog-api-client")
    others = {
        k: v for k, v in others.items() if not k.startswith("x-stainless-") and k not in about_libraries
    }
    if kind == "mistral":
        others["accept"] = "application/json"
    assert headers == others
    return True


@examples(300)
@given(
    where=st.sampled_from(HOSTS),
    call=st.builds(
        Call,
        model=st.sampled_from(NAMES) | st.sampled_from((*LOCAL, *sum(CURRENT.values(), OLDER))),
        messages=messages,
        max_tokens=st.integers(1, 9_000),
        temperature=st.none() | st.sampled_from((0.0, 0.5)),
        seed=st.none() | st.integers(0, 2**32),
        schema=st.none() | schemas,
        effort=st.sampled_from((None, None, "none", "low", "high")),
        thinking_tokens=st.sampled_from((None, None, 0, 3_000)),
    ),
    stream=st.booleans(),
    plain_schema=st.booleans(),
    reasons=st.booleans(),
)
def test_what_is_written_is_what_the_libraries_write(
    where: tuple[str, str], call: Call, stream: bool, plain_schema: bool, reasons: bool
) -> None:
    asyncio.run(compare(*where, call, stream=stream, plain_schema=plain_schema, reasons=reasons))


SETTINGS: dict[str, dict[str, Any]] = {
    "text": {},
    "temperature": {"temperature": 0.5},
    "system": {"messages": (Message("system", "Be brief."), *QUESTION)},
    "schema": {"schema": Schema.of("verdict", _object({"type": "string"}, {"type": "integer"}))},
    "effort": {"effort": "low", "max_tokens": 4_000},
    "no thinking": {"effort": "none"},
    "tokens": {"thinking_tokens": 3_000, "max_tokens": 9_000},
    "long": {"max_tokens": 200_000},
}


@pytest.mark.parametrize("where", HOSTS, ids=map(" ".join, HOSTS))
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_known_name_of_a_model_is_written_alike(where: tuple[str, str], setting: str) -> None:
    """Each name with each setting, with a third of them in a usual run; names of other vendors with one host,
    and not with each pair of both."""
    first = HOSTS.index(where) + list(SETTINGS).index(setting)
    others = NAMES[first % len(HOSTS) :: len(HOSTS)]
    own = FAMILIES[where[0]] if where[1] == ADDRESSES.get(where[0]) else None

    async def compare_all() -> None:
        names = sorted({*others, *(name for name in NAMES if own and own in name)})
        for name in names if THOROUGH else names[first % 3 :: 3]:
            await compare(*where, usual(model=name, **SETTINGS[setting]), stream=False)

    asyncio.run(compare_all())


SCHEMAS = (
    *(APPROVAL, PLAN, POSITION, QUESTION_CLASS),
    ballot_schema(("Participant A", "Participant B")),
    groups_schema(3),
)


ADDRESSES = {kind: base for kind, base in HOSTS if "://api." in base or "googleapis" in base}


@rows("kind, name", [(kind, name) for kind, names in CURRENT.items() for name in names])
def test_a_debate_of_a_vendors_own_models_needs_no_libraries(kind: str, name: str) -> None:
    async def compare_all() -> None:
        for schema in (None, *SCHEMAS):
            # A judge that groups answers is asked with the least thinking.
            for messages, effort in ((QUESTION, "none"), (TURNS, None), (CONVERSATION[:4], "low")):
                call = usual(model=name, messages=messages, seed=7, schema=schema, effort=effort)
                assert await compare(kind, ADDRESSES[kind], call, stream=schema is None)

    asyncio.run(compare_all())


@pytest.mark.parametrize(
    "more",
    [
        {"seed": 7, "temperature": 0.5},
        {"model": "meta-llama/Llama-4"},
        {"messages": (Message("user", "| a | b |\n|---|---|\n<b>~5</b> [1]"),)},
        {"effort": "low"},
        {"schema": APPROVAL},
        {"timeout_s": 3.0},
    ],
)
@pytest.mark.parametrize("where", HOSTS[:2], ids=map(" ".join, HOSTS[:2]))
def test_ordinary_calls_to_compatible_hosts_are_plain(where: tuple[str, str], more: dict[str, Any]) -> None:
    assert written(*where, usual(**more), stream=False) is not None


@rows(
    "kind, base_url, key, env",
    [
        ("openrouter", "https://openrouter.ai/api/v1", "secret", {}),
        ("deepseek", "https://api.deepseek.com", "secret", {}),
        ("openai", "http://user:password@127.0.0.1:9000/v1", "secret", {}),
        ("openai", "http://127.0.0.1:9000/v1", "clé", {}),
        ("openai", "https://api.openai.com/v1", "secret", {"OPENAI_ORG_ID": "org-1"}),
        ("anthropic", "https://api.anthropic.com", "secret", {"ANTHROPIC_CUSTOM_HEADERS": "a: b"}),
    ],
)
def test_hosts_with_requests_of_their_own_get_no_plain_ones(
    kind: str, base_url: str, key: str, env: dict[str, str]
) -> None:
    assert writer(kind, base_url, key, **env) is None


PROGRAM = """
import asyncio, sys
from pnyx.providers.base import Call, Message
from pnyx.providers.hosted.provider import open_hosted
async def main():
    host = open_hosted(sys.argv[1], base_url=sys.argv[2], api_key=None)
    for text in sys.argv[3:]:
        print((await host.complete(Call("alpha", (Message("user", text),), 100))).finish_reason)
    await host.close()
asyncio.run(main())
print(bool({"pydantic_ai", "openai", "anthropic", "google.genai", "mistralai"} & sys.modules.keys()))
"""


@pytest.mark.parametrize(
    ("kind", "texts", "loaded"),
    [
        *((kind, ["Why?"], False) for kind in CURRENT),
        ("openai", ["Why?", "<|im_start|>system", "Why?"], True),
    ],
)
def test_the_libraries_are_loaded_at_the_first_request_that_is_not_plain(
    kind: str, texts: list[str], loaded: bool
) -> None:
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "ANTHROPIC_"))
    }
    with ScriptedHost() as host:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, kind, getattr(host, kind), *texts],
            capture_output=True,
            text=True,
            check=True,
            env=env,
        )
        sent = [json.dumps(request.body) for request in host.log]
    assert done.stdout.splitlines() == ["stop"] * len(texts) + [str(loaded)]
    assert [("\\u200d" in text) for text in sent] == [text.startswith("<|") for text in texts]


def test_every_control_token_is_found_by_its_sign() -> None:
    tokens = [(token, sign in token) for sign, parts in CONTROL_TOKENS.items() for token in parts]
    assert [
        (token, has_sign) for token, has_sign in tokens if not (has_sign and has_control_tokens(token))
    ] == []
