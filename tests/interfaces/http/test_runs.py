"""Runs over HTTP: start, follow, reconnect, resume and judge, each owner's own."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import Any

import pytest
from sse_starlette.sse import SendTimeoutError

from pnyx.interfaces.access.keys import LOCAL
from pnyx.interfaces.http.streaming import run_events
from tests.interfaces.shell import spawn
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle, events_of, open_server
from tests.support.waiting import until

VOTE = {"question": "Why?", "protocol": "voting"}


async def run_process(*args: str) -> str:
    """Run the command in another process, and return its output."""
    process = await asyncio.to_thread(spawn, *args)
    out, err = await asyncio.to_thread(process.communicate)
    assert process.returncode == 0, err
    return out.decode()


async def run_command(*args: str) -> Any:
    return json.loads(await run_process(*args))


async def test_a_run_over_http_stores_the_same_rows_as_the_command_line(server: ServerHandle) -> None:
    async with server.client() as client:
        answer = await client.post("/v1/runs", json={**VOTE, "wait": True, "seed": 5})
    assert answer.status_code == 200
    result = answer.json()
    assert answer.headers["location"] == f"/v1/runs/{result['run_id']}"
    mine = await run_command("export", result["run_id"], "--format", "json")
    assert mine["result"] == result
    command_result = await run_command("ask", "Why?", "-p", "voting", "--seed", "5", "--json")
    other = await run_command("export", command_result["run_id"], "--format", "json")
    assert [e["type"] for e in mine["events"]] == [e["type"] for e in other["events"]]
    varying = ("run_id", "elapsed_s")
    assert {k: v for k, v in result.items() if k not in varying} == {
        k: v for k, v in command_result.items() if k not in varying
    }


async def test_without_wait_the_state_is_returned_and_the_result_read_later(
    server: ServerHandle, lab: ScriptedHost
) -> None:
    lab.replies = 0
    async with server.client() as client:
        answer = await client.post("/v1/runs", json=VOTE)
        assert (answer.status_code, answer.json()["status"]) == (202, "running")
        lab.replies = None
        assert answer.json()["stop_reason"] is None
        where = answer.headers["location"]

        async def finished() -> Any:
            now = (await client.get(where)).json()
            return now if now["status"] != "running" else None

        now = await until(finished)
        assert now["answer"]
        (listed,) = (await client.get("/v1/runs", params={"limit": 5})).json()
        assert datetime.fromisoformat(listed.pop("created_at")).tzinfo is not None
        assert listed == now
        assert (await client.get("/v1/runs", params={"status": "failed"})).json() == []


async def test_events_are_streamed_and_a_reconnect_misses_none(
    server: ServerHandle, lab: ScriptedHost
) -> None:
    lab.latency = 0.1
    async with server.client() as client:
        seen = []
        async with client.stream("POST", "/v1/runs", json={**VOTE, "stream": True}) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            run = response.headers["x-run-id"]
            async for event in events_of(response):
                seen.append(event)
                if len(seen) == 4:
                    break
        late = {"Last-Event-ID": seen[-1]["id"]}
        async with client.stream("GET", f"/v1/runs/{run}/events", headers=late) as response:
            seen += [event async for event in events_of(response)]
        async with client.stream("GET", f"/v1/runs/{run}/events") as response:
            repeated = [event async for event in events_of(response)]
        async with client.stream("GET", f"/v1/runs/{run}/events", params={"after": 3}) as response:
            rest = [event async for event in events_of(response)]
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert [event["id"] for event in seen] == [str(event["seq"]) for event in seen]
    assert (seen[0]["type"], seen[-1]["type"]) == ("run_started", "run_finished")
    assert repeated == seen
    assert rest == seen[3:]


async def test_tokens_are_streamed_on_request_and_have_no_id(server: ServerHandle, lab: ScriptedHost) -> None:
    lab.replies = 0
    events = []
    async with server.client() as client:
        run = (await client.post("/v1/runs", json=VOTE)).json()["run_id"]
        async with client.stream("GET", f"/v1/runs/{run}/events", params={"tokens": True}) as response:
            async for event in events_of(response):
                events.append(event)
                lab.replies = None
    tokens = [event for event in events if event["type"] == "token"]
    assert tokens
    assert {event["id"] for event in tokens} == {None}
    assert events[-1]["type"] == "run_finished"


async def test_a_run_of_another_process_can_be_followed(server: ServerHandle, lab: ScriptedHost) -> None:
    lab.latency = 0.3
    work = asyncio.create_task(run_command("ask", "Why?", "-p", "voting", "--json"))
    async with server.client() as client:

        async def started() -> Any:
            return (await client.get("/v1/runs")).json()

        runs = await until(started)
        async with client.stream("GET", f"/v1/runs/{runs[0]['run_id']}/events") as response:
            events = [event async for event in events_of(response)]
    assert (await work)["run_id"] == runs[0]["run_id"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["type"] == "run_finished"


async def test_a_run_is_invisible_to_other_owners(server: ServerHandle) -> None:
    ada, ben = await server.key("ada"), await server.key("ben")
    async with server.client(ada) as client:
        run = (await client.post("/v1/runs", json={**VOTE, "wait": True})).json()["run_id"]
        assert [r["run_id"] for r in (await client.get("/v1/runs")).json()] == [run]
    async with server.client(ben) as client:
        assert (await client.get("/v1/runs")).json() == []
        answers = [
            await client.get(f"/v1/runs/{run}"),
            await client.get(f"/v1/runs/{run[:6]}"),
            await client.get(f"/v1/runs/{run}/events"),
            await client.get(f"/v1/runs/{run}/export"),
            await client.post(f"/v1/runs/{run}/cancel"),
            await client.post(f"/v1/runs/{run}/resume", json={"fork": True}),
            await client.post(f"/v1/runs/{run}/feedback", json={"result": "success"}),
        ]
    assert {answer.status_code for answer in answers} == {404}
    assert {answer.json()["error"]["type"] for answer in answers} == {"not_found"}


async def test_one_idempotency_key_is_one_run_per_owner(server: ServerHandle, lab: ScriptedHost) -> None:
    lab.latency = 0.1
    ada = await server.key("ada")
    headers = {"Idempotency-Key": "order 7"}
    async with server.client() as client:
        both = await asyncio.gather(
            *(client.post("/v1/runs", json={**VOTE, "wait": True}, headers=headers) for _ in range(5))
        )
        assert {answer.status_code for answer in both} == {200}
        assert len({answer.json()["run_id"] for answer in both}) == 1
        repeated = await client.post("/v1/runs", json=VOTE, headers=headers)
        assert (repeated.status_code, repeated.json()) == (200, both[0].json())
        calls = repeated.json()["usage"]["calls"]
        assert len(lab.log) == calls
        other = await client.post("/v1/runs", json={**VOTE, "question": "Else?"}, headers=headers)
        assert (other.status_code, other.json()["error"]["type"]) == (409, "taken")
        for change in ({"protocol": "single"}, {"models": ["lab:alpha*3"]}, {"roles": {"1": "a skeptic"}}):
            other = await client.post("/v1/runs", json={**VOTE, **change}, headers=headers)
            assert (other.status_code, other.json()["error"]["type"]) == (409, "taken")
    async with server.client(ada) as client:
        await client.post("/v1/runs", json={**VOTE, "wait": True}, headers=headers)
    assert len(lab.log) == 2 * calls


async def test_a_repeated_request_returns_the_run_under_way(server: ServerHandle, lab: ScriptedHost) -> None:
    lab.replies = 0
    headers = {"Idempotency-Key": "order 8"}
    async with server.client() as client:
        first = await client.post("/v1/runs", json=VOTE, headers=headers)
        repeated = await client.post("/v1/runs", json=VOTE, headers=headers)
        assert (first.status_code, repeated.status_code) == (202, 202)
        assert repeated.json()["run_id"] == first.json()["run_id"]
        async with client.stream(
            "POST", "/v1/runs", json={**VOTE, "stream": True}, headers=headers
        ) as response:
            lab.replies = None
            events = [event async for event in events_of(response)]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


async def test_another_question_under_a_used_key_resumes_nothing(
    server: ServerHandle, lab: ScriptedHost
) -> None:
    lab.on("*", usage={"prompt_tokens": 1000, "completion_tokens": 3000, "total_tokens": 4000})
    headers = {"Idempotency-Key": "order 9"}
    async with server.client() as client:
        paused = await client.post(
            "/v1/runs", json={**VOTE, "budget_usd": 0.03, "wait": True}, headers=headers
        )
        assert paused.json()["status"] == "paused"
        sent = len(lab.log)
        other = await client.post("/v1/runs", json={**VOTE, "question": "Else?"}, headers=headers)
        assert other.status_code == 409
        assert (await client.get(f"/v1/runs/{paused.json()['run_id']}")).json()["status"] == "paused"
    assert len(lab.log) == sent


async def test_two_resumes_at_once_pay_once(server: ServerHandle, lab: ScriptedHost) -> None:
    lab.on("*", usage={"prompt_tokens": 1000, "completion_tokens": 3000, "total_tokens": 4000})
    async with server.client() as client:
        run = (await client.post("/v1/runs", json={**VOTE, "budget_usd": 0.03, "wait": True})).json()[
            "run_id"
        ]
        lab.replies = 0
        how = {"budget_usd": 1.0, "wait": True}
        resumes = [asyncio.create_task(client.post(f"/v1/runs/{run}/resume", json=how)) for _ in range(2)]
        await asyncio.wait(resumes, return_when=asyncio.FIRST_COMPLETED)
        lab.replies = None
        both = await asyncio.gather(*resumes)
        assert sorted(answer.status_code for answer in both) == [200, 409]
        done = next(answer.json() for answer in both if answer.status_code == 200)
        async with client.stream("GET", f"/v1/runs/{run}/events") as response:
            assert [event async for event in events_of(response)][-1]["type"] == "run_finished"
    assert len(lab.log) == done["usage"]["calls"]
    assert server.runner.active == 0


async def test_a_client_that_stops_reading_counts_as_disconnected(
    server: ServerHandle, lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pnyx.interfaces.http.streaming.SEND_S", 0.2)
    lab.latency = 600
    async with server.client() as client:
        run = (await client.post("/v1/runs", json=VOTE)).json()["run_id"]

        async def stuck(message: Any) -> None:
            if message["type"] == "http.response.body":
                await asyncio.sleep(3600)

        async def silent() -> Any:
            await asyncio.sleep(3600)

        with pytest.raises(SendTimeoutError):
            await run_events(server.service, run, LOCAL, cancel=True)(
                {"type": "http", "method": "GET"}, silent, stuck
            )

        async def finished() -> Any:
            now = (await client.get(f"/v1/runs/{run}")).json()
            return now if now["status"] != "running" else None

        assert (await until(finished))["status"] == "cancelled"


async def test_a_run_out_of_budget_pauses_and_resumes_with_a_larger_budget(
    server: ServerHandle, lab: ScriptedHost
) -> None:
    lab.on("*", usage={"prompt_tokens": 1000, "completion_tokens": 3000, "total_tokens": 4000})
    async with server.client() as client:
        answer = await client.post("/v1/runs", json={**VOTE, "budget_usd": 0.03, "wait": True})
        paused = answer.json()
        assert (answer.status_code, paused["status"], paused["stop_reason"]) == (200, "paused", "budget")
        sent = len(lab.log)
        async with client.stream("GET", f"/v1/runs/{paused['run_id']}/events") as response:
            events = [event async for event in events_of(response)]
        assert (events[-1]["type"], events[-1]["status"], events[-1]["id"]) == (
            "run_finished",
            "paused",
            None,
        )
        more = {"budget_usd": 1.0, "wait": True}
        done = (await client.post(f"/v1/runs/{paused['run_id']}/resume", json=more)).json()
        assert done["status"] not in ("paused", "failed")
        assert len(lab.log) == done["usage"]["calls"] > sent
        repeated = await client.post(f"/v1/runs/{paused['run_id']}/resume")
        assert (repeated.status_code, repeated.json()) == (200, done)
        after = {"after": int(events[-2]["id"])}
        async with client.stream("GET", f"/v1/runs/{paused['run_id']}/events", params=after) as response:
            rest = [event["seq"] async for event in events_of(response)]
        assert rest == list(range(after["after"] + 1, after["after"] + 1 + len(rest)))


async def test_the_budget_of_a_key_covers_all_its_runs_and_no_others(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PNYX_BUDGET_KEY_USD", "0.04")
    lab.on(
        "*",
        text="Final answer: 42",
        usage={"prompt_tokens": 100, "completion_tokens": 2000, "total_tokens": 2100},
    )
    headers = {**VOTE, "protocol": "single", "models": ["lab:alpha"], "wait": True}
    async with open_server() as server:
        ada, ben = await server.key("ada"), await server.key("ben")
        async with server.client(ada) as client:
            ended = [(await client.post("/v1/runs", json=headers)).json() for _ in range(6)]
        async with server.client(ben) as client:
            other = (await client.post("/v1/runs", json=headers)).json()
    spent = sum(run["usage"]["cost_usd"] for run in ended)
    assert ended[0]["status"] == other["status"] == "single"
    assert (ended[-1]["status"], ended[-1]["stop_reason"]) == ("paused", "budget")
    assert 0 < spent <= 0.04


async def test_cancelling_ends_a_run_at_once(server: ServerHandle, lab: ScriptedHost) -> None:
    lab.latency = 600
    async with server.client() as client:
        run = (await client.post("/v1/runs", json=VOTE)).json()["run_id"]
        async with asyncio.timeout(60):
            answer = await client.post(f"/v1/runs/{run}/cancel")
        assert answer.json()["status"] == "cancelled"
        assert (await client.post(f"/v1/runs/{run}/cancel")).json()["status"] == "cancelled"


async def test_feedback_is_stored_and_needs_a_decision(server: ServerHandle) -> None:
    async with server.client() as client:
        run = (await client.post("/v1/runs", json={**VOTE, "wait": True})).json()["run_id"]
        answer = await client.post(f"/v1/runs/{run}/feedback", json={"result": "success", "answer": "42"})
        assert (answer.status_code, answer.json()["gold"]) == (200, "42")
        assert answer.json()["seats"] == [{"model": m, "answer": "42"} for m in answer.json()["answers"]]
        other = await client.post(f"/v1/runs/{run}/feedback", json={"result": "success", "answer": "99"})
        assert (other.status_code, other.json()["error"]["type"]) == (400, "usage_error")
        nul = await client.post(f"/v1/runs/{run}/feedback", json={"result": "success", "answer": "4\0"})
        assert (nul.status_code, "NUL" in nul.json()["error"]["message"]) == (400, True)
    assert (await run_command("calibration", "--json"))["n"] == 1


async def test_an_export_equals_that_of_the_command_line(server: ServerHandle) -> None:
    async with server.client() as client:
        run = (await client.post("/v1/runs", json={**VOTE, "wait": True})).json()["run_id"]
        document = (await client.get(f"/v1/runs/{run}/export")).json()
        page = await client.get(f"/v1/runs/{run}/export", params={"format": "md"})
    assert document == await run_command("export", run, "--format", "json")
    assert page.headers["content-type"].startswith("text/markdown")
    assert page.text == await run_process("export", run, "--format", "md")


async def test_a_full_server_refuses_runs_until_one_ends(lab: ScriptedHost) -> None:
    lab.replies = 0
    async with open_server(runs=1, wait_s=0) as server, server.client() as client:
        both = await asyncio.gather(*(client.post("/v1/runs", json=VOTE) for _ in range(4)))
        assert sorted(answer.status_code for answer in both) == [202, 429, 429, 429]
        first = next(answer.json()["run_id"] for answer in both if answer.status_code == 202)
        assert {answer.json()["error"]["type"] for answer in both if answer.status_code == 429} == {
            "over_limit"
        }
        await client.post(f"/v1/runs/{first}/cancel")
        assert (await client.post("/v1/runs", json=VOTE)).status_code == 202


async def test_repeated_requests_do_not_count_towards_the_limit(lab: ScriptedHost) -> None:
    async with open_server(runs=1, wait_s=0) as server, server.client() as client:
        keys = [{"Idempotency-Key": key} for key in "ab"]
        finished = await client.post("/v1/runs", json={**VOTE, "wait": True}, headers=keys[0])
        run = finished.json()["run_id"]
        lab.replies = 0
        assert (await client.post("/v1/runs", json=VOTE, headers=keys[1])).status_code == 202
        assert (await client.post("/v1/runs", json=VOTE)).status_code == 429
        for repeated in (
            await client.post("/v1/runs", json=VOTE, headers=keys[0]),
            await client.post(f"/v1/runs/{run}/resume"),
        ):
            assert (repeated.status_code, repeated.json()) == (200, finished.json())
        assert (await client.post("/v1/runs", json=VOTE, headers=keys[1])).status_code == 202
        assert (await client.post(f"/v1/runs/{run}/resume", json={"fork": True})).status_code == 429
        other = {**VOTE, "question": "Something else?"}
        assert (await client.post("/v1/runs", json=other, headers=keys[0])).status_code == 409


async def test_lone_surrogates_are_returned_unchanged(server: ServerHandle, lab: ScriptedHost) -> None:
    lab.on("*", text="It is \ud83d half.\nFinal answer: \ud83d")
    async with server.client() as client:
        answer = await client.post(
            "/v1/runs", json={**VOTE, "protocol": "single", "models": ["lab:alpha"], "wait": True}
        )
        assert "\ud83d" in answer.json()["answer"]
        async with client.stream("GET", f"/v1/runs/{answer.json()['run_id']}/events") as response:
            events = [event async for event in events_of(response)]
        assert "\ud83d" in events[-1]["result"]["answer"]
