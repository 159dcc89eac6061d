"""Calls of the client's tools, with the clients of OpenAI and Anthropic as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anthropic
import openai
import pytest

from tests.interfaces.http.apis.conftest import ANSWER
from tests.support.scripted import ScriptedHost

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = {"name": "read_file", "description": "Read a file.", "parameters": PATH}
TOOL = {"type": "function", "function": READ}
ASKED = {"role": "user", "content": "What does a.py do?"}
QUOTED = 'print("ü « \\n")\n```\n{"a": [1]}'
ARGUMENTS = {"path": "a.py", "note": QUOTED * 40}


def proposal(*calls: tuple[str, Mapping[str, Any]], before: str = "I look at it first.") -> str:
    written = json.dumps({"tool_calls": [{"name": name, "arguments": args} for name, args in calls]})
    return f"{before}\n```json\n{written}\n```"


CALL = proposal(("read_file", ARGUMENTS))


async def test_a_call_in_a_completion(client: Any, lab: ScriptedHost) -> None:
    lab.on("*", text=CALL)
    completion = await client.chat.completions.create(model="pnyx/voting", messages=[ASKED], tools=[TOOL])
    (choice,) = completion.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "I look at it first."
    (call,) = choice.message.tool_calls
    assert (call.type, call.function.name, json.loads(call.function.arguments)) == (
        "function",
        "read_file",
        ARGUMENTS,
    )
    result = completion.model_extra["pnyx"]
    assert result["detail"]["tool_calls"] == [{"name": "read_file", "arguments": ARGUMENTS}]
    assert '"name":"read_file"' in lab.log[0].text


async def test_calls_in_a_stream_of_a_completion(client: Any, lab: ScriptedHost) -> None:
    lab.on("*", text=proposal(("read_file", ARGUMENTS), ("read_file", {"path": "b.py"}), before=""))
    calls: dict[int, list[str]] = {}
    finish = None
    stream = await client.chat.completions.create(
        model="pnyx/voting", messages=[ASKED], tools=[TOOL], stream=True
    )
    async for chunk in stream:
        for choice in chunk.choices:
            finish = choice.finish_reason or finish
            assert not choice.delta.content
            for delta in choice.delta.tool_calls or ():
                if delta.id:
                    assert delta.function.name == "read_file"
                    assert delta.index not in calls
                calls.setdefault(delta.index, []).append(delta.function.arguments)
    assert finish == "tool_calls"
    assert [json.loads("".join(calls[n])) for n in (0, 1)] == [ARGUMENTS, {"path": "b.py"}]
    assert len(calls[0]) > 2


async def test_the_helper_for_streams_of_completions_reads_calls(client: Any, lab: ScriptedHost) -> None:
    lab.on("*", text=CALL)
    async with client.chat.completions.stream(model="voting", messages=[ASKED], tools=[TOOL]) as stream:
        completion = await stream.get_final_completion()
    (call,) = completion.choices[0].message.tool_calls
    assert json.loads(call.function.arguments) == ARGUMENTS


async def test_functions_as_requests_had_before_tools(client: Any, lab: ScriptedHost) -> None:
    lab.on("*", text=CALL)
    asked: dict[str, Any] = {"model": "voting", "messages": [ASKED], "functions": [READ]}
    completion = await client.chat.completions.create(**asked, function_call={"name": "read_file"})
    (choice,) = completion.choices
    assert (choice.finish_reason, choice.message.function_call.name) == ("function_call", "read_file")
    written, finish = "", None
    async for chunk in await client.chat.completions.create(**asked, stream=True):
        for one in chunk.choices:
            written += one.delta.function_call.arguments if one.delta.function_call else ""
            finish = one.finish_reason or finish
    assert (json.loads(written), finish) == (ARGUMENTS, "function_call")


async def test_calls_in_a_response_and_its_events(client: Any, lab: ScriptedHost) -> None:
    lab.on("*", text=CALL)
    asked: dict[str, Any] = {
        "model": "pnyx/voting",
        "input": "What?",
        "tools": [{"type": "function", **READ}],
    }
    response = await client.responses.create(**asked)
    message, call = response.output
    assert (message.type, response.output_text) == ("message", "I look at it first.")
    assert (call.type, call.name, json.loads(call.arguments)) == ("function_call", "read_file", ARGUMENTS)
    assert (response.tools[0].name, response.tool_choice) == ("read_file", "auto")
    again = await client.responses.retrieve(response.id)
    assert again.output == response.output
    async with client.responses.stream(**asked) as stream:
        kinds = [event.type async for event in stream]
        final = await stream.get_final_response()
    assert kinds.count("response.function_call_arguments.delta") > 1
    assert "response.function_call_arguments.done" in kinds
    assert json.loads(final.output[-1].arguments) == ARGUMENTS
    assert final.output[-1].call_id != call.call_id


async def test_calls_in_a_message_and_its_events(claude: Any, lab: ScriptedHost) -> None:
    lab.on("*", text=proposal(("read_file", ARGUMENTS), ("read_file", {"path": "b.py"})))
    tools = [{"name": "read_file", "description": "Read a file.", "input_schema": PATH}]
    asked: dict[str, Any] = {"model": "voting", "max_tokens": 9000, "messages": [ASKED], "tools": tools}
    message = await claude.messages.create(**asked)
    text, one, two = message.content
    assert (message.stop_reason, text.text) == ("tool_use", "I look at it first.")
    assert [(b.type, b.name, b.input) for b in (one, two)] == [
        ("tool_use", "read_file", ARGUMENTS),
        ("tool_use", "read_file", {"path": "b.py"}),
    ]
    assert one.id != two.id
    async with claude.messages.stream(**asked) as stream:
        final = await stream.get_final_message()
    assert final.stop_reason == "tool_use"
    assert [block.text for block in final.content if block.type == "text"] == ["I look at it first."]
    assert [block.input for block in final.content if block.type == "tool_use"] == [
        ARGUMENTS,
        {"path": "b.py"},
    ]


async def test_a_text_is_an_answer_too_and_has_no_footer_where_tools_are_offered(
    client: Any, claude: Any
) -> None:
    completion = await client.chat.completions.create(model="voting", messages=[ASKED], tools=[TOOL])
    assert completion.choices[0].message.content == ANSWER
    assert completion.choices[0].message.tool_calls is None
    assert completion.choices[0].finish_reason == "stop"
    message = await claude.messages.create(
        model="voting", max_tokens=500, messages=[ASKED], tools=[{"name": "look", "input_schema": PATH}]
    )
    assert [(block.type, block.text) for block in message.content] == [("text", ANSWER)]


async def test_tools_and_a_form_of_the_answer(client: Any, lab: ScriptedHost) -> None:
    format = {"type": "json_schema", "json_schema": {"name": "a", "schema": PATH}}
    asked: dict[str, Any] = {"model": "title-helper", "messages": [ASKED], "tools": [TOOL]}
    lab.on("*", text=proposal(("read_file", {"path": "b.py"})))
    completion = await client.chat.completions.create(**asked, response_format=format)
    assert completion.choices[0].message.tool_calls
    lab.on("*", text='{"path": "c.py"}')
    completion = await client.chat.completions.create(**asked, response_format=format)
    assert json.loads(completion.choices[0].message.content) == {"path": "c.py"}
    assert len(lab.log) == 2


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        ("required", "must be a call of one of these tools"),
        ({"type": "function", "function": {"name": "read_file"}}, 'must be a call of the tool "read_file"'),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [{"type": "function", "function": {"name": "read_file"}}],
                },
            },
            "must be a call of one of these tools",
        ),
    ],
)
async def test_a_choice_that_needs_a_call_gets_one(
    client: Any, claude: Any, lab: ScriptedHost, choice: Any, says: str
) -> None:
    """The panel answers in text; the strongest seat then writes the call."""
    lab.on("*", text=lambda request: CALL if "It cannot be carried out" in request.text else ANSWER)
    other = {"type": "function", "function": {"name": "other"}}
    tools = [TOOL] if "allowed" not in str(choice) else [other, TOOL]
    completion = await client.chat.completions.create(
        model="voting", messages=[ASKED], tools=tools, tool_choice=choice
    )
    assert completion.choices[0].message.tool_calls[0].function.name == "read_file"
    assert says in lab.log[0].text
    assert '"name":"other"' not in lab.log[0].text
    named = {"type": "tool", "name": "read_file"} if isinstance(choice, dict) else {"type": "any"}
    message = await claude.messages.create(
        model="voting",
        max_tokens=9000,
        messages=[ASKED],
        tools=[{"name": "read_file", "input_schema": PATH}],
        tool_choice={**named, "disable_parallel_tool_use": True},
    )
    assert message.stop_reason == "tool_use"
    assert "exactly one call" in lab.log[-1].text


async def test_none_is_an_answer_in_text_by_seats_that_see_no_tools(client: Any, lab: ScriptedHost) -> None:
    completion = await client.chat.completions.create(
        model="voting", messages=[ASKED], tools=[TOOL], tool_choice="none"
    )
    assert completion.choices[0].message.content == ANSWER
    assert "read_file" not in lab.log[0].text


async def test_a_call_that_nobody_can_write_is_an_error_in_the_form_of_the_api(
    client: Any, claude: Any, lab: ScriptedHost
) -> None:
    lab.on("*", text=proposal(("read_file", {"path": 7})))
    with pytest.raises(openai.InternalServerError, match="7 is not of type 'string'") as caught:
        await client.chat.completions.create(
            model="voting", messages=[ASKED], tools=[TOOL], tool_choice="required"
        )
    assert caught.value.code == "not_in_form"
    with pytest.raises(anthropic.InternalServerError, match="7 is not of type 'string'"):
        await claude.messages.create(
            model="voting",
            max_tokens=900,
            messages=[ASKED],
            tools=[{"name": "read_file", "input_schema": PATH}],
            tool_choice={"type": "any"},
        )
    completion = await client.chat.completions.create(model="voting", messages=[ASKED], tools=[TOOL])
    assert completion.choices[0].finish_reason == "stop"
    assert '"path": 7' in completion.choices[0].message.content


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"tools": [{"type": "function"}]}, "tools[0].function.name"),
    (
        {"tools": [{"type": "function", "function": {**READ, "parameters": 7}}]},
        "tools[0].function.parameters",
    ),
    (
        {"tools": [TOOL, {"type": "function", "function": {"name": "b", "parameters": {"type": "x"}}}]},
        "tools[1].function",
    ),
    ({"tools": [TOOL, TOOL]}, "tools[1].function"),
    ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function"),
    ({"tools": [TOOL], "tool_choice": "any"}, "tool_choice"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "b"}}}, "tool_choice"),
    ({"tools": [TOOL], "tool_choice": {"type": "function"}}, "tool_choice.function.name"),
    ({"tools": [TOOL], "tool_choice": {"type": "allowed_tools"}}, "tool_choice.allowed_tools"),
    ({"tools": [{"type": "web_search"}], "tool_choice": "required"}, "tool_choice"),
    ({"tools": [{"type": "web_search"}], "tool_choice": {"type": "web_search"}}, "tool_choice"),
]


async def test_tools_that_are_wrong_are_refused_by_name(client: Any, lab: ScriptedHost) -> None:
    for fields, param in WRONG:
        with pytest.raises(openai.BadRequestError) as caught:
            await client.chat.completions.create(model="voting", messages=[ASKED], **fields)
        assert caught.value.param == param
    assert lab.log == []


async def test_half_a_call_is_none(client: Any, lab: ScriptedHost) -> None:
    lab.on("*", text=CALL)
    completion = await client.chat.completions.create(
        model="voting", messages=[ASKED], tools=[TOOL], max_tokens=20
    )
    assert completion.choices[0].finish_reason == "length"
    assert completion.choices[0].message.tool_calls is None


async def test_a_stream_that_fails_says_so_in_both_forms_of_the_api(client: Any, lab: ScriptedHost) -> None:
    lab.on("*", text="I would read it.")
    kinds = {}
    stream = await client.responses.create(
        model="single", input="Go.", tools=[{"type": "function", **READ}], tool_choice="required", stream=True
    )
    async for event in stream:
        kinds[event.type] = event
    assert "holds no call" in kinds["error"].message
    failed = kinds["response.failed"].response
    assert (failed.status, failed.error.code) == ("failed", "server_error")
    assert failed.error.message == kinds["error"].message


async def test_one_key_for_two_requests_with_other_tools_is_a_conflict(
    client: Any, lab: ScriptedHost
) -> None:
    lab.on("*", text=CALL)
    asked: dict[str, Any] = {"model": "single", "messages": [ASKED]}
    key = {"Idempotency-Key": "k"}
    calls = [
        (await client.chat.completions.create(**asked, tools=[TOOL], extra_headers=key)).choices[0]
        for _ in range(2)
    ]
    assert calls[0].message.tool_calls == calls[1].message.tool_calls
    assert len(lab.log) == 1
    with pytest.raises(openai.ConflictError):
        await client.chat.completions.create(**asked, extra_headers=key)
