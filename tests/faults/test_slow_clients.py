"""Clients that send their requests slowly, against a `pnyx serve` that may have few descriptors."""

from __future__ import annotations

import asyncio
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
from tests.support.waiting import STALL_S

DESCRIPTORS, HALF_HEADS = 256, 300


@contextmanager
def few_descriptors(trial: Trial) -> Iterator[tuple[str, str]]:
    """Serve under `ulimit -n`; yields the address and the key."""
    trial.settle(call_deadline_s=120)
    lower = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
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
