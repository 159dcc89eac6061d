"""What can be read before a run is asked for, and its text from the first call on, whoever joins when."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from pnyx.core.decision import STATUSES
from pnyx.core.events import RunFinished
from pnyx.errors import StoreError
from pnyx.run.result import Result
from pnyx.store import runs as store
from tests.interfaces.conftest import KEY
from tests.interfaces.http.test_runs import VOTE, until
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost
from tests.support.serving import Served, events_of, served

RESULT: dict[str, Any] = {
    **{"run_id": "x", "status": "decided", "protocol": "voting", "question": "Why?", "answer": "So."},
    "usage": {"input_tokens": 1, "output_tokens": 1, "cached_tokens": 0, "cost_usd": 0.0, "calls": 1},
    "rounds": 1,
}
MESSAGE = {"role": "user", "content": "Why?"}
SAID = "It is so, as was said before by others.\nFinal answer: 42"


@pytest.fixture
async def server(lab: ScriptedHost) -> AsyncIterator[Served]:
    lab.on("*", text=SAID)
    async with served() as server:
        yield server


async def test_text_can_be_followed_from_the_first_call_on(server: Served) -> None:
    async with server.client() as client:
        asked = {"question": "Why?", "protocol": "consensus", "tokens": True}
        run = (await client.post("/v1/runs", json=asked)).json()["run_id"]
        events = await followed(client, run)
    assert said(events, "/1") == SAID


async def test_whoever_joins_late_gets_what_was_written_already(server: Served, lab: ScriptedHost) -> None:
    lab.on("alpha", text=SAID, drip=(120, 0.15))
    async with server.client() as client:
        asked = {"question": "Why?", "protocol": "consensus", "tokens": True}
        run = (await client.post("/v1/runs", json=asked)).json()["run_id"]
        async with client.stream("GET", f"/v1/runs/{run}/events?tokens=true") as response:
            async for event in events_of(response):
                if event["type"] == "token" and "said" in event["text"]:
                    break
        again = asyncio.create_task(followed(client, run))
        last = asyncio.create_task(followed(client, run, after=3))
        events, rest = await again, await last
    assert said(events, "/1") == said(rest, "/1") == SAID
    first = next(event for event in events if event["type"] == "token")
    assert first["text"].startswith("It is so, as was")


async def test_what_holds_when_nothing_is_said_can_be_read(server: Served) -> None:
    async with server.client() as client:
        told = (await client.get("/v1/settings")).json()
        pages = {page["name"]: page for page in (await client.get("/v1/protocols")).json()}
    assert told["seats"] == ["lab:alpha", "lab:beta", "lab:gamma"]
    assert told["models"][:3] == told["seats"]
    assert (told["protocol"], told["options"]["consensus"], told["missing"]) == (
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


async def test_what_a_run_would_take_can_be_asked_and_sends_nothing(
    server: Served, lab: ScriptedHost
) -> None:
    asked = {"question": "Why?", "rounds": 3, "budget_usd": 0.5}
    async with server.client() as client:
        told = (await client.post("/v1/plan", json=asked)).json()
        quick = (await client.post("/v1/plan", json={"question": "Why?", "preset": "quick"})).json()
        odd = (await client.post("/v1/plan", json={"question": "Why?", "models": ["lab:odd*3"]})).json()
        wrong = await client.post("/v1/plan", json={"question": "Why?", "models": ["nowhere:model"]})
        assert (await client.get("/v1/runs")).json() == []
    same = pnyx("ask", "--dry-run", "--json", "Why?", "--rounds", "3", "--budget", "0.5").json
    for plan in (told, same):
        assert {seat.pop("seat") for seat in plan["seats"]} == {f"Participant {one}" for one in "ABC"}
    assert told == same
    assert quick["calls"] == {"least": 4, "most": 4}
    assert odd["at_most"]["cost_usd"] is None
    assert (wrong.status_code, lab.log) == (400, [])
    assert "no provider 'nowhere'" in wrong.json()["error"]["message"]


async def test_runs_are_listed_by_the_statuses_that_there_are(server: Served) -> None:
    async with server.client() as client:
        for status in STATUSES:
            assert (await client.get("/v1/runs", params={"status": status})).json() == []
        wrong = await client.get("/v1/runs", params={"status": "bogus"})
    assert wrong.status_code == 422
    assert "status must be one of 'consensus'" in wrong.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("runs", {**VOTE, "wait": True, "on_disconnect": "cancel"}),
        ("runs", {**VOTE, "stream": True, "on_disconnect": "cancel"}),
        ("chat/completions", {"model": "voting", "messages": [MESSAGE]}),
    ],
)
async def test_an_error_of_the_server_is_no_client_that_left(
    server: Served, lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch, path: str, asked: dict[str, Any]
) -> None:
    async def broken(*_: Any) -> AsyncIterator[Any]:
        raise StoreError("the disk is gone")
        yield

    monkeypatch.setattr("pnyx.interfaces.follow.follow", broken)
    lab.latency = 0.3
    async with server.client() as client:
        answer = await client.post(f"/v1/{path}", json=asked)
        told = (200, True) if asked.get("stream") else (503, False)
        assert (answer.status_code, "event: error" in answer.text) == told

        async def over() -> Any:
            (run,) = (await client.get("/v1/runs")).json()
            return run if run["status"] != "running" else None

        assert (await until(over))["status"] == "consensus"


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("runs", {**VOTE, "stream": True}),
        ("chat/completions", {"model": "voting", "stream": True, "messages": [MESSAGE]}),
    ],
)
@pytest.mark.parametrize("where", ["follow", "events"])
async def test_a_bug_ends_a_stream_with_a_whole_event_and_is_logged_without_secrets(
    server: Served,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    path: str,
    asked: dict[str, Any],
    where: str,
) -> None:
    async def broken(*_: Any) -> AsyncIterator[Any]:
        if where == "follow":
            raise KeyError(f"the key is {KEY}")
        # A result that no part of can be written as JSON.
        result = Result(**RESULT, detail={KEY: object()}).to_json()
        yield RunFinished(run_id="x", time="now", status="decided", result=result)

    monkeypatch.setattr("pnyx.interfaces.follow.follow", broken)
    async with server.client() as client:
        answer = await client.post(f"/v1/{path}", json=asked)
    assert answer.status_code == 200
    *_, data = answer.text.strip().splitlines()
    problem = json.loads(data.removeprefix("data: "))["error"]
    assert problem["type"] == "internal_error"
    assert problem["message"].startswith("this is a bug in pnyx: ")
    assert ("event: error" in answer.text) == (path == "runs")
    logged = "\n".join(record.getMessage() for record in caplog.records if record.name == "pnyx.http")
    assert "Traceback" in logged
    assert KEY not in logged


async def test_a_number_that_no_event_can_have_is_refused(server: Served) -> None:
    async with server.client() as client:
        run = (await client.post("/v1/runs", json={**VOTE, "wait": True})).json()["run_id"]
        for number, status in (("2147483647", 200), ("2147483648", 422), ("9999999999", 422), ("x", 422)):
            answer = await client.get(f"/v1/runs/{run}/events", headers={"Last-Event-ID": number})
            assert (answer.status_code, answer.text == "") == (status, status == 200)


async def test_a_seat_that_plays_no_part_has_null_for_it_wherever_it_is_told(server: Served) -> None:
    asked = {"question": "Why?", "protocol": "voting", "roles": {"1": "critic"}}
    async with server.client() as client:
        begun = (await client.post("/v1/runs", json=asked)).json()
        events = await followed(client, begun["run_id"])
        listed = (await client.get("/v1/runs")).json()
    for one in (begun, events[0], events[-1]["result"], *listed):
        assert [seat["role"] for seat in one["seats"]] == ["critic", None, None]


async def test_with_nobody_to_ask_the_server_says_what_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PNYX_MODELS", str(tmp_path))
    async with served() as server, server.client() as client:
        told = (await client.get("/v1/settings")).json()
    assert told["seats"] == []
    assert "pnyx models pull" in told["missing"]


async def test_a_run_that_diverges_says_so_however_it_is_resumed(server: Served, lab: ScriptedHost) -> None:
    lab.latency = 0.6
    unheard: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: unheard.append(context))
    async with server.client() as client:
        asked = {"question": "Why?", "protocol": "consensus", "deadline_s": 0.3, "wait": True}
        run = (await client.post("/v1/runs", json=asked)).json()
        assert (run["status"], run["stop_reason"]) == ("paused", "deadline")
        other = text('UPDATE events SET body = replace(body, \'"fingerprint": "\', \'"fingerprint": "0\')')
        await server.runner.database.write(lambda c: c.execute(other))
        where = f"/v1/runs/{run['run_id']}"
        waited = await client.post(f"{where}/resume", json={"wait": True})
        assert (waited.status_code, waited.json()["error"]["type"]) == (409, "diverged")
        async with client.stream("POST", f"{where}/resume", json={"stream": True}) as response:
            last = [event async for event in events_of(response)][-1]
        assert (last["type"], last["result"]["stop_reason"]) == ("run_finished", "diverged")
        now = (await client.get(where)).json()
    assert (now["status"], now["stop_reason"]) == ("paused", "diverged")
    assert waited.json()["error"]["message"] == now["detail"]["message"]
    gc.collect()
    assert unheard == []


async def test_a_stream_of_a_run_that_cannot_be_written_ends_with_the_error(
    server: Served, lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: Any, **more: Any) -> Any:
        raise StoreError("the disk is full")

    lab.latency = 0.3
    async with server.client() as client:
        begun = (await client.post("/v1/runs", json={"question": "Why?", "protocol": "voting"})).json()
        monkeypatch.setattr(store, "append", full)
        answer = await client.get(f"/v1/runs/{begun['run_id']}/events")
    monkeypatch.undo()
    *_, name, data = answer.text.strip().splitlines()
    assert name == "event: error"
    told = {"error": {"type": "store_error", "message": "the disk is full"}}
    assert json.loads(data.removeprefix("data: ")) == told


async def followed(client: Any, run: str, after: int = 0) -> list[dict[str, Any]]:
    async with client.stream("GET", f"/v1/runs/{run}/events?tokens=true&after={after}") as response:
        return [event async for event in events_of(response)]


def said(events: list[dict[str, Any]], key: str) -> str:
    return "".join(event["text"] for event in events if event["type"] == "token" and event["key"] == key)
