"""The overview of a run is kept for the events that its row counts, whatever is stored meanwhile."""

from __future__ import annotations

from dataclasses import replace

from pnyx.core.events import Event
from pnyx.interfaces.records.overviews import LONG, Overviews
from pnyx.interfaces.views.overview import overview
from pnyx.store.records.runs import RunRow
from tests.interfaces import events


async def test_events_that_are_stored_while_it_is_read_are_of_the_next_overview() -> None:
    calls = [
        one for n in range(LONG) for one in events.answered_call("Participant A", "propose", f"/{n}", "x")
    ]
    log = [replace(event, seq=seq) for seq, event in enumerate(calls, 1)]
    row = replace(RunRow.new("run1", "local", "2026-01-01", "voting", "Why?", {}), seq=LONG)

    async def read() -> list[Event]:
        return log

    overviews = Overviews()
    first = await overviews.of(row, read)
    assert first == overview(log[:LONG]) != overview(log)
    assert await overviews.of(replace(row, seq=len(log)), read) == overview(log)
    assert await overviews.of(row, read) is first
