"""The MCP tools, with the package's client: the same over stdio and HTTP, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import jsonschema
import pytest
from mcp import Client, MCPError

from pnyx import protocols
from tests.interfaces.conftest import KEY
from tests.interfaces.http.test_runs import run_command
from tests.support.assistants import ProgressLog, over_http, over_stdio, text_of
from tests.support.scripted import ScriptedHost
from tests.support.serving import open_server

TOOLS = {"ask", "resume", "show", "runs", "recall", "cancel", "tag", "delete", "protocols"}
VOTE = {"question": "Why?", "protocol": "voting"}


Connect: TypeAlias = Callable[[], AbstractAsyncContextManager[Client]]


@pytest.fixture(params=["stdio-auto", "stdio-legacy", "http-auto", "http-legacy"])
def connect(lab: ScriptedHost, request: pytest.FixtureRequest) -> Connect:
    """Open the client in the test itself: its tasks belong to the task that opens it."""
    lab.on("*", text="It is so.\nFinal answer: 42")
    kind, mode = request.param.split("-")

    @asynccontextmanager
    async def http() -> AsyncIterator[Client]:
        async with open_server() as server, over_http(server, mode=mode) as client:
            yield client

    return http if kind == "http" else partial(over_stdio, mode)


@pytest.fixture
def capped(lab: ScriptedHost, tmp_path: Path) -> None:
    """Configure a budget per run."""
    with (tmp_path / "lab.toml").open("a") as settings:
        settings.write("[budget]\nrun_usd = 2.0\n")


def plain(result: dict[str, Any]) -> dict[str, Any]:
    """The result without what only the tools add."""
    return {name: value for name, value in result.items() if name not in ("notice", "next")}


async def test_ask_returns_the_decision(connect: Connect, lab: ScriptedHost) -> None:
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools.keys() == TOOLS
        progress = ProgressLog()
        answer = await client.call_tool("ask", {**VOTE, "seed": 5}, progress_callback=progress)
        result: dict[str, Any] = answer.structured_content
        assert not answer.is_error
        assert (result["status"], result["final_answer"]) == ("consensus", "42")
        # The same rows as from the command line, in the same words.
        assert await run_command("status", result["run_id"], "--json") == plain(result)
        assert result["next"] is None
        assert "material" in result["notice"]
        assert result["answer"].splitlines()[0] in text_of(answer)
        assert result["run_id"] in text_of(answer)
        assert f"{result['usage']['calls']} calls" in text_of(answer)
        # The last progress messages may still be in transit.
        assert progress.steps == sorted(set(progress.steps))
        assert progress.run_id == result["run_id"]
        assert any("vote" in message for message in progress.messages)


async def test_every_result_satisfies_its_output_schema(connect: Connect, lab: ScriptedHost) -> None:
    async with connect() as client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        lab.on("beta", text="It is not.\nFinal answer: 41")
        decided = await client.call_tool("ask", {**VOTE, "context": "The node is old."})
        run = {"run_id": decided.structured_content["run_id"]}
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
            called = await client.call_tool(name, arguments)
            assert not called.is_error, (name, text_of(called))
            jsonschema.validate(called.structured_content, schemas[name] or {})
            if name == "recall":
                (found,) = called.structured_content["runs"]
                assert (found["run_id"], "answer" in found["snippet"]) == (run["run_id"], True)
            if name == "show":
                assert called.structured_content == decided.structured_content
                assert "## Transcript" in text_of(called)
        jsonschema.validate(decided.structured_content, schemas["ask"] or {})
        listed = (await client.call_tool("protocols", {})).structured_content["protocols"]
        assert [one["name"] for one in listed] == list(protocols.names())


async def test_a_list_cuts_texts_as_long_as_books_and_show_has_them_whole(connect: Connect) -> None:
    question = "Why is the night dark? " * 1000
    async with connect() as client:
        asked = await client.call_tool("ask", VOTE | {"question": question})
        run_id = asked.structured_content["run_id"]
        for name, arguments in {"runs": {}, "recall": {"text": "night"}}.items():
            (run,) = (await client.call_tool(name, arguments)).structured_content["runs"]
            assert run["question"] == question[:2000] + "…", name
            assert run["answer"] == asked.structured_content["answer"], name
        shown = await client.call_tool("show", {"run_id": run_id})
        assert shown.structured_content["question"] == question


async def test_lists_go_on_at_their_next_cursor(connect: Connect) -> None:
    async with connect() as client:
        asked = [await client.call_tool("ask", VOTE) for _ in range(5)]
        expected = [one.structured_content["run_id"] for one in asked][::-1]
        lists: dict[str, dict[str, Any]] = {"runs": {"limit": 2}, "recall": {"text": "final", "limit": 2}}
        for name, arguments in lists.items():
            found, sizes, cursor = list[str](), list[int](), None
            while not sizes or cursor is not None:
                called = await client.call_tool(name, arguments | ({"cursor": cursor} if cursor else {}))
                page = called.structured_content
                cursor = page["next_cursor"]
                assert (cursor is not None) == (str(cursor) in text_of(called)), name
                found += [run["run_id"] for run in page["runs"]]
                sizes.append(len(page["runs"]))
            assert sizes == [2, 2, 1], name
            assert sorted(found) == sorted(expected), name
            assert found == expected or name == "recall"
            failed = await client.call_tool(name, arguments | {"cursor": "nowhere"})
            assert failed.is_error
            assert "cursor is not from an earlier list" in text_of(failed)


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
async def test_an_invalid_call_is_a_tool_error_and_sends_nothing(
    lab: ScriptedHost, capped: None, tool: str, arguments: dict[str, Any], why: str
) -> None:
    async with open_server() as server, over_http(server) as client:
        refused = await client.call_tool(tool, arguments)
    assert refused.is_error
    assert why in text_of(refused)
    assert not lab.log


@pytest.mark.parametrize(
    ("name", "hint"),
    [("sing", "; the tools are ask, "), ("aks", r"; did you mean ask\? The tools are ask, ")],
)
async def test_an_unknown_tool_is_a_protocol_error(connect: Connect, name: str, hint: str) -> None:
    async with connect() as client:
        with pytest.raises(MCPError, match=f"there is no tool '{name}'{hint}"):
            await client.call_tool(name, {})


async def test_a_run_without_an_answer_is_a_tool_error_with_the_run(
    connect: Connect, lab: ScriptedHost
) -> None:
    async with connect() as client:
        lab.on("*", status=500, body=f"the key is {KEY}")
        failed = await client.call_tool("ask", VOTE)
        assert failed.is_error
        assert failed.structured_content["stop_reason"] == "no_quorum"
        assert text_of(failed).startswith(f"run {failed.structured_content['run_id']} failed: ")
        assert KEY not in str(failed)


async def test_a_run_out_of_budget_is_a_tool_error_and_can_be_resumed(
    connect: Connect, lab: ScriptedHost
) -> None:
    async with connect() as client:
        paused = await client.call_tool("ask", {**VOTE, "budget_usd": 0.000001})
        assert paused.is_error
        run_id = paused.structured_content["run_id"]
        assert paused.structured_content["stop_reason"] == "budget"
        assert f"Continue it with `resume`, run_id {run_id} and budget_usd " in text_of(paused)
        resumed = await client.call_tool("resume", {"run_id": run_id, "budget_usd": 1.0})
        assert not resumed.is_error
        assert (resumed.structured_content["run_id"], resumed.structured_content["status"]) == (
            run_id,
            "consensus",
        )


async def test_a_lone_surrogate_in_a_reply_is_replaced(connect: Connect, lab: ScriptedHost) -> None:
    async with connect() as client:
        lab.on("*", text="It is \ud83d so.\nFinal answer: 42")
        answer = await client.call_tool("ask", VOTE)
        assert answer.structured_content["final_answer"] == "42"


async def test_a_cancelled_call_pauses_the_run_which_can_be_resumed(
    connect: Connect, lab: ScriptedHost
) -> None:
    async with connect() as client:
        answered = asyncio.Event()
        lab.on("*", text="It is so.\nFinal answer: 42")
        lab.on("alpha", until=answered.is_set, call=1, text="It is so.\nFinal answer: 42")
        progress = ProgressLog()
        asking = asyncio.create_task(client.call_tool("ask", VOTE, progress_callback=progress))
        await lab.wait_for_requests(3)
        async with asyncio.timeout(60):
            while not progress.messages:  # noqa: ASYNC110 (progress arrives without an event to wait for)
                await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        run_id = progress.run_id
        for _ in range(3):  # the server reads the cancellation before what is sent after it
            await client.call_tool("show", {"run_id": run_id})
        answered.set()
        async with asyncio.timeout(60):
            while True:
                state = (await client.call_tool("show", {"run_id": run_id})).structured_content
                if state["status"] != "running":
                    break
                await asyncio.sleep(0.02)
        assert (state["status"], state["stop_reason"]) == ("paused", "interrupted")
        assert len(lab.log) == 3
        done = await client.call_tool("resume", {"run_id": run_id})
        assert done.structured_content["status"] == "consensus"
        # No call is sent again, not even the one that was in flight.
        assert len({request.sha256 for request in lab.log}) == len(lab.log)


async def test_a_long_run_outlives_its_call_and_is_waited_for_by_others(
    connect: Connect, lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PNYX_MCP_WAIT_S", "0.5")
    ready = threading.Event()
    lab.on("*", text="Final answer: 42", until=ready.is_set)
    async with connect() as client:
        begun = await client.call_tool("ask", VOTE)
        assert not begun.is_error
        assert begun.structured_content["status"] == "running"
        run = {"run_id": begun.structured_content["run_id"]}
        for name, arguments in (("show", {**run, "wait_s": 0.2}), ("resume", run)):
            state = await client.call_tool(name, arguments)
            assert (state.is_error, state.structured_content["status"]) == (False, "running"), name
            assert "wait_s" in state.structured_content["next"]
        ready.set()
        ended = await client.call_tool("show", {**run, "wait_s": 30})
        assert ended.structured_content["status"] == "consensus"
        assert ended.structured_content["next"] is None
    # Voting calls three seats and a judge: the run was neither paused nor begun again.
    assert len(lab.log) == 4


async def test_a_call_is_quick_unless_it_says_how(connect: Connect) -> None:
    async with connect() as client:
        consensus = {"question": "Why?", "protocol": "consensus"}
        for more, rounds in (({}, 1), ({"rounds": 2}, 2), ({"preset": "deep"}, None)):
            answer = await client.call_tool("ask", {**consensus, **more, "wait": False})
            shown = await client.call_tool(
                "show", {"run_id": answer.structured_content["run_id"], "wait_s": 30}
            )
            options = await run_options(shown.structured_content["run_id"])
            quick = protocols.get("consensus").presets["quick"]
            assert (options.items() >= quick.items()) == (more == {})
            assert rounds in (None, options["rounds"])


async def run_options(run_id: str) -> dict[str, Any]:
    exported = await run_command("export", run_id, "--format", "json")
    options: dict[str, Any] = exported["events"][0]["options"]
    return options


async def test_schemas_have_no_words_that_json_schema_does_not_know(connect: Connect) -> None:
    known = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}

    def words(part: Any, inside: bool = False) -> set[str]:
        if isinstance(part, list):
            return {word for one in part for word in words(one)}
        if not isinstance(part, dict):
            return set()
        own = set() if inside else set(part)
        return own | {w for name, one in part.items() for w in words(one, name in ("properties", "$defs"))}

    async with connect() as client:
        for tool in (await client.list_tools()).tools:
            assert not words(tool.input_schema) & {"ge", "le", "gt", "lt"}
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            assert tool.name != "ask" or words(tool.input_schema) & known


async def test_without_wait_the_state_is_returned_and_the_run_can_be_cancelled(
    connect: Connect, lab: ScriptedHost
) -> None:
    async with connect() as client:
        lab.on("alpha", hang=True)
        started = await client.call_tool("ask", {**VOTE, "wait": False})
        assert not started.is_error
        assert started.structured_content["status"] == "running"
        assert started.structured_content["stop_reason"] is None
        run = {"run_id": started.structured_content["run_id"]}
        assert "show" in started.structured_content["next"]
        ended = await client.call_tool("cancel", run)
        assert ended.structured_content["status"] == "cancelled"
