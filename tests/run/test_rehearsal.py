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
from pnyx.run import rehearsal
from pnyx.run.rehearsal import Rehearsal
from tests.support.panels import Host
from tests.support.processes import Node, spec

FIRST_DEBATES = """
import json, re, sys
from pnyx.run.rehearsal import rehearse
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
rehearse(tuple(seat.model for seat in seats))
counts = {"rehearsal": len(patterns)}
for protocol in ("voting", "consensus", "moa"):
    before = len(patterns)
    drive_protocol(protocol, reply, seats)
    counts[protocol] = len(patterns) - before
print(json.dumps(counts))
"""


def test_a_first_debate_compiles_few_patterns_after_a_rehearsal() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_DEBATES], capture_output=True, text=True, check=True)
    counts = json.loads(done.stdout)
    assert counts["rehearsal"] > 150, counts
    assert counts["voting"] + counts["consensus"] + counts["moa"] < 40, counts


async def test_a_panel_is_rehearsed_once_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[tuple[str, ...], int]] = []
    monkeypatch.setattr(rehearsal, "DELAY_S", 0.0)
    monkeypatch.setattr(rehearsal, "rehearse", lambda names: done.append((names, threading.get_ident())))
    rehearsals = Rehearsal()
    for names in (("h:a",), ("h:b",), ("h:a",)):
        rehearsals.begin(names)
    for _ in range(200):
        if len(done) >= 2:
            break
        await asyncio.sleep(0.01)
    assert sorted(names for names, _ in done) == [("h:a",), ("h:b",)]
    assert threading.get_ident() not in {thread for _, thread in done}


class Waiting(Host):
    """Replies once a rehearsal is done."""

    def __init__(self) -> None:
        super().__init__(lambda call: "unused")
        self.rehearsed = asyncio.Event()

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        await asyncio.wait_for(self.rehearsed.wait(), 10)
        return Completion(f"{call.model} says so. Final answer: 4", Usage(10, 0, 5, 0))


async def test_a_run_rehearses_while_its_first_call_waits(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    host, seen = Waiting(), list[tuple[str, ...]]()
    loop = asyncio.get_running_loop()

    def rehearse(names: tuple[str, ...]) -> None:
        seen.append(names)
        loop.call_soon_threadsafe(host.rehearsed.set)

    monkeypatch.setattr(rehearsal, "rehearse", rehearse)
    request = spec(protocol="voting")
    handle = await make(host).runner.start(request)
    assert (await asyncio.wait_for(handle.result(), 20)).answer
    assert seen == [request.panel.names]
