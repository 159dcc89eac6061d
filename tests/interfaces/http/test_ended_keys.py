"""Keys that are revoked while their clients wait for a response or follow one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from pnyx.interfaces.access.keys import FRESH_S
from pnyx.store import keys as store
from tests.interfaces.http.test_access import ASK
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle, open_server


@pytest.fixture
async def server(lab: ScriptedHost) -> AsyncIterator[ServerHandle]:
    async with open_server(hosts=["pnyx.example"]) as server:
        yield server


async def test_a_streamed_response_ends_when_its_key_is_revoked(
    server: ServerHandle, lab: ScriptedHost
) -> None:
    lab.on("*", text="So it is, and so it was. " * 40, drip=(20, 0.2))
    key = await server.key("ada")
    body = {**json.loads(ASK), "stream": True, "tokens": True, "on_disconnect": "cancel"}
    async with server.client(key) as client, client.stream("POST", "/v1/runs", json=body) as answer:
        chunks = aiter(answer.aiter_text())
        assert "run_started" in await anext(chunks)
        await server.runner.database.write(lambda c: store.remove(c, "ada"))
        rest = "".join([chunk async for chunk in chunks])
    assert answer.status_code == 200
    assert "run_finished" not in rest
    *_, name, data = rest.strip().splitlines()
    assert name == "event: error"
    assert json.loads(data.removeprefix("data: "))["error"] == {
        "type": "unauthorized",
        "message": "this key was revoked or has expired; use a valid one",
    }
    run = await server.service.find(answer.headers["x-run-id"], "ada")
    async with asyncio.timeout(60):
        while run.status != "cancelled":
            await asyncio.sleep(0.05)
            run = await server.service.find(run.id, "ada")


async def test_a_response_that_is_waited_for_is_refused_when_its_key_is_revoked(
    server: ServerHandle, lab: ScriptedHost
) -> None:
    answered = asyncio.Event()
    lab.on("*", until=answered.is_set, text="It is so.\nFinal answer: 42")
    key = await server.key("ada")
    async with server.client(key) as client:
        waiting = asyncio.create_task(client.post("/v1/runs", json={**json.loads(ASK), "wait": True}))
        await lab.wait_for_requests(1)
        await server.runner.database.write(lambda c: store.remove(c, "ada"))
        await asyncio.sleep(FRESH_S)
        answered.set()
        refused = await waiting
    assert (refused.status_code, refused.json()["error"]["type"]) == (401, "unauthorized")
    (run,) = await server.service.list_runs(None, 10, owner="ada")
    assert run.result.status not in ("paused", "cancelled", "failed"), "the run itself has gone on"
