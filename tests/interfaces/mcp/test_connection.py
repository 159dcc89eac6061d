"""`pnyx mcp` responds as the server of the package `mcp` does, and imports no web framework."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from pnyx.interfaces.access.keys import LOCAL
from pnyx.interfaces.mcp.connection import Connection
from pnyx.interfaces.mcp.server import create_server
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.interfaces.service.run_service import RunService
from tests.support.assistants import HELLO
from tests.support.scripted import ScriptedHost

READY: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/initialized"}
WEB = ("starlette", "uvicorn", "fastapi", "sse_starlette")
VERSION, CLIENT = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
ENVELOPE: dict[str, Any] = {VERSION: "2026-07-28", CLIENT: {}}


def request(number: int | str, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def hello(version: str) -> dict[str, Any]:
    return {**HELLO, "params": {**HELLO["params"], "protocolVersion": version}}


def enveloped(number: int, method: str, **params: Any) -> dict[str, Any]:
    return request(number, method, _meta=ENVELOPE, **params)


CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "tools": ("tools/list", {}),
    "protocols": ("tools/call", {"name": "protocols", "arguments": {}}),
    "no arguments": ("tools/call", {"name": "runs"}),
    "a failure": ("tools/call", {"name": "show", "arguments": {"run_id": "nothing"}}),
    "a wrong argument": ("tools/call", {"name": "runs", "arguments": {"limit": 0}}),
    "no such tool": ("tools/call", {"name": "sing", "arguments": {}}),
    "no name": ("tools/call", {"arguments": {}}),
    "arguments that are a list": ("tools/call", {"name": "runs", "arguments": []}),
    "ping": ("ping", {}),
    "discover": ("server/discover", {}),
    "resources": ("resources/list", {}),
    "resources from a cursor": ("resources/list", {"cursor": "bm8="}),
    "forms of resources": ("resources/templates/list", {}),
    "no such resource": ("resources/read", {"uri": "pnyx://runs/none"}),
    "an address": ("resources/read", {"uri": "https://example.org"}),
    "a subscription to nothing": ("resources/subscribe", {"uri": "pnyx://runs/none"}),
    "no subscription": ("resources/unsubscribe", {"uri": "pnyx://runs/none"}),
    "prompts": ("prompts/list", {}),
    "a prompt": ("prompts/get", {"name": "decide", "arguments": {"decision": "Tabs?", "models": "a:b"}}),
    "a prompt without its argument": ("prompts/get", {"name": "review"}),
    "no such prompt": ("prompts/get", {"name": "sing"}),
    "a completion": (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "pnyx"}, "argument": {"name": "protocol", "value": "co"}},
    ),
    "a completion of nothing": (
        "completion/complete",
        {"ref": {"type": "ref/resource", "uri": "x://y"}, "argument": {"name": "run_id", "value": ""}},
    ),
    "a level": ("logging/setLevel", {"level": "debug"}),
    "no level": ("logging/setLevel", {"level": "loud"}),
    "no method": ("tools/sing", {}),
}
SCRIPTS: dict[str, list[dict[str, Any]]] = {
    **{f"hello {version}": [hello(version)] for version in ("2024-11-05", "2025-11-25", "2026-07-28", "x")},
    "hello twice": [HELLO, READY, hello("2025-03-26"), request(2, "tools/list")],
    "hello without a version": [request(1, "initialize", capabilities={})],
    "before hello": [request(1, "tools/list"), request(2, "ping"), request(3, "tools/sing")],
    "an envelope after hello": [HELLO, READY, enveloped(2, "tools/list")],
    "hello after an envelope": [enveloped(1, "tools/list"), {**HELLO, "id": 2}],
    "an envelope without capabilities": [request(1, "tools/list", _meta={VERSION: "2026-07-28"})],
    "no envelope after one": [enveloped(1, "tools/list"), request(2, "tools/list")],
    "an unknown version": [request(1, "tools/list", _meta={**ENVELOPE, VERSION: "2031-01-01"})],
    "a version that is no text": [request(1, "tools/list", _meta={**ENVELOPE, VERSION: 7})],
    "an id that is text": [{**HELLO, "id": "one"}, READY, request("two", "ping")],
    **{
        f"handshake: {name}": [HELLO, READY, request(2, call, **more)] for name, (call, more) in CALLS.items()
    },
    **{f"envelope: {name}": [enveloped(1, call, **more)] for name, (call, more) in CALLS.items()},
}


@pytest.mark.parametrize("name", SCRIPTS)
async def test_responses_equal_those_of_the_packages_server(name: str, lab: ScriptedHost) -> None:
    script = SCRIPTS[name]
    async with RunService.open(open_settings()) as service:
        ours = await our_answers(service, script)
        theirs = await package_answers(service, script)
    assert len(ours) == len(theirs) == sum("id" in message for message in script)
    for mine, other in zip(ours, theirs, strict=True):
        # The wording of errors may differ; code and data are for programs.
        for message in (mine, other):
            if "error" in message:
                message["error"].pop("message")
        assert mine == other


async def our_answers(service: RunService, script: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what our connection sends when each request waits for the response to the one before."""
    sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    answers: list[dict[str, Any]] = []

    async def send(line: str) -> None:
        sent.put_nowait(json.loads(line))

    async def lines() -> AsyncIterator[str]:
        for message in script:
            yield json.dumps(message)
            if "id" in message:
                answers.append(await sent.get())

    async with asyncio.timeout(60):
        await Connection(service, send).serve(lines())
    return answers


