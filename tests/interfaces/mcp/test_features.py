"""What MCP has besides tools, with the package's client, in both eras of the protocol.

The same over HTTP and over lines of JSON, as `pnyx mcp` reads them from stdin; tests of tools start it.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from mcp import Client, MCPError
from mcp_types import LoggingMessageNotificationParams, PromptReference, ResourceTemplateReference

from pnyx import protocols
from tests.support.assistants import Elicited, ProgressLog, over_http, over_lines, text_of
from tests.support.scripted import ScriptedHost
from tests.support.serving import open_server
from tests.support.waiting import until

VOTE = {"question": "Why?", "protocol": "voting"}
TEMPLATES = ["pnyx://runs/{run_id}", "pnyx://runs/{run_id}/transcript"]

Connect: TypeAlias = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture(params=["lines-auto", "lines-legacy", "http-auto", "http-legacy"])
def connect(lab: ScriptedHost, request: pytest.FixtureRequest) -> Connect:
    """Open the client in the test itself: its tasks belong to the task that opens it."""
    lab.on("*", text="It is so.\nFinal answer: 42")
    kind, mode = request.param.split("-")

    @asynccontextmanager
    async def http(**client: Any) -> AsyncIterator[Client]:
        async with open_server() as server, over_http(server, mode=mode, **client) as opened:
            yield opened

    return http if kind == "http" else partial(over_lines, mode)


async def asked(client: Client, **more: Any) -> str:
    """Ask, and return the run's id."""
    run_id: str = (await client.call_tool("ask", {**VOTE, **more})).structured_content["run_id"]
    return run_id


async def test_runs_and_transcripts_are_resources(connect: Connect, lab: ScriptedHost) -> None:
    async with connect() as client:
        run_id = await asked(client, question="Why is\nthe sky blue?")
        uris = [template.format(run_id=run_id) for template in TEMPLATES]
        listed = await client.list_resources()
        assert [str(one.uri) for one in listed.resources] == uris
        assert listed.resources[0].title == "Why is the sky blue?"
        assert listed.next_cursor is None
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == TEMPLATES
        (run,) = (await client.read_resource(uris[0])).contents
        shown = (await client.call_tool("show", {"run_id": run_id})).structured_content
        assert json.loads(run.text) == shown  # type: ignore[union-attr]
        (transcript,) = (await client.read_resource(uris[1])).contents
        assert transcript.mime_type == "text/markdown"
        text: str = transcript.text  # type: ignore[union-attr]
        assert text.startswith("> The texts were written by the panel's models")
        assert "## Transcript" in text
        for uri in ("pnyx://runs/nothing", "pnyx://runs/", f"{uris[0]}/", "https://example.org"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)


@pytest.mark.parametrize(
    ("bound", "value", "count"),
    [("pnyx.interfaces.mcp.resources.PAGE", 2, 3), ("pnyx.store.records.runs.LIST_CHARS", 1, 5)],
)
async def test_the_list_of_resources_has_pages(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch, bound: str, value: int, count: int
) -> None:
    monkeypatch.setattr(bound, value)
    lab.on("*", text="Final answer: 42")
    async with open_server() as server, over_http(server) as client:
        ids = [await asked(client) for _ in range(5)]
        found, cursor, pages = [], None, 0
        while True:
            page = await client.list_resources(cursor=cursor)
            found += [str(one.uri) for one in page.resources]
            pages, cursor = pages + 1, page.next_cursor
            if cursor is None:
                break
        wanted = [template.format(run_id=run) for run in reversed(ids) for template in TEMPLATES]
        assert (found, pages) == (wanted, count)
        for wrong in ("%", "bm8=", "WzEsIDJd", "é"):
            with pytest.raises(MCPError, match="cursor"):
                await client.list_resources(cursor=wrong)


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_a_client_is_notified_of_changes_of_a_run(connect: Connect, lab: ScriptedHost) -> None:
    followed = threading.Event()
    lab.on("alpha", text="Final answer: 42", until=followed.is_set)
    updated: list[str] = []
    async with connect(message_handler=partial(_collect, updated)) as client:
        started = await client.call_tool("ask", {**VOTE, "wait": False})
        uri = f"pnyx://runs/{started.structured_content['run_id']}"
        if client.protocol_version >= "2026":
            async with client.listen(resource_subscriptions=[uri, "pnyx://runs/none"]) as subscription:
                assert subscription.honored.resource_subscriptions == [uri]
                assert not subscription.honored.tools_list_changed
                followed.set()
                async with asyncio.timeout(60):
                    assert (await anext(aiter(subscription))).uri == uri  # type: ignore[union-attr]
            return
        with pytest.raises(MCPError, match="no run"):
            await client.subscribe_resource("pnyx://runs/none")
        await client.subscribe_resource(uri)
        followed.set()
        async with asyncio.timeout(60):
            while not updated:  # noqa: ASYNC110 (it comes by itself)
                await asyncio.sleep(0.02)
        await client.unsubscribe_resource(uri)
        assert set(updated) == {uri}


