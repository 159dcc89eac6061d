"""Retries of clients, and clients that leave: nothing is paid twice."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest

from tests.interfaces.http.apis.conftest import ANSWER
from tests.support.scripted import ScriptedHost
from tests.support.serving import SERVER_KEY, ServerHandle, open_server

CHAT = "/v1/chat/completions"
ASKED: dict[str, Any] = {"model": "pnyx/single", "messages": [{"role": "user", "content": "Why?"}]}


async def runs(server: ServerHandle) -> list[dict[str, Any]]:
    async with server.client() as http:
        found: list[dict[str, Any]] = (await http.get("/v1/runs")).json()
        return found


async def test_a_client_that_times_out_and_retries_joins_its_run(
    server: ServerHandle, lab: ScriptedHost
) -> None:
    ready = asyncio.Event()
    lab.on("*", text=ANSWER, until=ready.is_set)
    async with openai.AsyncOpenAI(
        base_url=f"{server.url}/v1", api_key=SERVER_KEY, max_retries=30, timeout=0.5
    ) as client:
        asking = asyncio.create_task(client.chat.completions.create(**ASKED))
        await lab.wait_for_requests(1)
        await asyncio.sleep(1.2)  # the first attempt has given up, and the next one is there
        ready.set()
        completion = await asking
    assert ANSWER in (completion.choices[0].message.content or "")
    assert [run["status"] for run in await runs(server)] == ["single"]
    assert len(lab.log) == 1


async def test_a_settled_failure_is_one_run_for_a_client_that_retries(
    server: ServerHandle, lab: ScriptedHost
) -> None:
    lab.on("*", status=400, message="not today")
    async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=SERVER_KEY, max_retries=2) as client:
        with pytest.raises(openai.InternalServerError):
            await client.chat.completions.create(**ASKED)
    assert [run["status"] for run in await runs(server)] == ["failed"]


async def test_the_same_question_after_its_answer_is_asked_again(server: ServerHandle) -> None:
    async with server.client() as http:
        first = await http.post(CHAT, json=ASKED)
        again = await http.post(CHAT, json=ASKED)
        retry = await http.post(CHAT, json=ASKED, headers={"x-stainless-retry-count": "1"})
        other = await http.post(CHAT, json={**ASKED, "seed": 7}, headers={"x-stainless-retry-count": "1"})
    ids = [one.headers["x-pnyx-run"] for one in (first, again, retry, other)]
    assert ids[1] == ids[2]
    assert len(set(ids)) == 3


@pytest.mark.parametrize("path", [CHAT, "/v1/responses", "/v1/messages", "/v1/completions"])
async def test_an_idempotency_key_is_one_run(server: ServerHandle, path: str) -> None:
    asked = {**ASKED, "input": "Why?", "prompt": "Why?", "max_tokens": 100}
    async with server.client() as http:
        answers = [await http.post(path, json=asked, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert [one.status_code for one in answers] == [200, 200]
    assert len({one.headers["x-pnyx-run"] for one in answers}) == 1


async def test_a_retry_finds_its_run_after_the_server_was_killed(lab: ScriptedHost) -> None:
    ready = asyncio.Event()
    lab.on("*", text=ANSWER, until=ready.is_set)
    async with open_server() as server, server.client() as http:
        asking = asyncio.create_task(http.post(CHAT, json=ASKED))
        await lab.wait_for_requests(1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    ready.set()
    async with open_server() as server, server.client() as http:
        answer = await http.post(CHAT, json=ASKED, headers={"x-stainless-retry-count": "1"})
        assert ANSWER in answer.json()["choices"][0]["message"]["content"]
        assert len(await runs(server)) == 1


async def test_a_client_that_leaves_for_good_ends_its_run_after_the_grace_period(lab: ScriptedHost) -> None:
    lab.on("*", text=ANSWER, hang=True)
    async with open_server(grace_s=0.3) as server, server.client() as http:
        async with asyncio.timeout(60):
            leaving = asyncio.create_task(http.post(CHAT, json=ASKED))
            while not lab.log:  # noqa: ASYNC110 (there is no event)
                await asyncio.sleep(0.02)
            assert [run["status"] for run in await runs(server)] == ["running"]
            leaving.cancel()
            while (await runs(server))[0]["status"] != "cancelled":  # noqa: ASYNC110 (there is no event)
                await asyncio.sleep(0.05)
        # A cancelled run has no answer to join: the same request starts a new run.
        lab.on("*", text=ANSWER)
        assert (await http.post(CHAT, json=ASKED)).status_code == 200
        assert [run["status"] for run in await runs(server)] == ["single", "cancelled"]


async def test_a_slow_answer_keeps_its_connection_alive(
    server: ServerHandle, lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pnyx.interfaces.http.apis.exchange.SILENT_S", 0.2)
    monkeypatch.setattr("pnyx.interfaces.http.apis.exchange.SPACE_S", 0.1)
    ready = asyncio.Event()
    lab.on("*", text=ANSWER, until=ready.is_set)
    async with server.client() as http, http.stream("POST", CHAT, json=ASKED) as response:
        body = response.aiter_bytes()
        start = await anext(body) + await anext(body)
        assert start.strip() == b""
        ready.set()
        rest = b"".join([part async for part in body])
    assert b"It is six times seven." in rest
    assert [run["status"] for run in await runs(server)] == ["single"]


async def test_every_answer_has_a_request_id_and_errors_say_whether_to_retry(
    server: ServerHandle, lab: ScriptedHost
) -> None:
    async with server.client() as http:
        for path in ("/health", "/v1/models", "/v1/runs/none"):
            assert (await http.get(path)).headers["x-request-id"].startswith("req_")
        assert (await http.get("/health", headers={"x-request-id": "mine-1"})).headers[
            "x-request-id"
        ] == "mine-1"
        lab.on("*", status=400, message="not today")
        failed = await http.post(CHAT, json=ASKED)
        assert failed.headers["x-should-retry"] == "false"
        assert failed.json()["error"].keys() == {"message", "type", "param", "code"}
        server.service.drain(0.0)
        busy = await http.post(CHAT, json={**ASKED, "seed": 1})
        assert busy.status_code == 503, busy.text
        assert busy.headers["retry-after"] == "5"


async def test_a_client_that_does_not_say_that_it_retries_gets_the_same_failure_for_a_while(
    server: ServerHandle, lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.on("*", status=400, message="not today")
    async with server.client() as http:
        attempts = [await http.post(CHAT, json=ASKED) for _ in range(3)]
        async with http.stream("POST", CHAT, json={**ASKED, "stream": True}) as response:
            await response.aread()
        again = await http.post(CHAT, json={**ASKED, "stream": True})
        monkeypatch.setattr("pnyx.interfaces.http.apis.retries.FAILED_S", 0.0)
        later = await http.post(CHAT, json=ASKED)
    assert {one.status_code for one in (*attempts, later)} == {502}
    assert len({one.headers["x-pnyx-run"] for one in attempts}) == 1
    assert again.headers["x-pnyx-run"] == response.headers["x-pnyx-run"]
    assert later.headers["x-pnyx-run"] != attempts[0].headers["x-pnyx-run"]


async def test_a_client_that_writes_its_body_in_another_order_joins_too(
    server: ServerHandle, lab: ScriptedHost
) -> None:
    """codex retries with the same fields in another order, and notes of its own."""
    lab.on("*", status=400)
    body = {"model": "single", "input": "Why?", "store": False, "client_metadata": {"turn": 1}}
    again = {**dict(reversed(body.items())), "client_metadata": {"turn": 2}}
    async with server.client() as client:
        runs = [(await client.post("/v1/responses", json=one)).headers["x-pnyx-run"] for one in (body, again)]
        other = await client.post("/v1/responses", json={**body, "input": "Why not?"})
    assert runs[0] == runs[1] != other.headers["x-pnyx-run"]
