"""The order in a run's journal is the order of cause, also after rejected units."""

from __future__ import annotations

import asyncio
import gc
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection

from pnyx.core.events import CallFinished, CallStarted, Event, PhaseEntered, VoteTallied
from pnyx.errors import OutOfBudget
from pnyx.run.calls.limits import Limits
from pnyx.run.journal import Journal
from pnyx.run.spec import Spec
from pnyx.store import Database
from pnyx.store.records import runs as store
from pnyx.times import now
from tests.support.panels import seats
from tests.support.properties import examples
from tests.support.waiting import STALL_S

RUN = "journal"


def refuse(_: Connection) -> None:
    raise OutOfBudget("the budget is too small")


async def journal_in(folder: Path) -> Journal:
    database = await Database.open(folder / "pnyx.db")
    spec = Spec(question="Why?", protocol="voting", seats=seats("lab:a"), limits=Limits(30.0, 100, 0))
    row = store.RunRow.new(RUN, "local", now(), "voting", "Why?", spec.to_json(), worker="w")
    await database.write(lambda connection: store.create(connection, row))
    return Journal(database, RUN, row.epoch)


def chosen(event: CallStarted, _: Connection) -> CallStarted:
    return event


def phase(n: int) -> Event:
    return PhaseEntered(key=f"/{n}", time=now(), protocol="voting")


def count(n: int) -> Event:
    return VoteTallied(key=f"/{n}", time=now(), rule="plurality", tally={})


async def keys(journal: Journal) -> list[int]:
    log = await journal.database.read(lambda connection: store.log(connection, RUN))
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    return [
        int(event.key.removeprefix("/")) for event in log if isinstance(event, PhaseEntered | VoteTallied)
    ]


async def test_buffered_events_of_a_rejected_unit_come_before_the_next_unit(tmp_path: Path) -> None:
    journal = await journal_in(tmp_path)
    journal.buffer(phase(1))
    refused = asyncio.create_task(journal.append(count(2), ledger=refuse))
    await asyncio.sleep(0)
    journal.buffer(phase(3))
    await asyncio.gather(refused, journal.append(count(4)), return_exceptions=True)
    journal.buffer(phase(5))
    await journal.append()
    assert await keys(journal) == [1, 3, 4, 5]
    await journal.database.close()


async def test_after_a_rejected_unit_nothing_is_queued(tmp_path: Path) -> None:
    journal = await journal_in(tmp_path)
    written = 0
    submit = journal.database.submit

    def counted(*arguments: Any) -> Any:
        nonlocal written
        written += 1
        return submit(*arguments)

    journal.database.submit = counted  # type: ignore[method-assign, assignment]
    await asyncio.gather(journal.append(count(1), ledger=refuse), return_exceptions=True)
    assert written == 1
    await journal.flush()
    await journal.flush()
    assert written == 1
    await journal.database.close()


async def test_what_follows_a_refused_outcome_is_refused_in_the_same_commit(tmp_path: Path) -> None:
    journal = await journal_in(tmp_path)
    journal.post(count(1), ledger=refuse)
    with pytest.raises(OutOfBudget):
        await journal.append(count(2))
    assert await keys(journal) == []
    await journal.database.close()


async def test_outcomes_are_applied_at_once_so_nothing_waits_for_their_commit(tmp_path: Path) -> None:
    journal = await journal_in(tmp_path)
    journal.post(count(1))
    await asyncio.wait_for(journal.flush(), STALL_S)
    assert journal.is_recorded("/1")
    assert journal.seq == 0  # not committed yet
    await journal.append(count(2))
    assert await keys(journal) == [1, 2]
    await journal.database.close()


STEPS = st.lists(
    st.tuples(st.sampled_from(["later", "append", "refused append", "post", "turn"]), st.integers(0, 2)),
    max_size=30,
)


@examples(30)
@given(STEPS)
def test_the_stored_order_is_the_order_of_cause(steps: list[tuple[str, int]]) -> None:
    """Events of successive tasks are stored in that order; rejected events are not stored."""

    async def play(folder: Path) -> None:
        journal = await journal_in(folder)
        expected: list[int] = []
        tasks: list[asyncio.Task[None]] = []
        for n, (step, turns) in enumerate(steps):
            match step:
                case "later":
                    journal.buffer(phase(n))
                case "append":
                    tasks.append(asyncio.create_task(journal.append(count(n))))
                    # Its place is determined when it is queued: the task must take its first step.
                    await asyncio.sleep(0)
                case "refused append":
                    tasks.append(asyncio.create_task(journal.append(count(n), ledger=refuse)))
                    await asyncio.sleep(0)
                case "post":
                    journal.post(count(n))
            if step in ("later", "append", "post"):
                expected.append(n)
            for _ in range(turns * 4):
                await asyncio.sleep(0)
        await asyncio.gather(*tasks, return_exceptions=True)
        await journal.append()
        assert await keys(journal) == expected
        await journal.database.close()

    with TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder)))


async def test_a_call_that_is_answered_leaves_no_prompt_in_memory(tmp_path: Path) -> None:
    common: dict[str, Any] = {"key": "1", "time": now(), "attempt": 1, "fingerprint": "f", "model": "lab:a"}
    more: dict[str, Any] = {"prompt_sha256": "", "max_tokens": 100, "reserved_usd": None}
    prompts = [f"prompt {n}" for n in range(3)]
    journal = await journal_in(tmp_path)
    for n, prompt in enumerate(prompts):
        sent = CallStarted(**common | {"key": f"{n}"}, **more, prompt_id="p", prompt=prompt, phase="vote")
        await journal.reserve(partial(chosen, sent))
    for n in range(2):
        reply = CallFinished(**common | {"key": f"{n}"}, text="yes", finish_reason="stop", phase="vote")
        journal.post(reply)
    await journal.flush()
    del sent
    held = [one.prompt for one in gc.get_objects() if isinstance(one, CallStarted) and one.prompt in prompts]
    assert held == ["prompt 2"]
    assert [journal.attempts(f"{n}") for n in range(4)] == [1, 1, 1, 0]
    await journal.database.close()