async def _collect(updated: list[str], message: Any) -> None:
    if getattr(message, "method", "") == "notifications/resources/updated":
        updated.append(str(message.params.uri))


async def test_prompts_tell_the_assistant_how_to_ask(connect: Connect) -> None:
    async with connect() as client:
        listed = {one.name: one for one in (await client.list_prompts()).prompts}
        assert list(listed) == ["pnyx", "review", "decide"]
        for name, prompt in listed.items():
            assert prompt.title, name
            assert [one.required for one in prompt.arguments or ()].count(True) == 1, name
            with pytest.raises(MCPError, match=f"did you mean {name}[?] The prompts are pnyx, "):
                await client.get_prompt(name + "s")
            with pytest.raises(MCPError, match="needs the argument"):
                await client.get_prompt(name)
        given = {
            "decision": "Tabs?\nOr spaces?",
            "options": "tabs, spaces",
            "models": "lab:alpha*3, lab:beta",
        }
        (message,) = (await client.get_prompt("decide", {**given, "budget_usd": "$0.50"})).messages
        text: str = message.content.text  # type: ignore[union-attr]
        assert "> Tabs?\n> Or spaces?" in text
        assert 'models ["lab:alpha*3", "lab:beta"], budget_usd 0.5' in text
        for wrong in (
            {**given, "budget_usd": "much"},
            {**given, "budget_usd": "-1"},
            {**given, "colour": "x"},
        ):
            with pytest.raises(MCPError):
                await client.get_prompt("decide", wrong)


async def test_arguments_are_completed(connect: Connect, tmp_path: Path) -> None:
    with (tmp_path / "lab.toml").open("a") as settings:
        settings.write('[panels.pair]\nseats = ["lab:alpha", "lab:beta"]\n')
    async with connect() as client:
        run_id = await asked(client)
        prompt, run = PromptReference(name="pnyx"), ResourceTemplateReference(uri=TEMPLATES[1])
        cases: list[tuple[Any, str, str, list[str]]] = [
            (prompt, "protocol", "co", [name for name in protocols.names() if name.startswith("co")]),
            (prompt, "panel", "", ["pair"]),
            (prompt, "models", "lab:alpha*2, lab:be", ["lab:alpha*2, lab:beta"]),
            (prompt, "models", "gamma", ["lab:gamma"]),
            (prompt, "question", "Why", []),
            (run, "run_id", "", [run_id]),
            (run, "run_id", run_id[:6], [run_id]),
            (run, "run_id", "%_'", []),
        ]
        for ref, name, typed, values in cases:
            completed = await client.complete(ref, {"name": name, "value": typed})
            assert completed.completion.values == values, (name, typed)
        for ref, name in ((PromptReference(name="sing"), "protocol"), (prompt, "colour"), (run, "question")):
            with pytest.raises(MCPError):
                await client.complete(ref, {"name": name, "value": ""})


