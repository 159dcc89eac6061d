"""Clients that send their requests slowly, against a `pnyx serve` that may have few descriptors."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import httpx2

from tests.faults.trial import Trial
from tests.interfaces.shell import interpreter
from tests.support.announced import address_and_key
from tests.support.serving import events_of
from tests.support.waiting import STALL_S, until

HALF_HEADS = 300
CLIENTS, PIPELINED, CHECKS = 80, 50, 3


@contextmanager
def few_descriptors(trial: Trial, most: int = 256) -> Iterator[tuple[str, str]]:
    """Serve under `ulimit -n`; yields the address and the key."""
    trial.settle(call_deadline_s=120)
    lower = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (most, most))
    with interpreter("serve", "--port", "0", preexec_fn=lower) as process:
        try:
            yield address_and_key(process.stderr)
        finally:
            process.kill()


async def test_half_sent_heads_take_no_descriptor_that_others_need(trial: Trial) -> None:
    trial.host.latency = 0.3
    with few_descriptors(trial) as (url, key), ExitStack() as held:
        host, _, port = url.removeprefix("http://").partition(":")
        for _ in range(HALF_HEADS):
            one = held.enter_context(socket.create_connection((host, int(port))))
            one.send(b"POST /v1/runs HTTP/1.1\r\nHost: ")
        headers = {"Authorization": f"Bearer {key}"}
        for _ in range(3):  # on a new connection each
            async with httpx2.AsyncClient(
                base_url=url, headers=headers, timeout=60, trust_env=False
            ) as client:
                started = time.monotonic()
                assert (await client.get("/health")).json()["status"] == "ok"
                assert time.monotonic() - started < STALL_S
                body = {"question": "Why?", "protocol": "voting", "stream": True}
                async with client.stream("POST", "/v1/runs", json=body) as response:
                    events = [event async for event in events_of(response)]
                assert events[-1]["type"] == "run_finished"
                assert events[-1]["status"] != "failed"
    await asyncio.to_thread(trial.check, "health and runs are answered meanwhile")


async def test_checks_are_answered_while_clients_connect_again_and_again(trial: Trial) -> None:
    """Each was reset: new connections closed those whose request had arrived and was not read yet."""
    with few_descriptors(trial, 64) as (url, key):
        host, _, port = url.removeprefix("http://").partition(":")
        lines = (f"GET /v1/models HTTP/1.1\r\nHost: {host}:{port}", f"Authorization: Bearer {key}", "", "")
        served = 0

        request, loop = "\r\n".join(lines).encode(), asyncio.get_running_loop()

        async def again_and_again() -> None:
            nonlocal served
            while True:
                with socket.socket() as client, contextlib.suppress(ConnectionError):
                    client.setblocking(False)
                    await loop.sock_connect(client, (host, int(port)))
                    await loop.sock_sendall(client, request * PIPELINED)
                    while data := await loop.sock_recv(client, 1 << 16):
                        served += data.count(b"HTTP/1.1 200")

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(again_and_again()) for _ in range(CLIENTS)]
            await until(lambda: served > CLIENTS)
            for _ in range(CHECKS):  # on a new connection each
                async with httpx2.AsyncClient(base_url=url, timeout=60, trust_env=False) as client:
                    started = time.monotonic()
                    assert (await client.get("/health")).json()["status"] == "ok"
                    assert time.monotonic() - started < STALL_S
            for task in tasks:
                task.cancel()
    await asyncio.to_thread(trial.check, "health is answered meanwhile")
