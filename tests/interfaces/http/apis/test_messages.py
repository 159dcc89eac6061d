"""The Messages API, with Anthropic's own client."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from tests.interfaces.http.apis.conftest import ANSWER
from tests.support.scripted import Request, ScriptedHost
from tests.support.serving import ServerHandle

PLAIN = {"pnyx": {"footer": False, "models": ["lab:beta"]}}


async def test_a_message_has_the_answer(claude: Any, lab: ScriptedHost) -> None:
    seen: list[Request] = []

    def reply(request: Request) -> str:
        seen.append(request)
        return ANSWER

    lab.on("*", text=reply)
    message = await claude.messages.create(
        model="pnyx/single",
        max_tokens=1000,
        system=[{"type": "text", "text": "Answer for sailors.", "cache_control": {"type": "ephemeral"}}],
        messages=[
            {"role": "user", "content": "How long is it?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "secretly", "signature": "x"},
                    {"type": "tool_use", "id": "1", "name": "look", "input": {"at": "it"}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "12 m"}]},
            {"role": "user", "content": "So how long is it?"},
        ],
        tools=[{"name": "look", "input_schema": {"type": "object"}}],
        extra_body=PLAIN,
    )
    assert [block.text for block in message.content if block.type == "text"] == [ANSWER]
    assert (message.stop_reason, message.role) == ("end_turn", "assistant")
    assert message.usage.output_tokens > 0
    (request,) = seen
    for part in ("Answer for sailors.", "How long is it?", "look", "12 m", "So how long is it?"):
        assert part in request.text
    assert "secretly" not in request.text


@pytest.mark.parametrize("said", [(), ("And is that long?",)])
async def test_a_message_with_the_result_of_a_tool_is_no_question(claude: Any, said: tuple[str, ...]) -> None:
    result = {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "12 m"}]}
    message = await claude.messages.create(
        model="pnyx/single",
        max_tokens=1000,
        messages=[
            {"role": "user", "content": "How long is it?"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "look", "input": {}}]},
            {"role": "user", "content": [result, *({"type": "text", "text": text} for text in said)]},
        ],
        extra_body=PLAIN,
    )
    assert message.model_extra["pnyx"]["question"] == (said or ("How long is it?",))[0]


async def test_a_stream_has_thinking_and_then_the_text(claude: Any) -> None:
    question = {"role": "user", "content": "What is 6 times 7?"}
    async with claude.messages.stream(model="pnyx/voting", max_tokens=1000, messages=[question]) as stream:
        text = "".join([piece async for piece in stream.text_stream])
        message = await stream.get_final_message()
    assert [block.type for block in message.content] == ["thinking", "text"]
    assert "vote" in message.content[0].thinking
    assert message.content[1].text == text
    assert text.startswith("It is six times seven.")
    assert message.stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("limits", "text", "reason", "sequence"),
    [
        ({"max_tokens": 2}, "It is si", "max_tokens", None),
        ({"max_tokens": 100, "stop_sequences": ["times"]}, "It is six ", "stop_sequence", "times"),
    ],
)
async def test_limits_act_on_the_answer(
    claude: Any, limits: dict[str, object], text: str, reason: str, sequence: str | None
) -> None:
    message = await claude.messages.create(
        model="title-helper",
        messages=[{"role": "user", "content": "What is 6 times 7?"}],
        extra_body={"pnyx": {"footer": False}},
        **limits,
    )
    assert message.content[0].text == text
    assert (message.stop_reason, message.stop_sequence) == (reason, sequence)


async def test_tokens_are_counted_without_a_run(claude: Any, server: ServerHandle, lab: ScriptedHost) -> None:
    short = await claude.messages.count_tokens(model="x", messages=[{"role": "user", "content": "Why?"}])
    long = await claude.messages.count_tokens(
        model="x", messages=[{"role": "user", "content": "Why? " * 100}]
    )
    assert 0 < short.input_tokens < long.input_tokens <= short.input_tokens + 500
    assert lab.log == []


def error_of(exc: anthropic.APIStatusError) -> dict[str, Any]:
    found: Any = exc.body
    error: dict[str, Any] = found["error"]
    return error


async def test_errors_have_the_form_of_the_api(claude: Any, lab: ScriptedHost) -> None:
    question = {"role": "user", "content": "Why?"}
    with pytest.raises(anthropic.NotFoundError) as missing:
        await claude.messages.create(model="claude-9", max_tokens=9, messages=[question])
    assert missing.value.request_id
    assert error_of(missing.value)["type"] == "not_found_error"
    with pytest.raises(anthropic.BadRequestError, match="max_tokens"):
        await claude.messages.create(model="single", max_tokens=0, messages=[question])
    with pytest.raises(anthropic.AuthenticationError) as unknown:
        await claude.with_options(api_key="wrong").messages.create(
            model="single",
            max_tokens=9,
            messages=[question],
        )
    assert error_of(unknown.value)["type"] == "authentication_error"
    assert lab.log == []
    lab.on("*", status=400, message="not today")
    with pytest.raises(anthropic.InternalServerError, match="not today"):
        await claude.messages.create(model="pnyx/voting", max_tokens=9, messages=[question])


async def test_a_failure_in_a_stream_has_the_form_of_the_api(claude: Any, lab: ScriptedHost) -> None:
    lab.on("*", status=400, message="not today")
    question = {"role": "user", "content": "Why?"}
    with pytest.raises(anthropic.APIStatusError, match="not today") as caught:
        async with claude.messages.stream(model="voting", max_tokens=9, messages=[question]) as stream:
            await stream.get_final_message()
    assert error_of(caught.value)["type"] == "api_error"