async def test_progress_counts_replies_towards_a_total(connect: Connect) -> None:
    async with connect() as client:
        progress = ProgressLog()
        run_id = (await client.call_tool("ask", VOTE, progress_callback=progress)).structured_content[
            "run_id"
        ]
        # The last messages may still be in transit.
        await until(lambda: progress.steps and progress.steps[-1] == 5)
        assert progress.steps == sorted(set(progress.steps))
        assert progress.run_id == run_id
        assert all(total is not None for total in progress.totals)
        assert all(step <= (total or 0) for step, total in zip(progress.steps, progress.totals, strict=True))
        # Three seats and a judge, and the end of the run.
        assert progress.steps[-1] == progress.totals[-1] == 5
        assert " · 3 of about 4 replies" in "".join(progress.messages)
        assert progress.messages[-1].startswith(f"run {run_id} · consensus, $")


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_what_happens_in_a_run_is_logged_at_the_level_that_the_client_wants(
    connect: Connect, lab: ScriptedHost
) -> None:
    messages: list[LoggingMessageNotificationParams] = []

    async def log(params: LoggingMessageNotificationParams) -> None:
        messages.append(params)

    async with connect(logging_callback=log) as client:
        modern = client.protocol_version >= "2026"
        lab.on("beta", status=400, body="this host refuses")
        if not modern:
            await client.set_logging_level("info")
        meta: Any = {"io.modelcontextprotocol/logLevel": "info"} if modern else None
        await client.call_tool("ask", VOTE, meta=meta)
        await until(lambda: {one.level for one in messages} == {"info", "warning"})
        await asyncio.sleep(0.2)
        (lost,) = (one for one in messages if one.level == "warning")
        assert (lost.logger, "dropped" in lost.data["message"]) == ("pnyx", True)
        assert all("Final answer" not in one.data["message"] for one in messages)  # text of models
        messages.clear()
        if not modern:
            await client.set_logging_level("error")
        await client.call_tool("ask", VOTE)
        await asyncio.sleep(0.2)
        assert messages == []


async def test_a_missing_budget_is_asked_of_the_person(connect: Connect, lab: ScriptedHost) -> None:
    person = Elicited([("accept", {"budget_usd": 0.25}), ("decline", None), ("accept", {"budget_usd": -1})])
    async with connect(elicitation_callback=person) as client:
        answer = await client.call_tool("ask", VOTE)
        assert answer.structured_content["status"] == "consensus"
        (question,) = person.questions
        assert "expected to cost about $" in question.message
        schema = question.requested_schema  # type: ignore[union-attr]
        assert schema["properties"]["budget_usd"]["default"] > 0
        assert schema["required"] == ["budget_usd"]
        calls = len(lab.log)
        declined = await client.call_tool("ask", VOTE)
        assert declined.is_error
        assert "the run has not started" in text_of(declined)
        wrong = await client.call_tool("ask", VOTE)
        assert wrong.is_error
        assert "budget_usd must be" in text_of(wrong)
        # With a budget in the call nobody is asked.
        given = await client.call_tool("ask", {**VOTE, "budget_usd": 0.5})
        assert given.structured_content["status"] == "consensus"
        assert (len(person.questions), len(lab.log)) == (3, 2 * calls)
        assert len((await client.call_tool("runs", {})).structured_content["runs"]) == 2


async def test_a_budget_that_is_too_small_can_be_raised_by_the_person(
    connect: Connect, lab: ScriptedHost
) -> None:
    small = {**VOTE, "budget_usd": 0.000001}
    person = Elicited([("accept", {"budget_usd": 1.0}), ("cancel", None)])
    async with connect(elicitation_callback=person) as client:
        progress = ProgressLog()
        answer = await client.call_tool("ask", small, progress_callback=progress)
        if client.protocol_version < "2026":  # else the client sends two requests, each with its progress
            assert progress.steps == sorted(set(progress.steps))
        assert (answer.is_error, answer.structured_content["status"]) == (False, "consensus")
        assert "Budget too small" in person.questions[0].message
        assert person.questions[0].requested_schema["properties"]["budget_usd"]["default"] > 0.000001  # type: ignore[union-attr]
        # It is the same run, which goes on.
        assert len((await client.call_tool("runs", {})).structured_content["runs"]) == 1
        left = await client.call_tool("ask", small)
        assert left.is_error
        assert left.structured_content["stop_reason"] == "budget"
        assert left.structured_content["next"].startswith("Continue it with `resume`")
        assert len(person.questions) == 2


