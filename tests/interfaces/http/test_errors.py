"""Settings and plans, streamed text, and errors while a run is followed."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import httpx2
import pytest
from mcp import MCPError
from mcp_types import TextContent
from sqlalchemy import text

from pnyx.core.decision import STATUSES
from pnyx.core.events import RunFinished
from pnyx.errors import StoreError
from pnyx.interfaces.requests.option_names import with_requests
from pnyx.run import journal
from pnyx.run.result import Result
from pnyx.store.store_errors import StoreErrors
from tests.interfaces.conftest import KEY
from tests.interfaces.http.test_runs import VOTE
from tests.interfaces.shell import pnyx
from tests.support.assistants import over_http
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle, events_of, open_server
from tests.support.stored import as_json
from tests.support.waiting import until

RESULT: dict[str, Any] = {
    **{"run_id": "x", "status": "decided", "protocol": "voting", "question": "Why?", "answer": "So."},
    "usage": {"input_tokens": 1, "output_tokens": 1, "cached_tokens": 0, "cost_usd": 0.0, "calls": 1},
    "rounds": 1,
}
MESSAGE = {"role": "user", "content": "Why?"}
TEXT = "It is so, as was said before by others.\nFinal answer: 42"


@pytest.fixture
async def server(lab: ScriptedHost) -> AsyncIterator[ServerHandle]:
    lab.on("*", text=TEXT)
    async with open_server() as server:
        yield server


async def test_tokens_are_streamed_from_the_first_call_on(server: ServerHandle, lab: ScriptedHost) -> None:
    lab.replies = 0  # text that arrives before a client follows is not sent again after its call
    begun = list[int]()
    async with server.client() as client:
        body = {"question": "Why?", "protocol": "consensus", "tokens": True}
        run = (await client.post("/v1/runs", json=body)).json()["run_id"]
        following = asyncio.create_task(follow(client, run, begun=begun))
        await until(lambda: begun)
        lab.replies = None
        events = await following
    assert text_of(events, "/1") == TEXT


async def test_a_late_client_receives_the_text_so_far(server: ServerHandle, lab: ScriptedHost) -> None:
    followed = threading.Event()
    lab.on("alpha", text=TEXT, drip=(120, 0.15), hurry=followed.is_set)
    async with server.client() as client:
        body = {"question": "Why?", "protocol": "consensus", "tokens": True}
        run = (await client.post("/v1/runs", json=body)).json()["run_id"]
        async with client.stream("GET", f"/v1/runs/{run}/events?tokens=true") as response:
            async for event in events_of(response):
                if event["type"] == "token" and "said" in event["text"]:
                    break
        begun = list[int]()
        late = asyncio.create_task(follow(client, run, begun=begun))
        last = asyncio.create_task(follow(client, run, after=3, begun=begun))
        await until(lambda: {0, 3} <= set(begun))
        followed.set()
        events, rest = await late, await last
    assert text_of(events, "/1") == text_of(rest, "/1") == TEXT
    first = next(event for event in events if event["type"] == "token")
    assert first["text"].startswith("It is so, as was")


async def test_protocols_and_the_schema_can_be_read(server: ServerHandle) -> None:
    async with server.client() as client:
        names = {page["name"] for page in (await client.get("/v1/protocols")).json()}
        models = {model["id"] for model in (await client.get("/v1/models")).json()["data"]}
        paths = (await client.get("/openapi.json")).json()["paths"]
    assert {"consensus", "voting", "council"} <= names
    assert {"pnyx/consensus", "pnyx/council:quick"} <= models
    assert "/v1/runs/{run_id}/events" in paths


async def test_the_defaults_of_a_request_can_be_read(server: ServerHandle) -> None:
    async with server.client() as client:
        response = (await client.get("/v1/settings")).json()
        pages = {page["name"]: page for page in (await client.get("/v1/protocols")).json()}
    assert response["seats"] == ["lab:alpha", "lab:beta", "lab:gamma"]
    assert response["models"][:3] == response["seats"]
    assert (response["protocol"], response["options"]["consensus"], response["missing"]) == (
        "consensus",
        {"rounds": 1},
        None,
    )
    assert pages["consensus"]["options"]["rounds"] == {
        "default": 3,
        "help": "the most rounds",
        "low": 1,
        "high": 20,
        "choices": [],
    }
    phases = [step["target"] for step in pages["consensus"]["phases"]]
    assert phases == ["propose", "challenge", "revise", "commit", "propose", "complete"]


async def test_a_plan_estimates_a_run_and_sends_nothing(server: ServerHandle, lab: ScriptedHost) -> None:
    body = {"question": "Why?", "rounds": 3, "budget_usd": 0.5}
    async with server.client() as client:
        response = (await client.post("/v1/plan", json=body)).json()
        quick = (await client.post("/v1/plan", json={"question": "Why?", "preset": "quick"})).json()
        odd = (await client.post("/v1/plan", json={"question": "Why?", "models": ["lab:odd*3"]})).json()
        wrong = await client.post("/v1/plan", json={"question": "Why?", "models": ["nowhere:model"]})
        assert (await client.get("/v1/runs")).json() == []
    # The command has an event loop of its own.
    args = ("ask", "--dry-run", "--json", "Why?", "--rounds", "3", "--budget", "0.5")
    same = (await asyncio.to_thread(pnyx, *args)).json
    for plan in (response, same):
        assert {seat.pop("seat") for seat in plan["seats"]} == {f"Participant {one}" for one in "ABC"}
    assert response == same
    assert quick["calls"] == {"least": 4, "most": 4}
    assert odd["at_most"]["cost_usd"] is None
    assert (wrong.status_code, lab.log) == (400, [])
    assert "no provider 'nowhere'" in wrong.json()["error"]["message"]


async def test_runs_can_be_filtered_by_every_status(server: ServerHandle) -> None:
    async with server.client() as client:
        for status in STATUSES:
            assert (await client.get("/v1/runs", params={"status": status})).json() == []
        wrong = await client.get("/v1/runs", params={"status": "bogus"})
    assert wrong.status_code == 422
    assert "status must be one of 'consensus'" in wrong.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("runs", {**VOTE, "wait": True, "on_disconnect": "cancel"}),
        ("runs", {**VOTE, "stream": True, "on_disconnect": "cancel"}),
        ("chat/completions", {"model": "voting", "messages": [MESSAGE]}),
    ],
)
async def test_a_server_error_does_not_count_as_a_disconnect(
    server: ServerHandle, lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any]
) -> None:
    async def broken(*_: Any) -> AsyncIterator[Any]:
        raise StoreError("the disk is gone")
        yield

    monkeypatch.setattr("pnyx.interfaces.service.follow.follow", broken)
    lab.latency = 0.5
    async with server.client() as client:
        answer = await client.post(f"/v1/{path}", json=body)
        response = (200, True) if body.get("stream") else (503, False)
        assert (answer.status_code, "event: error" in answer.text) == response

        async def over() -> Any:
            (run,) = (await client.get("/v1/runs")).json()
            return run if run["status"] != "running" else None

        assert (await until(over))["status"] == "consensus"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("runs", {**VOTE, "stream": True}),
        ("chat/completions", {"model": "voting", "stream": True, "messages": [MESSAGE]}),
    ],
)
@pytest.mark.parametrize("where", ["follow", "events"])
async def test_a_bug_ends_a_stream_with_an_error_event_and_is_logged_without_secrets(
    server: ServerHandle,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    path: str,
    body: dict[str, Any],
    where: str,
) -> None:
    async def broken(*_: Any) -> AsyncIterator[Any]:
        if where == "follow":
            raise KeyError(f"the key is {KEY}")
        # A result that cannot be written as JSON.
        result = Result(**RESULT, detail={KEY: object()}).to_json()
        yield RunFinished(run_id="x", time="now", status="decided", result=result)

    monkeypatch.setattr("pnyx.interfaces.service.follow.follow", broken)
    async with server.client() as client:
        answer = await client.post(f"/v1/{path}", json=body)
    assert answer.status_code == 200
    *_, data = answer.text.strip().splitlines()
    problem = json.loads(data.removeprefix("data: "))["error"]
    # OpenAI's clients read our type as the code, and the kind of the error as the type.
    openai = {"type": "server_error", "code": "internal_error"}
    assert problem.items() >= ({"type": "internal_error"} if path == "runs" else openai).items()
    assert problem["message"].startswith("this is a bug in pnyx: ")
    assert ("event: error" in answer.text) == (path == "runs")
    logged = "\n".join(record.getMessage() for record in caplog.records if record.name == "pnyx.http")
    assert "Traceback" in logged
    assert KEY not in logged


async def test_an_event_id_out_of_range_is_refused(server: ServerHandle) -> None:
    async with server.client() as client:
        run = (await client.post("/v1/runs", json={**VOTE, "wait": True})).json()["run_id"]
        for number, status in (("2147483647", 204), ("2147483648", 422), ("9999999999", 422), ("x", 422)):
            answer = await client.get(f"/v1/runs/{run}/events", headers={"Last-Event-ID": number})
            assert (answer.status_code, answer.text == "") == (status, status == 204)


async def test_a_seat_without_a_role_has_null_in_every_response(server: ServerHandle) -> None:
    body = {"question": "Why?", "protocol": "voting", "roles": {"1": "critic"}}
    async with server.client() as client:
        started = (await client.post("/v1/runs", json=body)).json()
        events = await follow(client, started["run_id"])
        listed = (await client.get("/v1/runs")).json()
    for one in (started, events[0], events[-1]["result"], *listed):
        assert [seat["role"] for seat in one["seats"]] == ["critic", None, None]


async def test_without_a_panel_the_server_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PNYX_MODELS", str(tmp_path))
    async with open_server() as server, server.client() as client:
        response = (await client.get("/v1/settings")).json()
    assert response["seats"] == []
    assert "pnyx models pull" in response["missing"]


async def test_a_diverged_run_returns_the_error_on_every_way_to_resume(
    server: ServerHandle, lab: ScriptedHost
) -> None:
    lab.on("*", usage={"prompt_tokens": 1000, "completion_tokens": 3000, "total_tokens": 4000})
    unhandled: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: unhandled.append(context))
    async with server.client() as client:
        body = {"question": "Why?", "protocol": "voting", "budget_usd": 0.03, "wait": True}
        run = (await client.post("/v1/runs", json=body)).json()
        assert (run["status"], run["stop_reason"]) == ("paused", "budget")
        assert lab.log
        other = text('UPDATE events SET body = replace(body, \'"fingerprint": "\', \'"fingerprint": "0\')')
        await server.runner.database.write(as_json)
        await server.runner.database.write(lambda c: c.execute(other))
        where = f"/v1/runs/{run['run_id']}"
        waited = await client.post(f"{where}/resume", json={"wait": True})
        assert (waited.status_code, waited.json()["error"]["type"]) == (409, "diverged")
        async with client.stream("POST", f"{where}/resume", json={"stream": True}) as response:
            last = [event async for event in events_of(response)][-1]
        assert (last["type"], last["result"]["stop_reason"]) == ("run_finished", "diverged")
        now = (await client.get(where)).json()
    assert (now["status"], now["stop_reason"]) == ("paused", "diverged")
    assert waited.json()["error"]["message"] == with_requests(now["detail"]["message"])
    gc.collect()
    assert unhandled == []


async def test_a_stream_ends_with_an_error_if_the_run_cannot_be_written(
    server: ServerHandle, lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any, **more: Any) -> Any:
        raise StoreError("the disk is full")

    broken = threading.Event()
    lab.on("*", text="42", until=broken.is_set)
    async with server.client() as client:
        started = (await client.post("/v1/runs", json={"question": "Why?", "protocol": "voting"})).json()
        async with client.stream("GET", f"/v1/runs/{started['run_id']}/events") as response:
            lines = response.aiter_lines()
            seen = [await anext(lines)]
            # A client that comes after the failure learns that the run is paused.
            monkeypatch.setattr(journal, "append_all", full)
            broken.set()
            seen += [line async for line in lines if line]
    monkeypatch.undo()
    *_, name, data = seen
    assert name == "event: error"
    error = {"error": {"type": "store_error", "message": "the disk is full"}}
    assert json.loads(data.removeprefix("data: ")) == error


async def follow(
    client: Any, run: str, after: int = 0, begun: list[int] | None = None
) -> list[dict[str, Any]]:
    """The events of a run after a number, which is added to `begun` with the first of them."""
    events = []
    async with client.stream("GET", f"/v1/runs/{run}/events?tokens=true&after={after}") as response:
        async for event in events_of(response):
            events.append(event)
            if begun is not None:
                begun.append(after)
    return events


def text_of(events: list[dict[str, Any]], key: str) -> str:
    return "".join(event["text"] for event in events if event["type"] == "token" and event["key"] == key)


@pytest.mark.parametrize(
    "path", ["/health", "/v1/runs", "/v1/models", "/v1/messages", "/nowhere", "/openapi.json"]
)
async def test_every_response_has_the_headers_that_guard_a_browser(server: ServerHandle, path: str) -> None:
    async with server.client() as client:
        guarded(await client.get(path))


async def test_a_stream_of_mcp_has_the_same_headers(server: ServerHandle) -> None:
    info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": info}
    accept = {"Accept": "application/json, text/event-stream"}
    async with server.client() as client:
        response = await client.post("/mcp", json=message, headers=accept)
    assert (response.status_code, response.headers["content-type"]) == (200, "text/event-stream")
    guarded(response)


def guarded(response: httpx2.Response) -> None:
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "no-store" in response.headers["cache-control"]
    assert "no-cache" not in response.headers["cache-control"]
    assert "default-src 'none'" in response.headers["content-security-policy"]


async def test_where_the_database_is_stays_in_the_log(
    server: ServerHandle, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*_: Any, **more: Any) -> Any:
        with StoreErrors("postgresql://pnyx@10.1.2.3/runs"):
            raise OSError("connect call failed ('10.1.2.3', 5432)")

    async with server.client() as client, over_http(server) as assistant:
        for name in ("read", "write"):
            monkeypatch.setattr(server.runner.database, name, AsyncMock(side_effect=away))
        answers = [await client.get("/v1/runs"), await client.get("/v1/costs")]
        called = await assistant.call_tool("runs", {})
        with pytest.raises(MCPError, match="the database fails; the server's log has why"):
            await assistant.list_resources()
    block = called.content[0]
    assert isinstance(block, TextContent)
    assert block.text == "the database fails; the server's log has why"
    for answer in answers:
        assert answer.status_code == 503
        assert answer.json()["error"]["message"] == "the database fails; the server's log has why"
    assert "10.1.2.3" in caplog.text


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=1e3", "limit must be a whole number, not '1e3'"),
        ("limit=" + "9" * 5000, f"limit must be a whole number with fewer digits, not '{'9' * 40}'"),
        ("since=2026-02-30", "since is not valid: "),
        ("since=12", "since "),
        ("cursor=" + "a" * 1001, "cursor must have at most 1000 characters, not 1001"),
    ],
)
async def test_a_query_that_is_not_valid_is_refused_in_a_sentence(
    server: ServerHandle, query: str, message: str
) -> None:
    async with server.client() as client:
        answer = await client.get(f"/v1/runs?{query}")
    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith(message)
    assert "must be Input" not in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "model", ["pnyx/voting", "voting", "voting:quick", "pnyx/voting:quick", "votin", "pnyx/"]
)
async def test_a_model_exists_if_the_chat_api_answers_as_it(
    server: ServerHandle, lab: ScriptedHost, model: str
) -> None:
    lab.on("*", text=TEXT)
    async with server.client() as client:
        answer = await client.post("/v1/chat/completions", json={"model": model, "messages": [MESSAGE]})
        found = await client.get(f"/v1/models/{model}")
    assert (found.status_code == 200) is (answer.status_code == 200)
    assert found.status_code in (200, 404)
