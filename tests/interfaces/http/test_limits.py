"""Limits of keys: 429 in the shape of the API for the key that has reached one, nothing for the others."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.errors import OverLimit
from pnyx.interfaces.http.usage import WINDOW_S, KeyUsage, LocalRate
from tests.support.scripted import ScriptedHost
from tests.support.serving import ServerHandle, open_server

VOTE: dict[str, Any] = {"question": "Why?", "protocol": "voting"}
CHAT: dict[str, Any] = {"model": "pnyx/voting", "messages": [{"role": "user", "content": "Why?"}]}
STARTS: dict[str, tuple[dict[str, Any], str]] = {
    "/v1/runs": (VOTE, "over_limit"),
    "/v1/chat/completions": (CHAT, "rate_limit_error"),
    "/v1/responses": ({"model": "pnyx/voting", "input": "Why?"}, "rate_limit_error"),
    "/v1/messages": ({**CHAT, "max_tokens": 100}, "rate_limit_error"),
}
"""Path -> a body that starts a run there, and the type of the error of one too many."""


@pytest.fixture
def slow(lab: ScriptedHost) -> ScriptedHost:
    lab.on("*", hang=True)
    return lab


async def ask(server: ServerHandle, key: str, path: str = "/v1/runs", body: Any = VOTE) -> httpx2.Response:
    async with server.client(key) as client:
        return await client.post(path, json=body)


def refused(response: httpx2.Response, type: str, *words: str) -> int:
    """Check a refusal, and return the seconds after which it says to try again."""
    document = response.json()
    assert response.status_code == 429, document
    assert document["error"]["type"] == type
    for word in words:
        assert word in document["error"]["message"]
    return int(response.headers["retry-after"])


@pytest.mark.parametrize("path", STARTS)
async def test_a_key_has_at_most_its_runs_at_once(slow: ScriptedHost, path: str) -> None:
    async with open_server(keys={"ada": {"runs_at_once": 2}}) as server:
        ada, bob = await server.key("ada"), await server.key("bob")
        for _ in range(2):
            assert (await ask(server, ada)).status_code == 202
        body, type = STARTS[path]
        assert refused(await ask(server, ada, path, body), type, "runs_at_once", "[serve.keys.ada]") >= 1
        assert (await ask(server, bob)).status_code == 202


async def test_a_run_that_ends_makes_room_for_the_next_of_its_key(lab: ScriptedHost) -> None:
    async with open_server(keys={"ada": {"runs_at_once": 1}}) as server:
        ada = await server.key("ada")
        for _ in range(3):
            assert (await ask(server, ada, body={**VOTE, "wait": True})).status_code == 200


async def test_of_many_requests_at_once_no_more_start_than_the_key_may_have(slow: ScriptedHost) -> None:
    async with open_server(keys={"ada": {"runs_at_once": 3}}) as server:
        ada = await server.key("ada")
        answers = await asyncio.gather(*(ask(server, ada) for _ in range(12)))
        assert sorted(answer.status_code for answer in answers) == [202] * 3 + [429] * 9


@pytest.mark.parametrize("path", STARTS)
async def test_requests_a_minute_are_counted_for_each_key(lab: ScriptedHost, path: str) -> None:
    async with open_server(keys={"ada": {"requests_per_minute": 3}}) as server:
        ada, bob = await server.key("ada"), await server.key("bob")
        async with server.client(ada) as client:
            for _ in range(3):
                assert (await client.get("/v1/runs")).status_code == 200
            body, type = STARTS[path]
            wait = refused(await client.post(path, json=body), type, "requests_per_minute")
            assert 1 <= wait <= 60
            assert (await client.get("/health")).status_code == 200
        async with server.client(bob) as client:
            assert (await client.get("/v1/runs")).status_code == 200


@given(st.lists(st.floats(0, 30), max_size=60), st.integers(1, 5))
def test_in_no_minute_are_there_more_requests_than_allowed_and_the_wait_is_right(
    gaps: list[float], most: int
) -> None:
    now = 0.0
    rate = LocalRate(lambda: now)
    accepted: list[float] = []
    for gap in gaps:
        now += gap
        try:
            asyncio.run(rate.count("ada", most))
        except OverLimit as exc:
            assert len([at for at in accepted if at + WINDOW_S > now]) == most
            now += exc.retry_after_s
            asyncio.run(rate.count("ada", most))
        accepted.append(now)
        assert len([at for at in accepted if at + WINDOW_S > now]) <= most


def test_one_key_has_at_most_half_of_the_connections() -> None:
    usage = KeyUsage(2)
    for _ in range(2):
        usage.begin("ada")
    with pytest.raises(OverLimit, match="2 requests under way"):
        usage.begin("ada")
    usage.begin("bob")
    usage.end("ada")
    usage.begin("ada")


async def test_what_a_key_may_spend_in_a_day_is_kept_by_the_ledger(lab: ScriptedHost) -> None:
    lab.on("*", text="Final answer: 42")
    body = {**VOTE, "wait": True}
    async with open_server(keys={"ada": {"day_usd": 0.01}}) as server:
        ada, bob = await server.key("ada"), await server.key("bob")
        # They start at once, while nothing of the day is spent.
        answers = await asyncio.gather(*(ask(server, ada, body=body) for _ in range(40)))
        runs = [one for one in await server.service.list_runs(limit=100) if one.row.owner == "ada"]
        spent = sum(one.result.usage["cost_usd"] for one in runs)
        assert 0.005 < spent <= 0.01
        paused = next(one for one in runs if one.row.status == "paused")
        assert "serve.keys.ada.day_usd" in paused.result.detail["message"]
        assert {answer.status_code for answer in answers} <= {200, 429}
        assert (await ask(server, bob, body=body)).json()["status"] != "paused"


@pytest.mark.parametrize("protocol", ["voting", "single"])
async def test_a_key_without_enough_money_for_today_starts_no_run_until_it_has_some(
    lab: ScriptedHost, protocol: str
) -> None:
    lab.on("*", text="Final answer: 42")
    body = {**VOTE, "protocol": protocol, "wait": True}
    async with open_server(keys={"ada": {"day_usd": 0.01}}) as server:
        ada, bob = await server.key("ada"), await server.key("bob")
        while (answer := await ask(server, ada, body=body)).status_code == 200:
            assert answer.json()["status"] not in ("paused", "failed")
        before = await server.service.list_runs(limit=100)
        cost = max(one.result.usage["cost_usd"] for one in before)
        assert 0.01 - 2.5 * cost < sum(one.result.usage["cost_usd"] for one in before) <= 0.01
        for _ in range(3):
            again = await ask(server, ada, body=body)
            assert 1 <= refused(again, "over_limit", "day_usd", "tomorrow", "to begin") <= 86_400
        assert len(await server.service.list_runs(limit=100)) == len(before)
        assert (await ask(server, bob, body=body)).status_code == 200


@pytest.mark.parametrize("day_usd", [0.01, 0.0006])
async def test_a_key_without_room_for_a_prompt_is_refused_however_short_replies_are(
    lab: ScriptedHost, day_usd: float
) -> None:
    lab.on("*", text="42", usage={"prompt_tokens": 20, "completion_tokens": 1})
    body = {**VOTE, "wait": True}
    async with open_server(keys={"ada": {"day_usd": day_usd}}) as server:
        ada = await server.key("ada")
        for _ in range(200):
            if (answer := await ask(server, ada, body=body)).status_code != 200:
                break
            paused = answer.json()["status"] == "paused"
            assert not paused or answer.json()["usage"]["calls"]  # every run that is begun makes a call
        assert 1 <= refused(answer, "over_limit", "Raise serve.keys.ada.day_usd", "to begin") <= 86_400
        # No day has room for it.
        assert ("tomorrow" in answer.text) is (day_usd > 0.001)


async def test_a_run_that_its_key_has_paused_is_not_resumed_until_the_day_has_room_for_it(
    lab: ScriptedHost,
) -> None:
    """Before, each try was answered with 202 and the same pause."""
    lab.on("*", text="Final answer: 42")
    body = {**VOTE, "wait": True}
    async with open_server(keys={"ada": {"day_usd": 0.01}}) as server:
        ada = await server.key("ada")
        # They start at once, while nothing of the day is spent, and are paused in the middle.
        await asyncio.gather(*(ask(server, ada, body=body) for _ in range(40)))
        runs = await server.service.list_runs("paused", limit=100)
        assert runs
        for run in runs:
            resume = f"/v1/runs/{run.row.id}/resume"
            again = await ask(server, ada, resume, {"wait": True})
            assert 1 <= refused(again, "over_limit", "day_usd", "tomorrow", "to go on") <= 86_400
            row = await server.service.find(run.row.id)
            assert (row.seq, row.epoch) == (run.row.seq, run.row.epoch)
    async with open_server(keys={"ada": {"day_usd": 0.1}}) as server:
        done = await ask(server, ada, resume, {"wait": True})
        assert (done.status_code, done.json()["status"]) == (200, "consensus")


async def test_a_run_that_fits_into_no_day_of_its_key_says_what_limit_it_needs(lab: ScriptedHost) -> None:
    """Before, the first run of each day was begun, paid for in part and paused."""
    body = {**VOTE, "wait": True}
    async with open_server(keys={"ada": {"day_usd": 0.000_001}}) as server:
        ada, bob = await server.key("ada"), await server.key("bob")
        assert (await ask(server, bob, body=body)).status_code == 200  # what such runs cost is known
        answer = await ask(server, ada, body=body)
        assert 1 <= refused(answer, "over_limit", "Raise serve.keys.ada.day_usd to at least") <= 86_400
        assert "tomorrow" not in answer.text  # tomorrow is no longer
        assert [one.row.owner for one in await server.service.list_runs(limit=10)] == ["bob"]


async def test_a_key_whose_runs_take_too_much_starts_none_until_some_are_deleted(
    lab: ScriptedHost,
) -> None:
    lab.on("*", text="Final answer: 42")
    async with open_server(keys={"ada": {"storage_mb": 0.001}}) as server:
        ada, bob = await server.key("ada"), await server.key("bob")
        long = {**VOTE, "question": " ".join(f"{n * n}?" for n in range(2000)), "wait": True}
        run = (await ask(server, ada, body=long)).json()["run_id"]
        stored = await server.service.stored_bytes("ada")
        assert stored > 1000
        # Until they are summed up again, runs count for what they may take.
        refused(await ask(server, ada), "over_limit", "storage_mb", "[serve.keys.ada]", "just begun")
        server.service.capacity.quota.forget("ada")  # as if a minute had passed
        wait = refused(await ask(server, ada), "over_limit", "storage_mb", "[serve.keys.ada]")
        assert wait == 3600
        assert (await ask(server, bob)).status_code == 202
        async with server.client(ada) as client:
            assert (await client.delete(f"/v1/runs/{run}")).status_code in (200, 204)
        assert await server.service.stored_bytes("ada") < stored / 2
        assert (await ask(server, ada)).status_code == 202


async def test_runs_that_begin_together_take_no_more_than_the_storage_of_their_key(lab: ScriptedHost) -> None:
    lab.on("*", hang=True)
    async with open_server(keys={"ada": {"storage_mb": 5}}) as server:
        ada = await server.key("ada")
        large = {**VOTE, "question": "x" * 1_000_000}
        answers = await asyncio.gather(*(ask(server, ada, body=large) for _ in range(12)))
        # Each counts for its million characters more than once, so that not even five fit.
        begun = [answer for answer in answers if answer.status_code == 202]
        assert 1 <= len(begun) <= 5
        for answer in answers:
            if answer not in begun:
                assert 1 <= refused(answer, "over_limit", "storage_mb") <= 5


async def test_one_key_that_fills_the_server_delays_another_by_one_run(lab: ScriptedHost) -> None:
    lab.latency = 0.2
    async with open_server(runs=3, wait_s=20) as server:
        ada, bob = await server.key("ada"), await server.key("bob")
        crowd = [asyncio.create_task(ask(server, ada)) for _ in range(12)]
        while server.service.active < 3:  # noqa: ASYNC110 (there is no event for it)
            await asyncio.sleep(0.01)
        answer = await ask(server, bob)
        assert answer.status_code == 202
        assert {(await task).status_code for task in crowd} == {202}
        # It began before those of ada's runs that were ahead in time.
        owners = [one.row.owner for one in await server.service.list_runs(limit=100)]
        assert (len(owners), owners.count("bob")) == (13, 1)
        assert owners[::-1].index("bob") <= 8


async def test_a_key_that_has_every_run_is_refused_and_the_others_are_not(slow: ScriptedHost) -> None:
    async with open_server(runs=2, wait_s=0.1) as server:
        keys = {name: await server.key(name) for name in ("ada", "bob", "eve")}
        for _ in range(2):
            assert (await ask(server, keys["ada"])).status_code == 202
        for owner, status in (("ada", 429), ("bob", 202), ("bob", 429), ("eve", 202), ("ada", 429)):
            answer = await ask(server, keys[owner])
            assert answer.status_code == status
            assert status == 202 or answer.headers["retry-after"]


async def test_a_server_that_stops_lets_nobody_wait_for_a_turn(slow: ScriptedHost) -> None:
    async with open_server(runs=1, wait_s=60) as server:
        ada = await server.key("ada")
        assert (await ask(server, ada)).status_code == 202
        waiting = asyncio.create_task(ask(server, ada))
        while not server.service.capacity.slots.waiting("ada"):  # noqa: ASYNC110 (there is no event for it)
            await asyncio.sleep(0.01)
        server.service.drain(0.0)
        async with asyncio.timeout(60):
            assert (await waiting).status_code == 503
