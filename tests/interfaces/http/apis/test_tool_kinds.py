"""Tools of other kinds than functions: of a host, with text of any form, defined by an API, from items."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from tests.interfaces.http.apis.conftest import ANSWER
from tests.interfaces.http.apis.test_tools import ASKED, READ, proposal
from tests.support.scripted import ScriptedHost


async def test_a_tool_of_the_host_is_left_out_with_a_warning(client: Any, claude: Any) -> None:
    raw = await client.responses.with_raw_response.create(
        model="voting", input="What?", tools=[{"type": "web_search"}, {"type": "function", **READ}]
    )
    assert "web_search" in raw.headers["x-pnyx-warning"]
    assert raw.parse().output_text == ANSWER
    raw = await claude.messages.with_raw_response.create(
        model="voting",
        max_tokens=900,
        messages=[ASKED],
        tools=[{"type": "web_search_20250305", "name": "web_search"}],
    )
    assert "web_search" in raw.headers["x-pnyx-warning"]
    with pytest.raises(anthropic.BadRequestError, match="web_search"):
        await claude.messages.create(
            model="voting",
            max_tokens=900,
            messages=[ASKED],
            tools=[{"type": "web_search_20250305", "name": "web_search"}],
            tool_choice={"type": "tool", "name": "web_search"},
        )


PATCH = "*** Begin Patch\n*** Update File: a.py\n-1\n+2\n*** End Patch\n"


async def test_tools_with_a_text_of_any_form(client: Any, lab: ScriptedHost) -> None:
    lab.on("*", text=proposal(("apply_patch", {"input": PATCH}), before=""))
    grammar = {"type": "grammar", "syntax": "lark", "definition": 'start: "*** Begin Patch"'}
    tools = [{"type": "custom", "name": "apply_patch", "description": "Patch.", "format": grammar}]
    asked: dict[str, Any] = {"model": "voting", "input": "Mend it.", "tools": tools}
    response = await client.responses.create(**asked)
    (call,) = response.output
    assert (call.type, call.name, call.input) == ("custom_tool_call", "apply_patch", PATCH)
    assert (await client.responses.retrieve(response.id)).output == response.output
    assert "*** Begin Patch" in lab.log[0].text
    written = ""
    async for event in await client.responses.create(**asked, stream=True):
        if event.type == "response.custom_tool_call_input.delta":
            written += event.delta
        if event.type == "response.custom_tool_call_input.done":
            assert event.input == PATCH
    assert written == PATCH
    completion = await client.chat.completions.create(
        model="voting",
        messages=[ASKED],
        tools=[{"type": "custom", "custom": {"name": "apply_patch"}}],
        tool_choice={"type": "custom", "custom": {"name": "apply_patch"}},
    )
    (call,) = completion.choices[0].message.tool_calls
    assert (call.type, call.custom.name, call.custom.input) == ("custom", "apply_patch", PATCH)


@pytest.mark.parametrize(
    ("tool", "called", "item"),
    [
        (
            {"type": "local_shell"},
            ("local_shell", {"command": ["ls", "-l"]}),
            {"type": "local_shell_call", "action": {"type": "exec", "command": ["ls", "-l"], "env": {}}},
        ),
        (
            {"type": "shell", "environment": {"type": "local"}},
            ("shell", {"commands": ["ls"]}),
            {
                "type": "shell_call",
                "action": {"commands": ["ls"], "timeout_ms": None, "max_output_length": None},
            },
        ),
        (
            {"type": "apply_patch"},
            ("apply_patch", {"type": "update_file", "path": "a.py", "diff": "@@\n-1\n+2"}),
            {
                "type": "apply_patch_call",
                "operation": {"type": "update_file", "path": "a.py", "diff": "@@\n-1\n+2"},
            },
        ),
        (
            {"type": "namespace", "name": "crm", "description": "C", "tools": [{"type": "function", **READ}]},
            ("crm.read_file", {"path": "a"}),
            {
                "type": "function_call",
                "namespace": "crm",
                "name": "read_file",
                "arguments": '{"path": "a"}',
            },
        ),
    ],
)
async def test_tools_that_the_api_defines_and_the_client_runs(
    client: Any, lab: ScriptedHost, tool: Any, called: Any, item: Any
) -> None:
    lab.on("*", text=proposal(called, before=""))
    response = await client.responses.create(model="voting", input="Go.", tools=[tool])
    (call,) = response.output
    found = call.model_dump()
    for name, value in item.items():
        if isinstance(value, dict):
            assert value.items() <= found[name].items()
        else:
            assert found[name] == value
    again = await client.responses.retrieve(response.id)
    assert again.output == response.output
    async for event in await client.responses.create(model="voting", input="Go.", tools=[tool], stream=True):
        if event.type == "response.output_item.done" and event.item.type == item["type"]:
            assert event.item.call_id


async def test_tools_of_anthropic_that_the_client_runs(claude: Any, lab: ScriptedHost) -> None:
    lab.on("*", text=proposal(("bash", {"command": "ls"}), before=""))
    message = await claude.messages.create(
        model="voting",
        max_tokens=900,
        messages=[ASKED],
        tools=[
            {"type": "bash_20250124", "name": "bash"},
            {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
        ],
    )
    (call,) = message.content
    assert (call.name, call.input) == ("bash", {"command": "ls"})


async def test_tools_that_items_of_the_conversation_bring(client: Any, lab: ScriptedHost) -> None:
    lab.on("*", text=proposal(("crm.read_file", {"path": "a"}), before=""))
    space = {"type": "namespace", "name": "crm", "tools": [{"type": "function", **READ}]}
    search = {"type": "tool_search", "execution": "client", "parameters": {"type": "object"}}
    items = [
        {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "look"}]},
        {"role": "user", "content": "Go."},
        {"type": "tool_search_call", "call_id": "c1", "arguments": {"query": "crm"}, "execution": "client"},
        {"type": "tool_search_output", "call_id": "c1", "tools": [space], "execution": "client"},
        {"type": "tool_search_output", "call_id": "c2", "tools": [space], "execution": "client"},
    ]
    response = await client.responses.create(model="single", input=items, tools=[search])
    (call,) = response.output
    assert (call.namespace, call.name) == ("crm", "read_file")
    text = lab.log[0].text
    for name in ("look", "crm.read_file", "tool_search"):
        assert text.count(f'{{"name":"{name}"') == 1
    assert 'Call of the tool tool_search: {"query": "crm"}' in text
    lab.on("*", text=proposal(("tool_search", {"query": "mail"}), before=""))
    response = await client.responses.create(model="single", input="Go on.", tools=[search])
    (call,) = response.output
    assert (call.type, call.execution, call.arguments) == ("tool_search_call", "client", {"query": "mail"})