async def package_answers(service: RunService, script: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the package's server sends."""
    server = create_server(service, lambda request: LOCAL, lambda request: "")
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    answers: list[dict[str, Any]] = []
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks, to_server, from_server:
            tasks.start_soon(server.run, incoming, outgoing, server.create_initialization_options())
            for message in script:
                parsed = jsonrpc_message_adapter.validate_python(message, by_name=False)
                await to_server.send(SessionMessage(parsed))
                if "id" in message:
                    answer = (await from_server.receive()).message
                    answers.append(json.loads(answer.model_dump_json(by_alias=True, exclude_unset=True)))
            tasks.cancel_scope.cancel()
    return answers


async def test_calls_run_concurrently_and_a_cancelled_one_gets_no_response(lab: ScriptedHost) -> None:
    answered = asyncio.Event()
    lab.on("*", until=answered.is_set)
    call = {"name": "ask", "arguments": {"question": "Why?", "protocol": "voting"}}
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
    sent: list[dict[str, Any]] = []

    async def send(line: str) -> None:
        sent.append(json.loads(line))

    async def lines() -> AsyncIterator[str]:
        for message in (HELLO, READY, request(2, "tools/call", **call)):
            yield json.dumps(message)
        await lab.wait_for_requests(3)
        yield json.dumps(request(3, "ping"))
        while sent[-1].get("id") != 3:  # noqa: ASYNC110 (it comes by itself)
            await asyncio.sleep(0.01)
        yield json.dumps(cancel)
        await asyncio.sleep(0.3)  # it is read
        answered.set()
        while (await service.list_runs())[0].result.status == "running":  # noqa: ASYNC110 (so do clients)
            await asyncio.sleep(0.02)

    async with RunService.open(open_settings()) as service, asyncio.timeout(60):
        await Connection(service, send).serve(lines())
        assert [message["id"] for message in sent] == [1, 3]


@pytest.mark.parametrize("in_time", [True, False])
async def test_a_call_under_way_when_the_client_closes_its_side_is_answered(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch, in_time: bool
) -> None:
    answered = asyncio.Event()
    lab.on("*", until=answered.is_set)
    sent: list[dict[str, Any]] = []

    async def send(line: str) -> None:
        sent.append(json.loads(line))

    async def lines() -> AsyncIterator[str]:
        call = {"name": "ask", "arguments": {"question": "Why?", "protocol": "voting"}}
        for message in (HELLO, READY, request(2, "tools/call", **call)):
            yield json.dumps(message)
        await lab.wait_for_requests(3)
        service.drain(60)
        if in_time:
            answered.set()

    if not in_time:
        monkeypatch.setattr("pnyx.interfaces.mcp.connection.DRAIN_S", 0.0)
    async with RunService.open(open_settings()) as service, asyncio.timeout(60):
        await Connection(service, send).serve(lines())
        answered.set()
    last = sent[-1]
    assert last["id"] == 2
    assert last["result"]["structuredContent"]["status"] == "paused" if in_time else last["error"]


async def test_a_person_who_has_left_is_asked_for_no_budget(lab: ScriptedHost) -> None:
    sent: list[dict[str, Any]] = []

    async def send(line: str) -> None:
        sent.append(json.loads(line))

    async def lines() -> AsyncIterator[str]:
        able = {**HELLO, "params": {**HELLO["params"], "capabilities": {"elicitation": {}}}}
        for message in (able, READY, request(2, "tools/call", name="ask", arguments={"question": "Why?"})):
            yield json.dumps(message)
        while sent[-1].get("method") != "elicitation/create":  # noqa: ASYNC110 (it comes by itself)
            await asyncio.sleep(0.01)
        service.drain()

    async with RunService.open(open_settings()) as service, asyncio.timeout(60):
        await Connection(service, send).serve(lines())
    assert (sent[-1]["id"], sent[-1]["result"]["isError"], lab.log) == (2, True, [])


async def test_an_invalid_result_is_an_internal_error_of_one_request(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Any:
        raise ZeroDivisionError

    async with RunService.open(open_settings()) as service:
        monkeypatch.setattr("pnyx.interfaces.mcp.methods.list_tools", broken)
        _, bug, pong = await our_answers(
            service, [HELLO, READY, request(2, "tools/list"), request(3, "ping")]
        )
    assert bug["error"] == {"code": -32603, "message": "this is a bug in pnyx: ZeroDivisionError"}
    assert pong["result"] == {}


def test_over_stdio_no_web_framework_is_imported(lab: ScriptedHost) -> None:
    # The process prints its modules on stderr as it ends, after real responses.
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))\n"
        "from pnyx.interfaces.cli import main\n"
        "main(['mcp'])\n"
    )
    call = request(3, "tools/call", name="runs", arguments={})
    spoken = "".join(json.dumps(one) + "\n" for one in (HELLO, READY, request(2, "tools/list"), call))
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(spoken)
        process.stdin.flush()
        answers = sorted((json.loads(process.stdout.readline()) for _ in range(3)), key=lambda one: one["id"])
        process.stdin.close()
        loaded = process.stderr.read().split()
        assert process.wait(120) == 0
    assert answers[0]["result"]["serverInfo"]["name"] == "pnyx"
    assert "ask" in [tool["name"] for tool in answers[1]["result"]["tools"]]
    assert answers[2]["result"]["structuredContent"]["runs"] == []
    assert {"pnyx.interfaces.mcp.stdio", "pnyx.interfaces.service.run_service", "mcp_types"} <= set(loaded)
    assert [name for name in loaded if name.partition(".")[0] in (*WEB, "mcp")] == []
