"""Calls and their results in the conversation: seats read them in order, and the task stays the question."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.interfaces.http.apis.conftest import ANSWER
from tests.interfaces.http.apis.test_tools import PATH, READ, TOOL, proposal
from tests.support.scripted import ScriptedHost

TASK = "Mend a.py."
ONE, TWO = {"path": "a.py"}, {"path": "b.py"}
CLAUDE_TOOLS = [{"name": "read_file", "description": "Read a file.", "input_schema": PATH}]
REMINDER = "<system-reminder>\nThe list of tasks is empty.\n</system-reminder>"

CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "Hello."},
    {"role": "assistant", "content": "Hello to you."},
    {"role": "user", "content": TASK},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": json.dumps(ONE)}},
            {"id": "c2", "type": "function", "function": {"name": "look", "arguments": json.dumps(TWO)}},
        ],
    },
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "two\nlines"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "x = 1"},
]
RESPONSES: list[dict[str, Any]] = [
    *CHAT[:2],
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": TASK}]},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": json.dumps(ONE)},
    {"type": "custom_tool_call", "call_id": "c2", "name": "look", "input": json.dumps(TWO)},
    {
        "type": "custom_tool_call_output",
        "call_id": "c2",
        "output": [{"type": "input_text", "text": "two\nlines"}],
    },
    {"type": "function_call_output", "call_id": "c1", "output": "x = 1"},
]
MESSAGES: list[dict[str, Any]] = [
    *CHAT[:3],
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "tool_use", "id": "c1", "name": "read_file", "input": ONE},
            {"type": "tool_use", "id": "c2", "name": "look", "input": TWO},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "c2",
                "content": [{"type": "text", "text": "two"}, {"type": "text", "text": "lines"}],
            },
            {"type": "tool_result", "tool_use_id": "c1", "content": "x = 1"},
            {"type": "text", "text": REMINDER},
        ],
    },
]
READ_BY_SEATS = [
    "Earlier, user",
    "Hello.",
    "Earlier, assistant",
    "Hello to you.",
    "Since then, assistant",
    'Call of the tool read_file: {"path": "a.py"}',
    'Call of the tool look: {"path": "b.py"}',
    "Since then, tool",
    "Result of the tool look:\ntwo\nlines",
    "Since then, tool",
    "Result of the tool read_file:\nx = 1",
]


def in_order(text: str, parts: list[str]) -> None:
    at = 0
    for part in parts:
        found = text.find(part, at)
        assert found >= 0, part
        at = found + len(part)


def question_of(text: str) -> str:
    found = re.search(r"<question>\n(.*?)\n</question>", text, re.DOTALL)
    assert found
    return found[1]


async def ask(api: str, client: Any, claude: Any, turns: Any = None) -> None:
    if api == "chat":
        await client.chat.completions.create(model="single", messages=turns or CHAT, tools=[TOOL])
    elif api == "responses":
        tool = {"type": "function", **READ}
        await client.responses.create(model="single", input=turns or RESPONSES, tools=[tool])
    else:
        await claude.messages.create(
            model="single", max_tokens=99, messages=turns or MESSAGES, tools=CLAUDE_TOOLS
        )


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
async def test_seats_read_what_was_called_and_what_came_back(
    client: Any, claude: Any, lab: ScriptedHost, api: str
) -> None:
    await ask(api, client, claude)
    text = lab.log[0].text
    assert question_of(text) == TASK
    in_order(text, READ_BY_SEATS)
    assert (REMINDER in text) == (api == "messages")
    # Results are material: none of it stands in the system message.
    assert "x = 1" not in lab.log[0].body["messages"][0]["content"]


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
async def test_what_grows_comes_after_what_was_there(
    client: Any, claude: Any, lab: ScriptedHost, api: str
) -> None:
    """A host caches what two requests of a task begin with: all but what is new."""
    turns = {"chat": CHAT, "responses": RESPONSES, "messages": MESSAGES[:-1]}[api]
    before = turns if api == "messages" else turns[:-1]
    if api == "messages":
        result = {"type": "tool_result", "tool_use_id": "c1", "content": "x = 1"}
        turns = [*before, {"role": "user", "content": [result]}]
        before = [*before, {"role": "user", "content": [{**result, "tool_use_id": "c2"}]}]
    await ask(api, client, claude, before)
    await ask(api, client, claude, turns)
    one, two = ([message["content"] for message in request.body["messages"]] for request in lab.log)
    assert one[0] == two[0]
    shared, new = one[-1].split("The question:")[0].rstrip(), two[-1]
    if api == "messages":
        # The last result itself is another one.
        shared = shared[: shared.rindex("Result of the tool")]
    assert new.startswith(shared)
    keys = [request.body["prompt_cache_key"] for request in lab.log]
    assert keys[0] == keys[1]


async def test_another_conversation_has_other_marks(client: Any, lab: ScriptedHost) -> None:
    others: list[dict[str, Any]] = [{}, {"model": "sample"}, {"tools": [TOOL]}, {"messages": CHAT[2:]}]
    marks = set()
    for other in others:
        await client.chat.completions.create(**{"model": "single", "messages": CHAT, **other})
        marks |= set(re.findall(r"<(m[0-9a-f]{10}) Since then", lab.log[-1].text))
    assert len(marks) == len(others)


async def test_a_result_may_be_an_error_a_picture_or_of_a_call_that_is_not_there(
    claude: Any, lab: ScriptedHost
) -> None:
    results = [
        {"type": "tool_result", "tool_use_id": "c1", "content": "no such file", "is_error": True},
        {
            "type": "tool_result",
            "tool_use_id": "c9",
            "content": [
                {"type": "text", "text": "a picture:"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"}},
            ],
        },
        {"type": "tool_result", "tool_use_id": "c2"},
    ]
    await ask("messages", None, claude, [*MESSAGES[:-1], {"role": "user", "content": results}])
    in_order(lab.log[0].text, ["Error of the tool read_file:\nno such file", "a picture:"])
    assert question_of(lab.log[0].text) == TASK


async def test_what_the_user_adds_to_a_result_is_the_question(claude: Any, lab: ScriptedHost) -> None:
    content = [{"type": "tool_result", "tool_use_id": "c1", "content": "x = 1"}]
    said = {"type": "text", "text": "No, mend b.py."}
    await ask("messages", None, claude, [*MESSAGES[:-1], {"role": "user", "content": [*content, said]}])
    assert question_of(lab.log[0].text) == "No, mend b.py."


async def test_a_response_goes_on_from_the_calls_of_those_before(client: Any, lab: ScriptedHost) -> None:
    replies = [
        proposal(("read_file", ONE), before=""),
        proposal(("read_file", TWO), before="Now the other."),
        ANSWER,
    ]
    lab.on("*", text=lambda _: replies.pop(0))
    tool = {"type": "function", **READ}
    response = await client.responses.create(model="single", input=TASK, tools=[tool])
    for result in ("x = 1", "y = 2"):
        output = {"type": "function_call_output", "call_id": response.output[-1].call_id, "output": result}
        response = await client.responses.create(
            model="single", input=[output], tools=[tool], previous_response_id=response.id
        )
    assert response.output_text == ANSWER
    text = lab.log[-1].text
    assert question_of(text) == TASK
    in_order(text, ['read_file: {"path": "a.py"}', "x = 1", 'read_file: {"path": "b.py"}', "y = 2"])


async def test_outputs_of_a_shell_are_read(client: Any, lab: ScriptedHost) -> None:
    turns = [
        {"role": "user", "content": TASK},
        {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}},
        {
            "type": "shell_call_output",
            "call_id": "c1",
            "output": [{"stdout": "a.py", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
        },
        {"type": "local_shell_call", "call_id": "c2", "action": {"type": "exec", "command": ["pwd"]}},
        {"type": "local_shell_call_output", "id": "c2", "output": '{"stdout": "/home"}'},
        {"type": "apply_patch_call", "call_id": "c3", "operation": {"type": "delete_file", "path": "b.py"}},
        {"type": "apply_patch_call_output", "call_id": "c3", "status": "completed", "output": "Done."},
    ]
    await ask("responses", client, None, turns)
    in_order(
        lab.log[0].text,
        [
            "Call of the tool shell",
            '"ls"',
            "Result of the tool shell",
            "a.py",
            "local_shell",
            "/home",
            "delete_file",
            "Result of the tool apply_patch",
            "Done.",
        ],
    )
