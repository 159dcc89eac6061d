"""Runs of a protocol that are killed before their calls and resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

import pytest

from pnyx.core.events import CallFailed, CallFinished, CallStarted, Event
from pnyx.core.steps import Decision
from pnyx.store import Database
from pnyx.store.records import runs as store
from tests.support.panels import Host, ProcessKilled, open_database

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
