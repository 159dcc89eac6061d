"""Transcripts over MCP: long ones in parts, whichever way they are read."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError

from pnyx.interfaces.mcp.tools import PART_CHARS
from pnyx.interfaces.render.markdown import as_markdown, part_of_transcript
from pnyx.interfaces.views.overview import overview
from pnyx.interfaces.views.records import Record
from tests.interfaces import events
from tests.interfaces.http.test_event_pages import long_run
from tests.interfaces.render.test_markdown import record
from tests.support.assistants import Era, over_http, text_of
from tests.support.properties import examples
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle, open_server

REPLIES = 300 + 3
"""Those that `long_run` adds, and those of the vote before."""


def parts(run: Record, most_chars: int) -> Iterator[str]:
    after: int | None = 0
    while after is not None:
        part, following = part_of_transcript(run, str, overview(run.events), after, most_chars)
        assert following is None or following > after, "each part goes on"
        yield part
        after = following


@examples(50)
@given(st.lists(st.text(max_size=50), min_size=1, max_size=12), st.integers(1, 400))
def test_the_parts_are_the_document_and_bounded(texts: list[str], most_chars: int) -> None:
    calls = (events.answered_call("Participant A", "propose", f"/{n}", text) for n, text in enumerate(texts))
    run = record(log=events.with_seq([events.run_started(), *(event for call in calls for event in call)]))
    found = list(parts(run, most_chars))
    assert "\n".join(part[:-1] for part in found) + "\n" == as_markdown(run, reasoning=False)
    for part in found:
        entries = part.partition("## Transcript\n\n")[2] or part
        assert len(entries) <= most_chars + len(texts) or entries.count("\n### ") == 0


async def by_show(client: Client, run_id: str) -> AsyncIterator[str]:
    arguments: dict[str, Any] = {"run_id": run_id, "transcript": True}
    while True:
        text = text_of(await client.call_tool("show", arguments))
        yield text
        more = re.search(r"goes on: call `show` with transcript true and after (\d+)\.$", text.rstrip())
        if more is None:
            return
        arguments["after"] = int(more[1])


async def by_uri(client: Client, run_id: str) -> AsyncIterator[str]:
    uri = f"pnyx://runs/{run_id}/transcript"
    while True:
        (contents,) = (await client.read_resource(uri)).contents
        text: str = contents.text  # type: ignore[union-attr]
        yield text
        more = re.search(r"The transcript goes on: read (\S+)$", text.rstrip())
        if more is None:
            return
        uri = more[1]


@pytest.fixture
async def server(lab: ScriptedHost) -> AsyncIterator[ServerHandle]:
    lab.on("*", text="It is so.\nFinal answer: 42")
    async with open_server() as server:
        yield server


@pytest.mark.parametrize("read", [by_show, by_uri])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_long_transcript_is_read_in_parts(server: ServerHandle, read: Any, mode: Era) -> None:
    run_id = await long_run(server)
    async with over_http(server, mode=mode) as client:
        texts = [text async for text in read(client, run_id)]
    assert len(texts) == 2
    assert all(len(text) < PART_CHARS + 2000 for text in texts)
    whole = "".join(texts)
    assert re.findall(r"> Reply (\d+)\. Reply", whole) == [str(n) for n in range(300)]
    assert whole.count("\n### ") >= REPLIES
    assert [text.count("## How it was decided") for text in texts] == [1, 0]


@pytest.mark.parametrize("rest", ["/", "/x", "/-1", "/1/2", "/" + "9" * 30, "/²", "?after=1"])
async def test_what_is_no_part_is_not_found(server: ServerHandle, rest: str) -> None:
    async with over_http(server, mode="legacy") as client:
        with pytest.raises(MCPError, match="there is no resource"):
            await client.read_resource(f"pnyx://runs/abc/transcript{rest}")
