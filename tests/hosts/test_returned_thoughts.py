"""Thoughts of turns with tool calls go back to the hosts that want them, and to no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pnyx.errors import ProviderError
from pnyx.providers.base import Call, Message, ToolCall, ToolSpec
from pnyx.providers.hosted.adjustments import Adjustments
from pnyx.providers.hosted.dialects import DIALECTS
from pnyx.providers.hosted.failures import failure, read_report
from pnyx.providers.hosted.requests import RequestBuilder
from pnyx.providers.hosted.returned_thoughts import (
    ANY_SIGNATURE,
    FIELD,
    OFF,
    return_thoughts,
    wanted_thoughts,
)
from tests.hosts.test_errors import TABLE, request_body
from tests.hosts.trial import open_provider
from tests.support.scripted import ScriptedHost

SEARCH = ToolSpec("search", "Searches.", {"type": "object", "properties": {"q": {"type": "string"}}})
CALL = Call(
    "alpha",
    (
        Message("user", "Is 7 prime?"),
        Message("assistant", "", (ToolCall("c1", "search", {"q": "7"}),), thoughts="I look it up."),
        Message("tool", "7 is prime.", tool_call_id="c1", tool_name="search"),
        Message("assistant", "Again.", (ToolCall("c2", "search", {"q": "seven"}),)),
        Message("tool", "Seven is prime.", tool_call_id="c2", tool_name="search"),
    ),
    max_tokens=100,
    tools=(SEARCH,),
)
ROWS = [
    pytest.param(dialect, *row[1:], id=f"{row[0]} {number} {dialect}")
    for number, row in enumerate(TABLE["thoughts"], 1)
    for dialect in {"signature": ["openai"], "none": ["anthropic"]}.get(row[3], ["openai", "anthropic"])
]
SENT = {"openai": ["I look it up.", " "], "anthropic": ["I look it up.", ""]}
NOTHING = [None, None]


def returned(body: dict[str, Any]) -> list[Any]:
    """What each turn of the model in a request has of its thoughts."""
    turns = [turn for turn in body["messages"] if turn["role"] == "assistant"]
    blocks = [turn["content"][0] if isinstance(turn["content"], list) else {} for turn in turns]
    calls = [turn.get("tool_calls") or [{}] for turn in turns]
    signatures = [first.get("extra_content") for first, *_ in calls]
    return [
        turn.get(FIELD) or signature or block.get("thinking")
        for turn, signature, block in zip(turns, signatures, blocks, strict=True)
    ]


def wanted_of(dialect: str, form: str) -> tuple[list[Any], Any]:
    """What the turns have once the host has asked for it in `form`, and the request's `thinking`."""
    if form == "signature":
        return [{"google": {"thought_signature": ANY_SIGNATURE}}] * 2, None
    return (NOTHING, OFF) if form == "none" else (SENT[dialect], None)


def sent(lab: ScriptedHost) -> list[tuple[list[Any], Any]]:
    return [(returned(request.body), request.body.get("thinking")) for request in lab.log]


@pytest.mark.parametrize(("dialect", "status", "body", "form"), ROWS)
async def test_a_host_that_wants_thoughts_back_gets_them_from_then_on(
    lab: ScriptedHost, dialect: str, status: int, body: str, form: str
) -> None:
    lab.on("alpha", call=1, status=status, body=body.encode())
    provider = open_provider(lab, dialect)
    try:
        first = await provider.complete(CALL)
        await provider.complete(CALL)
    finally:
        await provider.close()
    assert (first.finish_reason, first.notes) == ("stop", ())
    wanted = wanted_of(dialect, form)
    assert sent(lab) == [(NOTHING, None), wanted, wanted]


@pytest.mark.parametrize(("dialect", "status", "body", "form"), ROWS)
async def test_a_host_that_has_them_and_still_refuses_is_not_asked_again(
    lab: ScriptedHost, dialect: str, status: int, body: str, form: str
) -> None:
    lab.on("alpha", status=status, body=body.encode())
    provider = open_provider(lab, dialect)
    with pytest.raises(ProviderError, match=r"thought|reasoning|thinking"):
        await provider.complete(CALL)
    await provider.close()
    assert sent(lab) == [(NOTHING, None), wanted_of(dialect, form)]


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "google", "mistral", "openrouter"])
async def test_no_other_host_gets_them(lab: ScriptedHost, dialect: str) -> None:
    provider = open_provider(lab, dialect)
    await provider.complete(CALL)
    await provider.close()
    (request,) = lab.log
    assert "I look it up." not in str(request.body)


@pytest.mark.parametrize(
    ("kind", "address", "field"),
    [
        ("deepseek", "https://api.deepseek.com", FIELD),
        ("openrouter", "https://openrouter.ai/api/v1", "reasoning"),
    ],
)
async def test_the_field_is_the_one_that_the_host_reads(kind: str, address: str, field: str) -> None:
    call = replace(CALL, model="deepseek/alpha")
    request = await RequestBuilder(DIALECTS[kind], address, "secret").build(call, stream=False)
    return_thoughts(request.body, CALL, "thoughts", field)
    turns = [turn for turn in request.body["messages"] if turn["role"] == "assistant"]
    assert [turn[field] for turn in turns] == SENT["openai"]


@pytest.mark.parametrize(("dialect", "status", "body", "form"), ROWS)
def test_a_request_without_calls_is_not_sent_again(dialect: str, status: int, body: str, form: str) -> None:
    refused = failure(read_report(status, body))
    assert Adjustments().learn("alpha", refused, request_body(dialect)) is None
    assert wanted_thoughts(refused.report) == form


async def test_thoughts_that_were_not_recorded_are_replaced(lab: ScriptedHost) -> None:
    (row,) = (row for row in TABLE["thoughts"] if row[0] == "moonshot")
    lab.on("alpha", call=1, status=row[1], body=row[2].encode())
    provider = open_provider(lab, "openai")
    without = tuple(replace(message, thoughts="") for message in CALL.messages)
    await provider.complete(replace(CALL, messages=without))
    await provider.close()
    assert returned(lab.log[1].body) == [" ", " "]
