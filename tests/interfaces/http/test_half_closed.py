"""Clients that close their side of the connection once they have sent their request, as `nc -N` does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.interfaces.http.test_connections import ASKER, Raw, connected, head
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle, open_server
from tests.support.waiting import until

VOTE = {"question": "Why?", "protocol": "voting"}
CHAT = {"model": "pnyx/voting", "messages": [{"role": "user", "content": "Why?"}]}


@pytest.fixture
async def server(lab: ScriptedHost) -> AsyncIterator[ServerHandle]:
    lab.on("*", text="Final answer: 42")
    async with open_server(grace_s=0) as server:
        yield server


def post(server: ServerHandle, path: str, body: Any) -> str:
    text = json.dumps(body)
    fields = {"Content_Type": "application/json", "Content_Length": len(text), **ASKER}
    return f"{head(server, path, 'POST', **fields)}\n{text}"


async def sent_whole(one: Raw, request: str) -> None:
    """Send a request, and close this side of the connection."""
    one.send(request)
    one.writer.write_eof()


async def answer(server: ServerHandle, request: str) -> tuple[int, str]:
    """The status and the rest of the response that the server sends until it closes the connection."""
    async with connected(server) as one:
        await sent_whole(one, request)
        text = (await one.rest()).decode()
    return int((text.split() or ["", "0"])[1]), text


async def test_they_get_the_response(server: ServerHandle) -> None:
    """Before, they got none."""
    assert (await answer(server, "GET /health HTTP/1.0\n\n"))[0] == 200
    assert (await answer(server, head(server) + "\n"))[0] == 200
    status, text = await answer(server, post(server, "/v1/runs", VOTE))
    assert status == 202
    run = text.partition("x-run-id: ")[2].split()[0]
    status, text = await answer(server, head(server, f"/v1/runs/{run}/events", **ASKER) + "\n")
    assert status == 200
    assert text.count("event: run_finished") == 1
    assert (await answer(server, head(server, f"/v1/runs/{run}", **ASKER) + "\n"))[0] == 200


async def test_two_requests_at_once_get_two_responses(server: ServerHandle) -> None:
    status, text = await answer(server, 2 * (head(server) + "\n"))
    assert (status, text.count("HTTP/1.1 200 OK")) == (200, 2)


async def test_half_a_request_gets_none(server: ServerHandle) -> None:
    for part in ("", "GET /hea", head(server), post(server, "/v1/runs", VOTE)[:-1]):
        async with connected(server) as one:
            await sent_whole(one, part)
            assert await one.rest() == b""
    assert not await server.service.list_runs(limit=1)


@pytest.mark.parametrize(
    ("path", "body", "outcome"),
    [
        ("/v1/runs", {**VOTE, "wait": True}, "continues"),
        ("/v1/runs", {**VOTE, "wait": True, "on_disconnect": "cancel"}, "is cancelled"),
        ("/v1/chat/completions", CHAT, "is cancelled"),
    ],
)
async def test_one_that_waits_for_a_run_has_left_and_can_read_what_becomes_of_it(
    server: ServerHandle, lab: ScriptedHost, path: str, body: Any, outcome: str
) -> None:
    lab.replies = 0
    async with connected(server) as one:
        one.send(post(server, path, body))
        await until(lambda: len(lab.log) == 3)
        one.writer.write_eof()
        text = (await one.rest()).decode()
    run = text.partition("x-run-id: ")[2].split()[0]
    assert text.startswith("HTTP/1.1 499 ")
    assert f"run {run} {outcome}; keep it open" in text
    if outcome == "continues":
        assert (await server.service.find(run)).status == "running"
    else:
        await until(lambda: cancelled(server, run))


@pytest.mark.parametrize("cancel", [False, True])
async def test_one_that_follows_a_run_reads_it_to_its_end_unless_it_is_to_be_cancelled(
    server: ServerHandle, lab: ScriptedHost, cancel: bool
) -> None:
    go_on = asyncio.Event()
    lab.on("*", until=go_on.is_set, text="Final answer: 42")
    how = {"on_disconnect": "cancel"} if cancel else {}
    async with connected(server) as one:
        one.send(post(server, "/v1/runs", {**VOTE, "stream": True, **how}))
        await until(lambda: len(lab.log) == 3)
        one.writer.write_eof()
        (run,) = [record.row.id for record in await server.service.list_runs(limit=2)]
        if cancel:
            await until(lambda: cancelled(server, run))
        go_on.set()
        text = (await one.rest()).decode()
    assert ("event: run_finished" in text) is not cancel


async def cancelled(server: ServerHandle, run: str) -> bool:
    return (await server.service.find(run)).status == "cancelled"
