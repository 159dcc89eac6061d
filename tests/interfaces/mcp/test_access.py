"""/mcp has the keys, host names, owners and limits of every other path."""

from __future__ import annotations

import asyncio
import json
import math
import signal
from typing import Any
from unittest.mock import AsyncMock

import httpx2
import pytest
from mcp import MCPError

from pnyx.config.tables.server import ServeSettings
from tests.interfaces.conftest import KEY
from tests.interfaces.mcp.test_replay import CALL, opened
from tests.interfaces.shell import spawn
from tests.support.announced import address_and_key
from tests.support.assistants import HELLO, over_http, text_of
from tests.support.scripted import ScriptedHost
from tests.support.serving import SERVER_KEY, ServerHandle, open_server
from tests.support.waiting import until

MOST = int(ServeSettings().body_mb * 1_000_000)

VOTE = {"question": "Why?", "protocol": "voting"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
MODERN = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {}}


async def post(
    server: ServerHandle,
    message: Any = HELLO,
    *,
    key: str | None = SERVER_KEY,
    method: str = "POST",
    **headers: str,
) -> httpx2.Response:
    extra = {name.replace("_", "-"): value for name, value in headers.items()}
    accept = {"Accept": "application/json, text/event-stream"}
    async with server.client(key) as client:
        body = json.dumps(message) if message is not None else None
        kind = {"Content-Type": "application/json"} if message is not None else {}
        return await client.request(method, "/mcp", content=body, headers={**accept, **kind, **extra})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "rebound.example"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Origin": "https://rebound.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"key": None}, 401),
        ({"key": "pnyx_wrong"}, 401),
    ],
)
@pytest.mark.parametrize("era", ["2025-06-18", "2026-07-28"])
async def test_a_wrong_host_origin_or_key_is_refused_before_any_message_is_read(
    lab: ScriptedHost, headers: dict[str, Any], status: int, era: str
) -> None:
    message = HELLO if era == "2025-06-18" else MODERN
    async with open_server() as server:
        answer = await post(server, message, MCP_Protocol_Version=era, **headers)
        if status != 200 or era == "2025-06-18":
            assert answer.status_code == status
        else:
            assert answer.status_code in (200, 400)  # the message lacks its envelope; it was read
        if status != 200:
            assert answer.json()["error"]["message"]


async def test_a_body_that_is_too_long_is_refused_even_without_a_length(lab: ScriptedHost) -> None:
    async def pieces() -> Any:
        for _ in range((MOST >> 20) + 1):
            yield b" " * (1 << 20)

    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    async with open_server() as server, server.client() as client:
        answer = await client.post("/mcp", content=pieces(), headers=headers)
    assert answer.status_code == 413


async def test_the_run_of_another_owner_is_not_found(lab: ScriptedHost) -> None:
    async with open_server() as server:
        key = await server.key("ada")
        async with over_http(server) as mine:
            run_id = (await mine.call_tool("ask", VOTE)).structured_content["run_id"]
        async with over_http(server, key) as hers:
            for tool in ("show", "resume", "cancel"):
                refused = await hers.call_tool(tool, {"run_id": run_id})
                assert refused.is_error
                assert "no run" in text_of(refused)
            assert (await hers.call_tool("runs", {})).structured_content["runs"] == []
            assert (await hers.list_resources()).resources == []
            with pytest.raises(MCPError, match="no run"):
                await hers.read_resource(f"pnyx://runs/{run_id}")
            own = (await hers.call_tool("ask", VOTE)).structured_content["run_id"]
            async with server.client(key) as client:
                assert (await client.get(f"/v1/runs/{own}")).status_code == 200
        async with server.client() as client:
            assert (await client.get(f"/v1/runs/{own}")).status_code == 404


async def test_a_repeated_call_belongs_to_a_run_of_its_owner_alone(lab: ScriptedHost) -> None:
    async with open_server() as server:
        key = await server.key("ada")
        async with over_http(server) as mine, over_http(server, key) as hers:
            run_id = (await mine.call_tool("ask", VOTE)).structured_content["run_id"]
            for state in (run_id, "none", ""):
                for tool, arguments in (("ask", VOTE), ("resume", {"run_id": "x"})):
                    refused = await hers.session.call_tool(tool, arguments, request_state=state)
                    assert "no run" in text_of(refused), (tool, state)
            assert (await hers.call_tool("runs", {})).structured_content["runs"] == []


async def test_another_owner_cannot_use_a_session(lab: ScriptedHost) -> None:
    async with open_server() as server:
        key = await server.key("ada")
        opened = await post(server)
        session = {"Mcp_Session_Id": opened.headers["mcp-session-id"]}
        assert (await post(server, None, key=key, method="DELETE", **session)).status_code == 404
        assert (await post(server, None, method="DELETE", **session)).status_code == 200


