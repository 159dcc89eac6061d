"""The server under faults: clients that leave, signals, kill -9, and a thousand runs at once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx2
import pytest

from tests.faults.trial import Trial, handled, most_memory
from tests.support import waiting
from tests.support.announced import address_and_key
from tests.support.assistants import HELLO
from tests.support.forked import Process
from tests.support.serving import events_of
from tests.support.waiting import STALL_S

RUNS, CALLS = int(os.environ.get("PNYX_RUNS", "100")), 12
"""`make test-faults` starts 1,000 runs."""
MOST_MEMORY = 1.5 * 2**30
LONG_DRAIN = "tests.support.long_drain"
VOTE = {"question": "Why?", "protocol": "voting"}


@dataclass
class Server:
    """A `pnyx serve` in a separate process."""

    process: Process
    url: str
    key: str

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx2.AsyncClient]:
        headers = {"Authorization": f"Bearer {self.key}"}
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(
            base_url=self.url, headers=headers, timeout=120, trust_env=False, verify=False, limits=limits
        ) as client:
            yield client

    def end(self, number: int) -> float:
        """Send a signal and return the seconds until the process ended."""
        started_at = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(120)
        return time.monotonic() - started_at

    @property
    def memory(self) -> int:
        """Its peak memory, in bytes."""
        return most_memory(self.process.pid)


@contextmanager
def serving(trial: Trial, module: str = "pnyx") -> Iterator[Server]:
    # Its first call loads the host's library, which is slow on a busy machine.
    trial.settle(call_deadline_s=120)
    with trial.spawned("serve", "--port", "0", module=module) as process:
        yield Server(process, *address_and_key(process.stderr))


async def over(client: httpx2.AsyncClient, run: str, within: float = 60.0) -> dict[str, Any]:
    """Wait until the run no longer runs, and return it."""

    async def ended() -> Any:
        response = (await client.get(f"/v1/runs/{run}")).json()
        return response if response["status"] != "running" else None

    return dict(await until(ended, within))


async def until(true: Callable[[], Any], within: float = 300.0) -> Any:
    """Wait longer than `waiting.until` does: for many runs at once, and for processes that are killed."""
    return await waiting.until(true, within)


async def stops(client: httpx2.AsyncClient) -> bool:
    """Whether the server says that it stops, or takes no connection any longer."""
    try:
        return bool((await client.get("/health")).json()["status"] == "draining")
    except httpx2.TransportError:
        return True


async def test_a_client_that_leaves_mid_stream_can_reconnect_to_its_run(trial: Trial) -> None:
    trial.host.latency = 0.2
    with serving(trial) as server:
        async with server.client() as client:
            seen = []
            async with client.stream("POST", "/v1/runs", json={**VOTE, "stream": True}) as response:
                run = response.headers["x-run-id"]
                async for event in events_of(response):
                    seen.append(event)
                    if event["type"] == "call_started":
                        break
        # The connection is closed, and the run has no watcher for a while.
        await asyncio.sleep(0.3)
        async with server.client() as client:
            headers = {"Last-Event-ID": seen[-1]["id"]}
            async with client.stream("GET", f"/v1/runs/{run}/events", headers=headers) as response:
                seen += [event async for event in events_of(response)]
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert (seen[-1]["type"], seen[-1]["result"]["run_id"]) == ("run_finished", run)
    assert seen[-1]["status"] not in ("cancelled", "paused", "failed")
    await asyncio.to_thread(trial.check, "the run went on; no event lost, none twice")


@pytest.mark.parametrize("how", ["stream", "wait", "events"])
async def test_a_client_that_leaves_cancels_within_a_second_if_requested(trial: Trial, how: str) -> None:
    trial.host.latency = 120
    with serving(trial) as server:
        async with server.client() as client:
            body: dict[str, Any] = {**VOTE, "on_disconnect": "cancel"}
            if how == "events":
                run = (await client.post("/v1/runs", json=VOTE)).json()["run_id"]
                watching: Any = client.stream(
                    "GET", f"/v1/runs/{run}/events", params={"on_disconnect": "cancel"}
                )
            else:
                watching = client.stream("POST", "/v1/runs", json={**body, how: True})
            begun = asyncio.Event()
            task = asyncio.create_task(_watch(watching, begun))
            await until(lambda: trial.host.log and (begun.is_set() or how == "wait"))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        left = time.monotonic()
        async with server.client() as client:
            (run,) = [one["run_id"] for one in (await client.get("/v1/runs")).json()]
            response = await over(client, run, within=2 * STALL_S)
        assert response["status"] == "cancelled"
    await asyncio.to_thread(trial.check, f"cancelled after {time.monotonic() - left:.1f} s")


async def _watch(watching: Any, begun: asyncio.Event) -> None:
    """Read to the end. begun: set once the server has begun to answer, and so knows its client."""
    async with watching as response:
        async for _ in response.aiter_bytes():
            begun.set()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl-C"])
async def test_a_server_that_stops_saves_its_runs_within_10_s_and_informs_followers(
    trial: Trial, number: int
) -> None:
    answered = threading.Event()
    trial.host.on("*", until=answered.is_set)
    with serving(trial) as server:
        async with server.client() as client:
            started = [(await client.post("/v1/runs", json=VOTE)).json()["run_id"] for _ in range(3)]
            followed: list[str] = []
            last: list[dict[str, Any]] = []

            async def follow(run: str) -> None:
                async with client.stream("GET", f"/v1/runs/{run}/events") as response:
                    followed.append(run)
                    last.append([event async for event in events_of(response)][-1])

            following = [asyncio.create_task(follow(run)) for run in started]
            await until(lambda: len(trial.host.log) >= 6 and len(followed) == 3)
            started_at = time.monotonic()
            server.process.send_signal(number)
            await until(lambda: handled(server.process, number))
            answered.set()
            await asyncio.to_thread(server.process.wait, 120)
            elapsed = time.monotonic() - started_at
            await asyncio.gather(*following)
        assert (server.process.returncode, elapsed < STALL_S) == (0, True)
        assert [event["type"] for event in last] == ["run_finished"] * 3
    paused = [event["result"]["run_id"] for event in last if event["status"] == "paused"]
    assert paused
    for run in paused:
        # In a thread, since the command has its own event loop.
        done = await asyncio.to_thread(resumed, trial, run)
        assert done == 0
    verdict = await asyncio.to_thread(
        trial.check, f"stopped after {elapsed:.1f} s; {len(paused)} paused, resumed"
    )
    assert verdict.uncertain == 0


async def test_a_server_that_stops_waits_for_the_calls_in_flight_of_a_run_that_nobody_follows(
    trial: Trial,
) -> None:
    answered = threading.Event()
    trial.host.on("*", until=answered.is_set)
    with serving(trial, LONG_DRAIN) as server:
        async with server.client() as client:
            run = (await client.post("/v1/runs", json=VOTE)).json()["run_id"]
        await until(lambda: len(trial.host.log) == 3)
        server.process.send_signal(signal.SIGTERM)
        await until(lambda: handled(server.process, signal.SIGTERM))
        assert server.process.poll() is None, "the server did not wait for its calls"
        answered.set()
        await asyncio.to_thread(server.process.wait, 60)
    assert server.process.returncode == 0
    assert await asyncio.to_thread(resumed, trial, run) == 0
    verdict = await asyncio.to_thread(trial.check, "stopped without clients, resumed")
    assert (verdict.uncertain, len(trial.host.log)) == (0, len(verdict.run.attempts))


async def test_a_server_that_stops_answers_the_mcp_call_that_waits_for_a_run(trial: Trial) -> None:
    answered = threading.Event()
    trial.host.on("*", until=answered.is_set)
    call = {"name": "ask", "arguments": VOTE}
    with serving(trial, LONG_DRAIN) as server:
        async with server.client() as client:
            client.headers["Accept"] = "application/json, text/event-stream"
            hello = await client.post("/mcp", json=HELLO)
            client.headers["mcp-session-id"] = hello.headers["mcp-session-id"]
            await client.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
            ask = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
            async with (
                client.stream("GET", "/mcp") as messages,
                client.stream("POST", "/mcp", json=ask) as response,
            ):
                await until(lambda: len(trial.host.log) == 3)
                server.process.send_signal(signal.SIGTERM)
                await until(partial(stops, client))
                answered.set()
                data = [line[6:] async for line in response.aiter_lines() if line.startswith("data: {")]
                # The stream of a session has no end of its own. It ends too, and nobody waits for it.
                assert [line async for line in messages.aiter_lines() if "method" in line] == []
            await asyncio.to_thread(server.process.wait, 60)
    assert server.process.returncode == 0
    run = json.loads(data[-1])["result"]["structuredContent"]
    assert (run["status"], run["stop_reason"]) == ("paused", "interrupted")
    assert await asyncio.to_thread(resumed, trial, run["run_id"]) == 0
    verdict = await asyncio.to_thread(trial.check, "stopped within an MCP call, which says so; resumed")
    assert (verdict.uncertain, len(trial.host.log)) == (0, len(verdict.run.attempts))


async def test_a_second_ctrl_c_ends_a_server_at_once(trial: Trial) -> None:
    stopped = threading.Event()
    trial.host.on("*", until=stopped.is_set)
    with serving(trial, LONG_DRAIN) as server:
        async with server.client() as client:
            await client.post("/v1/runs", json=VOTE)
        await until(lambda: len(trial.host.log) == 3)
        server.process.send_signal(signal.SIGINT)
        await until(lambda: handled(server.process, signal.SIGINT))
        assert await asyncio.to_thread(server.end, signal.SIGINT) < 60
    stopped.set()
    verdict = await asyncio.to_thread(trial.check, "killed with three calls in flight")
    assert verdict.run.status == "paused"


def resumed(trial: Trial, run: str) -> int:
    with trial.spawned("resume", run, "--json") as process:
        return trial.ended(process).code


@pytest.mark.timeout(600)
async def test_a_killed_server_loses_no_run_and_a_repeated_request_pays_only_for_calls_in_flight(
    trial: Trial,
) -> None:
    trial.host.latency = 0.1

    async def all_asked(server: Server) -> list[httpx2.Response | BaseException]:
        async with server.client() as client:
            requests = [
                client.post(
                    "/v1/runs", json={**VOTE, "wait": True}, headers={"Idempotency-Key": f"order {n}"}
                )
                for n in range(20)
            ]
            return await asyncio.gather(*requests, return_exceptions=True)

    for enough in (15, 45, 65):
        with serving(trial) as server:
            asking = asyncio.create_task(all_asked(server))
            await until(lambda: len(trial.host.log) >= enough)  # noqa: B023 (awaited here)
            server.process.kill()
            server.process.wait()
            await asking
    trial.host.latency = 0.0
    with serving(trial) as server:
        # Another server can take a run of the killed one as soon as its lease expires.
        responses = await _insistent(all_asked, server)
    results = [answer.json() for answer in responses]
    assert {result["status"] for result in results} <= {"consensus", "majority", "plurality", "decided"}
    assert len({result["run_id"] for result in results}) == 20
    verdict = await asyncio.to_thread(trial.check)
    assert verdict.uncertain <= 3 * 20 * 3
    trial.line = trial.line and (f"3 kills, 20 runs, {verdict.uncertain} in flight", *trial.line[1:])


async def _insistent(ask: Any, server: Server) -> list[httpx2.Response]:
    async with asyncio.timeout(240):
        while True:
            responses: list[httpx2.Response] = await ask(server)
            if all(answer.status_code == 200 for answer in responses):
                return responses
            await asyncio.sleep(1)


@pytest.mark.timeout(900)
async def test_many_runs_at_once_are_all_answered_and_health_responds_meanwhile(trial: Trial) -> None:
    options = {"samples": CALLS, "adaptive": False}
    ask = {"question": "Why?", "protocol": "sample", "models": ["lab:alpha"], "options": options}
    slowest = 0.0
    with serving(trial) as server:
        async with server.client() as client:

            async def begin(n: int) -> str:
                response = await client.post("/v1/runs", json={**ask, "seed": n})
                assert response.status_code == 202, response.text
                return str(response.json()["run_id"])

            async def healthy() -> None:
                nonlocal slowest
                while True:
                    sent_at = time.monotonic()
                    assert (await client.get("/health")).json()["status"] == "ok"
                    slowest = max(slowest, time.monotonic() - sent_at)
                    await asyncio.sleep(0.2)

            watch = asyncio.create_task(healthy())
            runs = await asyncio.gather(*(begin(n) for n in range(RUNS)))

            async def idle() -> bool:
                return not (await client.get("/health")).json()["runs"]

            await until(idle)
            watch.cancel()
            with pytest.raises(asyncio.CancelledError):
                await watch
            listed = (await client.get("/v1/runs", params={"limit": 1000})).json()
        memory = server.memory
    assert len(set(runs)) == RUNS
    assert {run["status"] for run in listed} <= {"consensus", "majority", "plurality", "decided"}
    assert {run["usage"]["calls"] for run in listed} == {CALLS}
    assert len(trial.host.log) == RUNS * CALLS
    assert memory < MOST_MEMORY
    # A number for the table; limits are a matter of the benchmarks.
    happened = f"{RUNS} answered, {memory >> 20} MiB, /health within {slowest:.1f} s"
    await asyncio.to_thread(trial.check, happened)
