"""pnyx with the tools, prompts and resources that the scenarios of the MCP conformance suite call by name.

Their results come from here; everything else is what `pnyx serve` does: HTTP, sessions, versions, validation,
progress, log messages, forms and subscriptions.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    CompleteResult,
    Completion,
    ElicitRequestFormParams,
    EmptyResult,
    GetPromptResult,
    ListPromptsResult,
    ListToolsResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceResult,
    Result,
    TextContent,
    TextResourceContents,
    Tool,
)

from pnyx.errors import UsageError
from pnyx.interfaces.mcp.methods import METHODS, Method
from pnyx.interfaces.mcp.peer import Peer
from pnyx.interfaces.service.run_service import RunService

__all__ = ["conformant", "with_key"]

NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
PAUSE_S = 0.05
NEGOTIATED = b"2025-11-25"


def said(text: str, *, error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=error)


def strings(*names: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string", "description": name} for name in names},
        "required": list(names),
    }


async def simple(peer: Peer, arguments: dict[str, Any]) -> CallToolResult:
    return said("This is a simple text response for testing.")


async def failing(peer: Peer, arguments: dict[str, Any]) -> CallToolResult:
    return said("This tool intentionally returns an error for testing", error=True)


async def logging(peer: Peer, arguments: dict[str, Any]) -> CallToolResult:
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await peer.log("info", text)
        await asyncio.sleep(PAUSE_S)
    return said("done")


async def progressing(peer: Peer, arguments: dict[str, Any]) -> CallToolResult:
    for step in (0, 50, 100):
        await peer.channel.progress(step, 100, "")
        await asyncio.sleep(PAUSE_S)
    return said("done")


async def reconnecting(peer: Peer, arguments: dict[str, Any]) -> CallToolResult:
    # `pnyx serve` closes no stream of its own accord: networks do.
    close = peer.channel._ctx.close_sse_stream  # type: ignore[attr-defined]
    if close is not None:
        await close()
    await asyncio.sleep(PAUSE_S)
    return said("Reconnection test completed successfully")


def elicits(schema: dict[str, Any]) -> Callable[[Peer, dict[str, Any]], Awaitable[CallToolResult]]:
    async def call(peer: Peer, arguments: dict[str, Any]) -> CallToolResult:
        message = arguments.get("message", "Please fill this in.")
        answer = await peer.elicit("form", ElicitRequestFormParams(message=message, requested_schema=schema))
        if answer is None:
            return said("the client has no forms", error=True)
        return said(f"User response: action={answer.action}, content={json.dumps(answer.content)}")

    return call


DEFAULTS = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]
ENUMS = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Fixture:
    """A tool. call: makes its result."""

    call: Callable[[Peer, dict[str, Any]], Awaitable[CallToolResult]]
    schema: dict[str, Any]


TOOLS = {
    "test_simple_text": Fixture(simple, NOTHING),
    "test_error_handling": Fixture(failing, NOTHING),
    "test_tool_with_logging": Fixture(logging, NOTHING),
    "test_tool_with_progress": Fixture(progressing, NOTHING),
    "test_reconnection": Fixture(reconnecting, NOTHING),
    "test_elicitation": Fixture(elicits(strings("username", "email")), strings("message")),
    "test_elicitation_sep1034_defaults": Fixture(elicits(DEFAULTS), NOTHING),
    "test_elicitation_sep1330_enums": Fixture(elicits(ENUMS), NOTHING),
    "json_schema_2020_12_tool": Fixture(simple, SCHEMA),
}
PROMPTS = {
    "test_simple_prompt": ((), "This is a simple prompt for testing."),
    "test_prompt_with_arguments": (("arg1", "arg2"), "Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"),
}
WATCHED = "test://watched-resource"


def resource(uri: str) -> str | None:
    """The text of a resource of the suite."""
    parts = uri.removeprefix("test://").split("/")
    match parts:
        case ["static-text"]:
            return "This is the content of the static text resource."
        case ["template", name, "data"]:
            return json.dumps({"id": name, "templateTest": True, "data": f"Data for ID: {name}"})
    return None


async def _call(peer: Peer, params: CallToolRequestParams) -> Result | None:
    tool = TOOLS.get(params.name)
    return None if tool is None else await tool.call(peer, params.arguments or {})


async def _read(peer: Peer, params: Any) -> Result | None:
    text = resource(params.uri)
    if text is None:
        return None
    return ReadResourceResult(
        contents=[TextResourceContents(uri=params.uri, mime_type="text/plain", text=text)]
    )


async def _watch(peer: Peer, params: Any) -> Result | None:
    if params.uri != WATCHED:
        return None
    if peer.session is None:
        raise UsageError("no session")
    return EmptyResult()


async def _prompt(peer: Peer, params: Any) -> Result | None:
    if params.name not in PROMPTS:
        return None
    text = PROMPTS[params.name][1].format(**(params.arguments or {}))
    return GetPromptResult(messages=[PromptMessage(role="user", content=TextContent(text=text))])


async def _complete(peer: Peer, params: Any) -> Result | None:
    if getattr(params.ref, "name", "") not in PROMPTS:
        return None
    return CompleteResult(completion=Completion(values=[]))


FIXTURES: dict[str, Callable[[Peer, Any], Awaitable[Result | None]]] = {
    "tools/call": _call,
    "resources/read": _read,
    "resources/subscribe": _watch,
    "resources/unsubscribe": _watch,
    "prompts/get": _prompt,
    "completion/complete": _complete,
}


async def _tools(service: RunService, peer: Peer, params: Any) -> Result:
    listed: Any = await LISTS["tools/list"].work(service, peer, params)
    more = [Tool(name=name, description=name, input_schema=tool.schema) for name, tool in TOOLS.items()]
    return ListToolsResult(tools=[*listed.tools, *more])


async def _prompts(service: RunService, peer: Peer, params: Any) -> Result:
    listed: Any = await LISTS["prompts/list"].work(service, peer, params)
    more = [
        Prompt(
            name=name,
            description=name,
            arguments=[PromptArgument(name=one, description=one, required=True) for one in arguments],
        )
        for name, (arguments, _) in PROMPTS.items()
    ]
    return ListPromptsResult(prompts=[*listed.prompts, *more])


LISTS = {method: METHODS[method] for method in ("tools/list", "prompts/list")}
"""Our own, to which those of the suite are added."""


@contextmanager
def conformant() -> Iterator[None]:
    """Until the end of the block, servers also have what the suite calls by name."""

    def added(method: str) -> Method:
        ours = METHODS[method]

        async def work(service: RunService, peer: Peer, params: Any) -> Result:
            found = await FIXTURES[method](peer, params)
            return await ours.work(service, peer, params) if found is None else found

        return Method(ours.params, work)

    with pytest.MonkeyPatch.context() as patch:
        for method in FIXTURES:
            patch.setitem(METHODS, method, added(method))
        for method, work in (("tools/list", _tools), ("prompts/list", _prompts)):
            patch.setitem(METHODS, method, Method(LISTS[method].params, work))
        yield


def with_key(app: Any, key: str) -> Any:
    """The app for a client that cannot send a key: each request has it.

    The scenario server-sse-polling negotiates 2025-11-25, and then names 2025-03-26, which has no events
    without a message: its requests have the version that was negotiated.
    """

    async def keyed(scope: Any, receive: Any, send: Any) -> None:
        headers = [
            (name, NEGOTIATED if (name, value) == (b"mcp-protocol-version", b"2025-03-26") else value)
            for name, value in scope["headers"]
        ]
        header = (b"authorization", f"Bearer {key}".encode())
        await app({**scope, "headers": [*headers, header]}, receive, send)

    return keyed