async def test_a_key_with_too_many_sessions_keeps_nobody_else_out(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PNYX_MCP_SESSIONS", "2")
    async with open_server(keys={"bob": {"sessions": 1}}) as server:
        key, bob = await server.key("ada"), await server.key("bob")
        own = [await post(server, key=bob) for _ in range(2)]
        assert [one.status_code for one in own] == [200, 429]
        assert "sessions in [serve.keys.bob]" in own[1].json()["error"]["message"]
        opened = [await post(server) for _ in range(3)]
        assert [one.status_code for one in opened] == [200, 200, 429]
        assert opened[2].headers["retry-after"] == "60"
        assert "[mcp] sessions" in opened[2].json()["error"]["message"]
        assert (await post(server, key=key)).status_code == 200
        session = {"Mcp_Session_Id": opened[0].headers["mcp-session-id"]}
        assert (await post(server, None, method="DELETE", **session)).status_code == 200
        assert (await post(server)).status_code == 200
        # Clients of 2026 have no sessions.
        async with over_http(server) as client:
            assert (await client.list_tools()).tools


async def test_a_session_without_requests_ends(lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PNYX_MCP_SESSIONS", "1")
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    for idle_s in (0.3, 3.0, 15.0):  # a machine that stalls lets it end before its first request
        monkeypatch.setenv("PNYX_MCP_IDLE_S", f"{idle_s}")
        async with open_server() as server:
            opened = await post(server)
            session = {"Mcp_Session_Id": opened.headers["mcp-session-id"]}
            listed = await post(server, listing, **session)
            full = await post(server)
            if (listed.status_code, full.status_code) != (200, 429):
                continue
            assert full.headers["retry-after"] == f"{math.ceil(idle_s)}"
            await asyncio.sleep(2 * idle_s)
            assert (await post(server, listing, **session)).status_code == 404
            assert (await post(server)).status_code == 200
            return
    pytest.fail("no session lasted until its first request")


async def test_a_request_that_is_sent_again_is_refused_until_the_first_has_its_response(
    lab: ScriptedHost,
) -> None:
    go_on = asyncio.Event()
    lab.on("*", until=go_on.is_set, text="It is so.\nFinal answer: 42")
    call = {**CALL, "id": "five"}
    async with open_server() as server, opened(server) as client, opened(server) as other:
        first = asyncio.create_task(client.post("/mcp", json=call))
        await until(lambda: len(lab.log) == 3)
        refused = await client.post("/mcp", json=call)
        assert refused.status_code == 409
        assert "request 'five' of this session is under way" in refused.json()["error"]["message"]
        assert (await other.post("/mcp", json=PING | {"id": "five"})).status_code == 200
        assert (await client.post("/mcp", json=PING)).status_code == 200
        first.cancel()  # the client has left, and the run goes on
        await asyncio.wait((first,))
        assert (await client.post("/mcp", json=call)).status_code == 409
        go_on.set()

        while (answer := await client.post("/mcp", json=PING | {"id": "five"})).status_code == 409:  # noqa: ASYNC110 (asked of the server)
            await asyncio.sleep(0.02)
        assert answer.status_code == 200, "the id is free again"
        (run,) = (await client.get("/v1/runs")).json()
        assert run["status"] == "consensus"
    assert len({request.sha256 for request in lab.log}) == len(lab.log), "a call was asked twice"


@pytest.mark.parametrize("path", ["/mcp", "/v1/runs", "/v1/chat/completions", "/v1/messages"])
async def test_a_client_that_leaves_within_its_body_is_no_bug(
    lab: ScriptedHost, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    async with open_server() as server, opened(server) as client:
        host, port = server.url.removeprefix("http://").split(":")
        fields = {
            **{name: client.headers[name] for name in ("Accept", "Authorization", "Mcp-Session-Id")},
            **{"Host": f"{host}:{port}", "Content-Type": "application/json", "Content-Length": "1000"},
        }
        reader, writer = await asyncio.open_connection(host, int(port))
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"POST {path} HTTP/1.1\r\n{head}\r\n{{".encode())
        await writer.drain()
        writer.write_eof()
        await reader.read()
        writer.close()
        assert (await client.post("/mcp", json=PING)).status_code == 200
    assert [one.message for one in caplog.records if one.levelname == "ERROR"] == []


async def test_a_bug_is_reported_and_logged_without_secrets(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_server() as server, opened(server) as client:
        broken = AsyncMock(side_effect=ValueError(f"no {KEY}"))
        monkeypatch.setattr(server.service, "run_rows", broken)
        text = (await client.post("/mcp", json={**PING, "method": "resources/list"})).text
    assert '"message":"this is a bug in pnyx: ValueError"' in text
    assert KEY not in text + caplog.text
    assert "ValueError: no " in caplog.text


def test_a_server_prints_no_line_for_each_session_that_it_refuses(lab: ScriptedHost) -> None:
    with open("lab.toml", "a") as settings:
        settings.write("[mcp]\nsessions = 1\n")
    with spawn("serve", "--port", "0") as process:
        url, key = address_and_key(process.stderr)
        headers = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {key}"}
        with httpx2.Client(headers=headers, trust_env=False) as client:
            codes = [client.post(f"{url}/mcp", json=HELLO).status_code for _ in range(3)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert process.stderr is not None
        printed = process.stderr.read()
    assert codes == [200, 429, 429]
    assert b"session" not in printed


async def test_the_limit_on_runs_applies_to_mcp(lab: ScriptedHost) -> None:
    lab.on("*", hang=True)
    async with open_server(runs=1, wait_s=0) as server, over_http(server) as client:
        first = await client.call_tool("ask", {**VOTE, "wait": False})
        second = await client.call_tool("ask", VOTE)
        assert second.is_error
        assert "[serve] runs" in text_of(second)
        await client.call_tool("cancel", {"run_id": first.structured_content["run_id"]})


async def test_a_disconnect_pauses_the_run(lab: ScriptedHost) -> None:
    answered = asyncio.Event()
    lab.on("alpha", until=answered.is_set)
    async with open_server() as server:
        async with over_http(server) as client:
            with pytest.raises(Exception, match=r"[Tt]imed? ?out"):
                await client.call_tool("ask", VOTE, read_timeout_seconds=1.5)
            (run,) = (await client.call_tool("runs", {})).structured_content["runs"]
        assert run["status"] in ("paused", "running")
        answered.set()
        handle = server.runner.find(run["run_id"])
        if handle is not None:
            await handle.wait()
        async with server.client() as rest:
            state = (await rest.get(f"/v1/runs/{run['run_id']}")).json()
        assert (state["status"], state["stop_reason"]) == ("paused", "interrupted")
        await lab.wait_until_idle()
        assert len(lab.log) == 3
