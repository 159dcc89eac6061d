"""Runs in lists: those that are not over are summed up from their events."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Connection

from pnyx.core.events import CallFinished, Event, PhaseEntered, RunFinished
from pnyx.errors import ProviderError
from pnyx.interfaces.views import records
from pnyx.interfaces.views.records import read_run, read_runs
from pnyx.providers.base import Call
from pnyx.store import Database
from pnyx.store.records import runs as store
from tests.support.panels import Host
from tests.support.processes import Node, fixed_reply, spec


def lost(call: Call) -> str | Exception:
    return ProviderError("timeout", "no answer", billed=True) if call.model == "small" else fixed_reply(call)


@pytest.mark.parametrize("rule", [fixed_reply, lost])
async def test_a_long_run_that_is_not_over_is_listed_from_a_few_of_its_events(
    database_url: str, monkeypatch: pytest.MonkeyPatch, rule: object
) -> None:
    node = Node(await Database.open(database_url), Host(rule))  # type: ignore[arg-type]
    done = await (await node.start(options={"rounds": 2})).result()
    log = [one for one in await node.log(done.run_id) if not isinstance(one, RunFinished)]
    asked = spec(options={"rounds": 2})

    def copy(connection: Connection) -> None:
        old = store.find(connection, done.run_id)
        row = store.RunRow.new("gone", "local", old.created_at, old.protocol, old.question, asked.to_json())
        store.create(connection, row)
        store.append(connection, "gone", 1, log, payer=asked.payer)

    await node.database.write(copy)
    whole = (await node.database.read(lambda c: read_run(c, "gone"))).result

    async def listed() -> object:
        found = await node.database.read(lambda c: read_runs(c, limit=5))
        return next(one.result for one in found if one.row.id == "gone")

    assert await listed() == whole
    monkeypatch.setattr(records, "LONG", 3)
    monkeypatch.setattr(records, "RECENT", 2)
    read = list[str]()
    real = store.log

    def note(*args: Any, **named: Any) -> list[Event]:
        found = real(*args, **named)
        read.extend(type(one).__name__ for one in found)
        return found

    monkeypatch.setattr(store, "log", note)
    assert await listed() == whole
    assert read.count(CallFinished.__name__) <= 1
    assert sum(isinstance(one, PhaseEntered) for one in log) > 4
    assert len(read) <= 8
    await node.runner.close()