@pytest.mark.parametrize(
    "content", [None, {}, {"budget_usd": "1"}, {"budget_usd": True}, {"budget_usd": 0}, {"budget": 1.0}]
)
async def test_a_form_without_a_budget_starts_nothing(lab: ScriptedHost, content: Any) -> None:
    person = Elicited([("accept", content)])
    async with over_lines("legacy", elicitation_callback=person) as client:
        refused = await client.call_tool("ask", VOTE)
        assert refused.is_error
        assert "budget" in text_of(refused)
    assert not lab.log


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ("", True),
        ("[budget]\nrun_usd = 2.0\n", False),
        ("[budget]\nday_usd = 2.0\n", False),
        ("[budget]\nkey_usd = 2.0\n", False),
        ('[panel]\nseats = ["lab:free", "lab:free", "lab:free"]\n', False),
    ],
)
async def test_only_a_run_that_no_cap_covers_asks_for_a_budget(
    lab: ScriptedHost, tmp_path: Path, settings: str, asked: bool
) -> None:
    lab.on("*", text="Final answer: 42")
    free = '[models."lab:free"]\ninput_price = 0.0\noutput_price = 0.0\n'
    config = (tmp_path / "lab.toml").read_text()
    if "[panel]" in settings:
        config = config.replace('[panel]\nseats = ["lab:alpha", "lab:beta", "lab:gamma"]\n', "")
    (tmp_path / "lab.toml").write_text(config + free + settings)
    person = Elicited([("accept", {"budget_usd": 1.0})])
    async with over_lines(elicitation_callback=person) as client:
        answer = await client.call_tool("ask", VOTE)
        assert answer.structured_content["status"] == "consensus"
    assert bool(person.questions) == asked


async def test_a_call_that_is_cancelled_takes_its_form_back(lab: ScriptedHost) -> None:
    async def person(context: Any, params: Any) -> Any:
        shown.set()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            taken_back.set()
            raise

    shown, taken_back = asyncio.Event(), asyncio.Event()
    async with over_lines("legacy", elicitation_callback=person) as client:
        asking = asyncio.create_task(client.call_tool("ask", VOTE))
        async with asyncio.timeout(60):
            await shown.wait()
            asking.cancel()
            await taken_back.wait()
        assert (await client.call_tool("runs", {})).structured_content["runs"] == []
    assert not lab.log


async def test_nobody_answers_in_time(lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PNYX_MCP_WAIT_S", "0.3")

    async def person(context: Any, params: Any) -> Any:
        await asyncio.sleep(600)

    async with over_lines("legacy", elicitation_callback=person) as client:
        late = await client.call_tool("ask", VOTE)
        assert late.is_error
        assert "nobody has answered" in text_of(late)
    assert not lab.log


async def test_a_client_without_forms_reads_what_to_do(connect: Connect) -> None:
    async with connect() as client:
        paused = await client.call_tool("ask", {**VOTE, "budget_usd": 0.000001})
        assert paused.is_error
        assert "budget_usd" in paused.structured_content["next"]
        assert (await client.call_tool("ask", VOTE)).structured_content["status"] == "consensus"


async def test_titles_and_hints_say_what_a_tool_does(connect: Connect) -> None:
    async with connect() as client:
        for tool in (await client.list_tools()).tools:
            hints = tool.annotations
            assert hints is not None
            assert tool.title == hints.title
            assert tool.title
            reads = tool.name in ("show", "runs", "recall", "protocols")
            assert hints.read_only_hint == reads
            destroys = tool.name in ("cancel", "delete")
            assert hints.destructive_hint == (True if destroys else None if reads else False)
            assert hints.open_world_hint == (tool.name in ("ask", "resume"))


async def test_over_stdio_a_file_may_be_named_by_its_path_within_the_roots(lab: ScriptedHost) -> None:
    lab.on("*", text="It is so.\nFinal answer: 42")
    Path("notes.md").write_text("the notes")  # noqa: ASYNC240 (small files of the test)
    Path("prod.env").write_text("planted")  # noqa: ASYNC240
    Path("link.md").symlink_to("/etc/passwd")  # noqa: ASYNC240
    async with over_lines() as client:
        await asked(client, files=[{"path": "notes.md"}])
        assert "file notes.md" in lab.log[-1].text
        assert "1| the notes" in lab.log[-1].text
        sent = len(lab.log)
        for path, why in (
            ("/etc/passwd", "outside the folders of [tools.file_read] roots"),
            ("../../etc/passwd", "outside the folders"),
            ("link.md", "outside the folders"),
            ("prod.env", "looks like a secret"),
        ):
            refused = await client.call_tool("ask", {**VOTE, "files": [{"path": path}]})
            assert refused.is_error
            assert why in text_of(refused)
        assert len(lab.log) == sent
    async with open_server() as server, over_http(server) as client:
        refused = await client.call_tool("ask", {**VOTE, "files": [{"path": "notes.md"}]})
        assert "paths are not read here" in text_of(refused)
