"""While the first request of a run is on its way, a thread does what reading a reply needs only once."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from pnyx.core.models import Usage
from pnyx.providers.base import Call, Completion
from pnyx.run.calls import warm_up
from pnyx.run.calls.warm_up import WarmUp
from tests.support.panels import Host
from tests.support.processes import Node, spec
from tests.support.waiting import STALL_S

FIRST_DEBATES = """
import json, re, sys
from pnyx.run.calls.warm_up import read_samples
from pnyx.testing import drive_protocol, make_seats

patterns, compile = [], re.compile
def counted(*args):
    patterns.append(args)
    return compile(*args)
re.compile = counted

def reply(ask):
    words = f"The claim of {ask.seat.label} holds for most of the cases, and the last decides the matter."
    return f"{words} It is case {len(patterns)}.\\nFinal answer: the {ask.seat.name} way"

seats = make_seats("h:alpha", "h:beta", "h:gamma")
read_samples(tuple(seat.model for seat in seats))
counts = {"warm_up": len(patterns)}
for protocol in ("voting", "consensus", "moa"):
    before = len(patterns)
    drive_protocol(protocol, reply, seats)
    counts[protocol] = len(patterns) - before
print(json.dumps(counts))
"""


def test_a_first_debate_compiles_few_patterns_after_a_warm_up() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_DEBATES], capture_output=True, text=True, check=True)
    counts = json.loads(done.stdout)
    assert counts["warm_up"] > 150, counts
    assert counts["voting"] + counts["consensus"] + counts["moa"] < 40, counts


async def test_a_panel_is_warmed_up_once_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[tuple[str, ...], int]] = []
    monkeypatch.setattr(warm_up, "DELAY_S", 0.0)
    monkeypatch.setattr(warm_up, "read_samples", lambda names: done.append((names, threading.get_ident())))
    warm_ups = WarmUp()
    for names in (("h:a",), ("h:b",), ("h:a",)):
        warm_ups.begin(names)
    for _ in range(200):
        if len(done) >= 2:
            break
        await asyncio.sleep(0.01)
    assert sorted(names for names, _ in done) == [("h:a",), ("h:b",)]
    assert threading.get_ident() not in {thread for _, thread in done}


class Waiting(Host):
    """Replies once a warm-up is done."""

    def __init__(self) -> None:
        super().__init__(lambda call: "unused")
        self.warm = asyncio.Event()

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        await asyncio.wait_for(self.warm.wait(), STALL_S)
        return Completion(f"{call.model} says so. Final answer: 4", Usage(10, 0, 5, 0))


async def test_a_run_warms_up_while_its_first_call_waits(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    host, seen = Waiting(), list[tuple[str, ...]]()
    loop = asyncio.get_running_loop()

    def read_samples(names: tuple[str, ...]) -> None:
        seen.append(names)
        loop.call_soon_threadsafe(host.warm.set)

    monkeypatch.setattr(warm_up, "read_samples", read_samples)
    request = spec(protocol="voting")
    handle = await make(host).runner.start(request)
    assert (await asyncio.wait_for(handle.result(), 2 * STALL_S)).answer
    assert seen == [request.panel.names]
