"""Crowds of clients that are slow, silent or greedy, against a `pnyx serve` that has few descriptors."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import httpx2
import pytest

from tests.faults.trial import Trial
from tests.interfaces.shell import interpreter, spawn
from tests.support.announced import address_and_key
from tests.support.waiting import STALL_S, until

MORE, PIPELINED, CHECKS, RUNS = 50, 50, 3, 3
"""MORE: clients than the server has descriptors."""
BODY = "Content-Type: application/json\r\nContent-Length: 1000\r\n"
Head = Callable[..., bytes]
CROWDS: dict[str, Callable[[Head, str], bytes]] = {
    "half of a head": lambda head, run: head("POST", "/v1/runs")[:30],
    "bodies that never arrive": lambda head, run: head("POST", "/v1/runs", BODY) + b'{"q',
    "one request after another": lambda head, run: head("GET", "/v1/models"),
    "many requests at once": lambda head, run: head("GET", "/v1/models") * PIPELINED,
    "followers of a run": lambda head, run: head("GET", f"/v1/runs/{run}/events"),
}
"""What each client sends on a connection; it connects again once the server has closed that."""
OF_A_BUSY_KEY = {"bodies that never arrive", "followers of a run"}
"""Crowds that have as many requests under way as a key may have; others may begin runs meanwhile."""
OF_NEW_INTERPRETERS = {"many requests at once"}
"""Crowds whose server still has modules to import; one that is forked has them."""
TRIALS = [(sent, 64) for sent in CROWDS] + [("many requests at once", 256)]


@contextmanager
def few_descriptors(trial: Trial, most: int, new: bool) -> Iterator[tuple[str, str]]:
    """Serve under `ulimit -n`; yields the address and the key. new: in a new interpreter."""
    trial.settle(call_deadline_s=120)
    lower = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (most, most))
    with (interpreter if new else spawn)("serve", "--port", "0", preexec_fn=lower) as process:
        try:
            yield address_and_key(process.stderr)
        finally:
            process.kill()


@asynccontextmanager
async def crowd(url: str, data: bytes, clients: int) -> AsyncIterator[None]:
    """Clients that connect again and again; all have been connected once when it begins."""
    host, _, port = url.removeprefix("http://").partition(":")
    loop, connected = asyncio.get_running_loop(), 0

    async def client() -> None:
        nonlocal connected
        while True:
            with socket.socket() as one, contextlib.suppress(ConnectionError):
                one.setblocking(False)
                await loop.sock_connect(one, (host, int(port)))
                await loop.sock_sendall(one, data)
                connected += 1
                while await loop.sock_recv(one, 1 << 16):
                    pass
            await asyncio.sleep(0.01)  # without it, the checks of this event loop would wait for it

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(client()) for _ in range(clients)]
        await until(lambda: connected >= clients)
        yield
        for task in tasks:
            task.cancel()


@pytest.mark.parametrize(("sent", "descriptors"), TRIALS)
async def test_a_crowd_keeps_neither_checks_nor_runs_from_going_on(
    trial: Trial, sent: str, descriptors: int
) -> None:
    trial.host.latency = 0.5
    with few_descriptors(trial, descriptors, sent in OF_NEW_INTERPRETERS) as (url, key):

        def head(method: str, path: str, more: str = "") -> bytes:
            lines = f"{method} {path} HTTP/1.1\r\nHost: {url.removeprefix('http://')}\r\n"
            return f"{lines}Authorization: Bearer {key}\r\n{more}\r\n".encode()

        async def ask(method: str, path: str, body: object = None) -> httpx2.Response:
            """Send a request on a new connection."""
            # Reading the certificates of authorities takes longer than the request, which is not encrypted.
            async with httpx2.AsyncClient(base_url=url, timeout=60, trust_env=False, verify=False) as client:
                return await client.request(
                    method, path, json=body, headers={"Authorization": f"Bearer {key}"}
                )

        async def begin() -> str:
            """The id of a new run; empty if the server has too many requests for it."""
            response = await ask("POST", "/v1/runs", {"question": "Why?", "protocol": "consensus"})
            assert response.status_code in (202, 503)
            return str(response.json().get("run_id", ""))

        async def ending(run: str) -> str:
            """The status of a run that has ended; empty before, and while the crowd is leaving."""
            response = await ask("GET", f"/v1/runs/{run}")
            status = response.json()["status"] if response.status_code == 200 else "running"
            return "" if status == "running" else str(status)

        runs = [await begin() for _ in range(RUNS)]
        async with crowd(url, CROWDS[sent](head, runs[0]), descriptors + MORE):
            for _ in range(CHECKS):
                started = time.monotonic()
                assert (await ask("GET", "/health")).json()["status"] == "ok"
                assert time.monotonic() - started < STALL_S
            if sent not in OF_A_BUSY_KEY:
                runs.append(await until(begin))
        for run in runs:
            assert await until(partial(ending, run)) not in ("paused", "failed")
    await asyncio.to_thread(trial.check, "health is answered and runs go on meanwhile")
