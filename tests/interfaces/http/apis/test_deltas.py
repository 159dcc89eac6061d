"""The answer of a stream is sent as it is written, and what was sent is the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.events import CallFailed, CallStarted, Token
from pnyx.interfaces.http.apis.answer import limited
from pnyx.interfaces.http.apis.conversation import Conversation
from pnyx.interfaces.http.apis.deltas import Deltas
from tests.interfaces.http.apis.conftest import ANSWER
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle

LONG = " ".join(f"word{n}" for n in range(60)) + "\nFinal answer: 42"
NOW = "2026-01-01T00:00:00Z"
PLAIN = {"pnyx": {"footer": False}}
Ask = Callable[..., AsyncIterator[str]]


async def chat(client: Any, claude: Any, model: str, **more: Any) -> AsyncIterator[str]:
    asked = [{"role": "user", "content": "Why?"}]
    stream = await client.chat.completions.create(model=model, messages=asked, stream=True, **more)
    async for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            yield chunk.choices[0].delta.content


async def response(client: Any, claude: Any, model: str, **more: Any) -> AsyncIterator[str]:
    async for event in await client.responses.create(model=model, input="Why?", stream=True, **more):
        if event.type == "response.output_text.delta":
            yield event.delta


async def message(client: Any, claude: Any, model: str, **more: Any) -> AsyncIterator[str]:
    asked = [{"role": "user", "content": "Why?"}]
    async with claude.messages.stream(model=model, max_tokens=4000, messages=asked, **more) as stream:
        async for text in stream.text_stream:
            yield text


EACH = pytest.mark.parametrize("ask", [chat, response, message])


@EACH
@pytest.mark.parametrize("model", ["title-helper", "pnyx/consensus:rounds=1", "pnyx/moa:layers=1"])
async def test_an_answer_is_sent_while_it_is_written(
    client: Any, claude: Any, lab: ScriptedHost, ask: Ask, model: str
) -> None:
    seen = asyncio.Event()
    lab.on("*", text=LONG, drip=(400, 0.02), hurry=seen.is_set)
    pieces: list[str] = []
    async for piece in ask(client, claude, model, extra_body=PLAIN):
        if not seen.is_set():
            assert not lab.log[-1].done, "the first piece came when the reply was complete"
            seen.set()
        pieces.append(piece)
    assert "".join(pieces) == LONG


@EACH
async def test_votes_and_objects_are_sent_when_they_are_decided(
    client: Any, claude: Any, lab: ScriptedHost, ask: Ask
) -> None:
    lab.on("*", text=ANSWER)
    assert "".join([piece async for piece in ask(client, claude, "pnyx/voting", extra_body=PLAIN)]) == ANSWER
    assert not any(one.body.get("stream") for one in lab.log)


async def test_only_the_call_that_writes_the_answer_is_streamed(
    client: Any, claude: Any, lab: ScriptedHost
) -> None:
    lab.on("*", text=ANSWER)
    text = "".join([piece async for piece in chat(client, claude, "pnyx/consensus:rounds=1")])
    assert text.startswith(ANSWER)
    assert [bool(one.body.get("stream")) for one in lab.log] == [False] * (len(lab.log) - 1) + [True]


@pytest.mark.parametrize(
    ("limits", "text"),
    [({"stop": ["word7 w"]}, LONG[: LONG.index("word7 w")]), ({"max_tokens": 20}, LONG[:80].rstrip())],
)
async def test_limits_act_while_the_answer_is_written(
    client: Any, claude: Any, lab: ScriptedHost, limits: dict[str, Any], text: str
) -> None:
    lab.on("*", text=LONG, drip=(300, 0.0))
    assert "".join([piece async for piece in chat(client, claude, "title-helper", **limits)]) == text


async def test_a_writer_that_breaks_off_is_an_error_and_the_next_request_gets_the_answer(
    client: Any, claude: Any, server: ServerHandle, lab: ScriptedHost
) -> None:
    # The strongest seat breaks off, and the next one writes something else.
    lab.on("*", text=ANSWER)
    lab.on("alpha", text=LONG, drip=(400, 0.02), cut_at=4000)  # what comes at once is one piece
    model = "pnyx/single"
    with pytest.raises(openai.APIError, match="send the request again"):
        async for _ in chat(client, claude, model, extra_body=PLAIN):
            pass
    calls = len(lab.log)
    again = [piece async for piece in chat(client, claude, model, extra_body=PLAIN)]
    assert "".join(again) == ANSWER
    assert len(lab.log) == calls


async def test_a_model_whose_thoughts_have_no_opening_tag_is_not_sent_early_again(
    client: Any, claude: Any, lab: ScriptedHost
) -> None:
    lab.on("*", text=f"{LONG}</think>{ANSWER}", drip=(300, 0.02))  # what comes at once is one piece
    with pytest.raises(openai.APIError, match="send the request again"):
        async for _ in chat(client, claude, "title-helper", extra_body=PLAIN):
            pass
    again = [piece async for piece in chat(client, claude, "title-helper", extra_body={**PLAIN, "seed": 2})]
    assert "".join(again) == ANSWER


TEXTS = st.text(st.sampled_from(" \nabX"), max_size=60)
SIZES = st.lists(st.integers(1, 9), min_size=1)


@given(
    TEXTS, st.lists(st.integers(1, 9), min_size=1), st.lists(TEXTS, max_size=2), st.none() | st.integers(1, 9)
)
def test_what_is_sent_early_is_the_start_of_the_answer(
    text: str, sizes: list[int], stop: list[str], max_tokens: int | None
) -> None:
    conversation = Conversation(model="m", turns=(), stop=stop, max_tokens=max_tokens)
    deltas, sent, left, turn = Deltas(conversation, set()), "", text, 0
    deltas.add(started())
    while left:
        size = sizes[turn % len(sizes)]
        sent, left, turn = sent + deltas.add(token(left[:size])), left[size:], turn + 1
    final = limited(text, conversation)[0]
    rest = deltas.rest(final)
    assert rest is not None
    assert sent + rest == (final.lstrip() if sent else final)
    if not stop and max_tokens is None:
        assert sent == text.strip()


def test_a_call_that_fails_before_its_first_word_is_forgotten() -> None:
    deltas = Deltas(Conversation(model="m", turns=()), set())
    deltas.add(started())
    assert deltas.add(token("  ")) == ""
    deltas.add(failed())
    deltas.add(started())
    assert deltas.add(token("It is")) == "It is"
    assert deltas.rest("It is so") == " so"


def started() -> CallStarted:
    return CallStarted(
        time=NOW,
        key="/1",
        attempt=1,
        fingerprint="",
        model="lab:beta",
        prompt_id="",
        prompt_sha256="",
        prompt="",
        system="",
        schema=None,
        max_tokens=1,
        cut=0,
        searches=0,
        reserved_usd=None,
    )


def failed() -> CallFailed:
    return CallFailed(
        time=NOW,
        key="/1",
        attempt=1,
        fingerprint="",
        model="lab:beta",
        kind="network",
        message="",
        final=False,
        charged_usd=None,
        retry_in_s=0.0,
        elapsed_s=0.0,
    )


def token(text: str) -> Token:
    return Token(time=NOW, key="/1", text=text, answer=True)
