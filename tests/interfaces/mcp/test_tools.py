"""The tools of MCP with the protocol's own client: the same at both doors, in both eras of the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import jsonschema  # type: ignore[import-untyped]
import pytest
from mcp import Client, MCPError

from pnyx import protocols
from tests.interfaces.conftest import KEY
from tests.interfaces.http.test_runs import told
from tests.support.assistants import Heard, at_home, over_http, text_of
from tests.support.scripted import ScriptedHost
from tests.support.serving import served

TOOLS = {"ask", "resume", "show", "runs", "recall", "cancel", "protocols"}
VOTE = {"question": "Why?", "protocol": "voting"}


Door: TypeAlias = Callable[[], AbstractAsyncContextManager[Client]]


@pytest.fixture(params=["stdio-auto", "stdio-legacy", "http-auto", "http-legacy"])
def door(lab: ScriptedHost, request: pytest.FixtureRequest) -> Door:
    """A client is opened where it is used: its tasks belong to whoever opens it."""
    lab.on("*", text="It is so.\nFinal answer: 42")
    kind, mode = request.param.split("-")

    @asynccontextmanager
    async def http() -> AsyncIterator[Client]:
        async with served() as server, over_http(server, mode=mode) as client:
            yield client

    return http if kind == "http" else partial(at_home, mode)


@pytest.fixture
def capped(lab: ScriptedHost, tmp_path: Path) -> None:
    """What a run may cost is set."""
    with (tmp_path / "lab.toml").open("a") as settings:
        settings.write("[budget]\nrun_usd = 2.0\n")


async def test_a_question_is_put_and_decided(door: Door, lab: ScriptedHost) -> None:
    async with door() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools.keys() == TOOLS
        heard = Heard()
        answer = await client.call_tool("ask", {**VOTE, "seed": 5}, progress_callback=heard)
        result: dict[str, Any] = answer.structured_content
        assert not answer.is_error
        assert (result["status"], result["final_answer"]) == ("consensus", "42")
        # The same rows as from the command line, in the same words.
        assert await told("status", result["run_id"], "--json") == result
        assert result["answer"].splitlines()[0] in text_of(answer)
        assert result["run_id"] in text_of(answer)
        assert f"{result['usage']['calls']} calls" in text_of(answer)
        # The last ones may be on their way yet.
        assert heard.steps == sorted(set(heard.steps))
        assert heard.run_id == result["run_id"]
        assert any("vote" in message for message in heard.messages)


async def test_what_comes_out_is_what_the_output_schema_says(door: Door, lab: ScriptedHost) -> None:
    async with door() as client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        lab.on("beta", text="It is not.\nFinal answer: 41")
        asked = await client.call_tool("ask", {**VOTE, "context": "The node is old."})
        run = {"run_id": asked.structured_content["run_id"]}
        assert any("The node is old." in str(request.body) for request in lab.log)
        calls: dict[str, dict[str, Any]] = {
            "show": {**run, "transcript": True},
            "runs": {"limit": 1},
            "recall": {"text": "final answers"},
            "resume": run,
            "cancel": run,
            "protocols": {},
        }
        for name, arguments in calls.items():
            given = await client.call_tool(name, arguments)
            assert not given.is_error, (name, text_of(given))
            jsonschema.validate(given.structured_content, schemas[name] or {})
            if name == "recall":
                (found,) = given.structured_content["runs"]
                assert (found["run_id"], "answer" in found["snippet"]) == (run["run_id"], True)
            if name == "show":
                assert given.structured_content == asked.structured_content
                assert "## Transcript" in text_of(given)
        jsonschema.validate(asked.structured_content, schemas["ask"] or {})
        listed = (await client.call_tool("protocols", {})).structured_content["protocols"]
        assert [one["name"] for one in listed] == list(protocols.names())


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("ask", {}, "question is missing"),
        ("ask", {"question": " "}, "there is no question"),
        ("ask", {"question": "Why?", "protocl": "voting"}, "did you mean"),
        ("ask", {"question": "Why?", "protocol": "shouting"}, "shouting"),
        ("ask", {"question": "Why?", "rounds": "two"}, "rounds must be"),
        ("ask", {"question": "Why?", "models": ["lab:alpha", "nowhere:x"]}, "nowhere"),
        (
            "ask",
            {"question": "Why?", "models": ["embedded:/etc/passwd"]},
            "this server accepts model names, not paths",
        ),
        ("ask", {"question": "Why?", "tools": True}, "tools are off"),
        (
            "ask",
            {"question": "Why?", "budget_usd": 5.0},
            "budget_usd must be at most $2 on this server, not $5",
        ),
        ("show", {"run_id": "nothing"}, "nothing"),
        ("resume", {"run_id": "nothing"}, "nothing"),
        ("cancel", {}, "run_id is missing"),
        ("runs", {"limit": 0}, "limit must be"),
        ("recall", {"text": "?!"}, "the search text has no word"),
    ],
)
async def test_what_cannot_be_is_told_as_the_tool_s_error_and_nothing_is_sent(
    lab: ScriptedHost, capped: None, tool: str, arguments: dict[str, Any], why: str
) -> None:
    async with served() as server, over_http(server) as client:
        refused = await client.call_tool(tool, arguments)
    assert refused.is_error
    assert why in text_of(refused)
    assert not lab.log


async def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(door: Door) -> None:
    async with door() as client:
        with pytest.raises(MCPError, match="there is no tool 'sing'; the tools are ask, "):
            await client.call_tool("sing", {})


async def test_a_panel_that_does_not_answer_is_an_error_with_the_run_in_it(
    door: Door, lab: ScriptedHost
) -> None:
    async with door() as client:
        lab.on("*", status=500, body=f"the key is {KEY}")
        failed = await client.call_tool("ask", VOTE)
        assert failed.is_error
        assert failed.structured_content["stop_reason"] == "no_quorum"
        assert text_of(failed).startswith(f"run {failed.structured_content['run_id']} failed: ")
        assert KEY not in str(failed)


async def test_a_run_out_of_money_is_an_error_and_goes_on_with_more(door: Door, lab: ScriptedHost) -> None:
    async with door() as client:
        poor = await client.call_tool("ask", {**VOTE, "budget_usd": 0.000001})
        assert poor.is_error
        run_id = poor.structured_content["run_id"]
        assert poor.structured_content["stop_reason"] == "budget"
        assert f"Continue it with `resume` and run_id {run_id}" in text_of(poor)
        rich = await client.call_tool("resume", {"run_id": run_id, "budget_usd": 1.0})
        assert not rich.is_error
        assert (rich.structured_content["run_id"], rich.structured_content["status"]) == (run_id, "consensus")


async def test_half_a_character_of_a_model_is_no_reason_to_fall_silent(door: Door, lab: ScriptedHost) -> None:
    async with door() as client:
        lab.on("*", text="It is \ud83d so.\nFinal answer: 42")
        answer = await client.call_tool("ask", VOTE)
        assert answer.structured_content["final_answer"] == "42"


async def test_a_caller_who_gives_up_pays_no_more_and_can_go_on(door: Door, lab: ScriptedHost) -> None:
    async with door() as client:
        lab.on("alpha", hang=True, call=1)
        heard = Heard()
        asking = asyncio.create_task(client.call_tool("ask", VOTE, progress_callback=heard))
        await lab.asked(3)
        async with asyncio.timeout(10):
            while not heard.messages:  # noqa: ASYNC110 (it comes by itself)
                await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        run_id = heard.run_id
        async with asyncio.timeout(10):
            while True:
                stand = (await client.call_tool("show", {"run_id": run_id})).structured_content
                if stand["status"] != "running":
                    break
                await asyncio.sleep(0.02)
        assert (stand["status"], stand["stop_reason"]) == ("paused", "interrupted")
        assert len(lab.log) == 3
        done = await client.call_tool("resume", {"run_id": run_id})
        assert done.structured_content["status"] == "consensus"
        # Those of beta and gamma are not sent again.
        assert [len(lab.requests(name)) for name in ("beta", "gamma")] == [1, 1]


async def test_who_does_not_wait_is_told_how_the_run_stands_and_can_end_it(
    door: Door, lab: ScriptedHost
) -> None:
    async with door() as client:
        lab.on("alpha", hang=True)
        begun = await client.call_tool("ask", {**VOTE, "wait": False})
        assert not begun.is_error
        assert begun.structured_content["status"] == "running"
        assert begun.structured_content["stop_reason"] is None
        run = {"run_id": begun.structured_content["run_id"]}
        busy = await client.call_tool("resume", run)
        assert busy.is_error
        assert "still running" in text_of(busy)
        ended = await client.call_tool("cancel", run)
        assert ended.structured_content["status"] == "cancelled"
