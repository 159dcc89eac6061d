"""Runs of a protocol that are killed before their calls and resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

import pytest

from pnyx.core.events import CallFailed, CallFinished, CallStarted, Event
from pnyx.core.steps import Decision
from pnyx.providers.base import Call
from pnyx.run.drive import drive
from pnyx.run.result import Result
from pnyx.run.spec import Spec
from pnyx.store import Database
from pnyx.store.records import runs as store
from tests.support.panels import Host, ProcessKilled, open_database, performer
from tests.support.processes import Node
from tests.support.properties import THOROUGH

Attempt = Callable[[Database, Host], Awaitable[Decision | str]]
"""Performs a run from its start, with what the journal of the database has of it; returns how it ends."""


async def read_log(database: Database) -> list[Event]:
    return await database.read(lambda c: store.log(c, "r"))


def check_log(log: list[Event]) -> None:
    """Events are numbered without a gap, and each call ends once."""
    assert [e.seq for e in log] == list(range(1, len(log) + 1))
    ends = Counter(
        e.key for e in log if isinstance(e, CallFinished) or (isinstance(e, CallFailed) and e.final)
    )
    assert set(ends.values()) <= {1}


async def attempt(spec: Spec, database: Database, host: Host) -> Decision:
    """Perform a run from its start, with what the journal of the database has of it."""
    made = await performer(database, host, spec.seats, limits=spec.limits)
    decision = await drive(spec.protocol_def, spec.brief, spec.panel, made, spec.resolve)
    await made.context.journal.append()
    return decision


async def perform_whole(
    folder: Path, spec: Spec, rule: Callable[[Call], str]
) -> tuple[Decision, Host, list[Event]]:
    """The decision, the host and the events of a run that nobody kills."""
    database, host = await open_database(folder, "whole.db"), Host(rule)
    decision = await attempt(spec, database, host)
    log = await read_log(database)
    check_log(log)
    await database.close()
    return decision, host, log


async def finish(spec: Spec, folder: Path, host: Host) -> tuple[Result, list[Event]]:
    """The result and the events of a run through the runner."""
    node = Node(await open_database(folder), host)
    handle = await node.runner.start(spec)
    result = await handle.result()
    log = await node.log(handle.run_id)
    await node.runner.close()
    return result, log


def calls_of_phases(log: list[Event]) -> Callable[[range], Iterable[int]]:
    """Every call in a thorough run; else every third, and the first of each phase of each round."""
    phases = [(e.round, e.phase) for e in log if isinstance(e, CallStarted)]
    firsts = {n for n, phase in enumerate(phases) if phase not in phases[:n]}
    return lambda calls: [n for n in calls if THOROUGH or n % 3 == 0 or n in firsts]


async def check_kills(
    folder: Path,
    attempt: Attempt,
    whole: Host,
    want: Decision | str,
    calls: Callable[[range], Iterable[int]] = iter,
) -> None:
    """Kill before each call and resume: it ends as `want`, and asks for no recorded reply again.

    whole: the host of a run that nobody killed. calls: which of its calls.
    """
    for k in calls(range(len(whole.sent))):
        database = await open_database(folder, f"{k}.db")
        first, second, third = Host(whole.rule, die_before=k), Host(whole.rule), Host(whole.rule)
        with pytest.raises(ProcessKilled):
            await attempt(database, first)
        await database.write(lambda c: None)  # what was queued before the end may still be committed
        before = await read_log(database)
        recorded = {e.key for e in before if isinstance(e, CallFinished)}
        assert await attempt(database, second) == want
        log = await read_log(database)
        check_log(log)
        assert not recorded & {e.key for e in log[len(before) :] if isinstance(e, CallStarted)}
        # A request was sent twice only if it was in flight: an intent without an outcome in the journal.
        twice = Counter(first.sent) + Counter(second.sent) - Counter(whole.sent)
        in_flight = [e for e in before if isinstance(e, CallStarted) and e.key not in recorded]
        assert twice.total() <= len(in_flight)
        assert await attempt(database, third) == want
        assert third.sent == []
        await database.close()
