"""The same run on SQLite and on PostgreSQL: recorded, resumed, fenced, capped across processes."""

from __future__ import annotations

import asyncio

import pytest

from pnyx.core.events import CallFinished, CallStarted, Event
from pnyx.errors import Fenced
from pnyx.store import Database
from pnyx.store.records import leases
from pnyx.store.records import runs as store
from tests.support.panels import Host
from tests.support.processes import Node, account_of, fixed_reply, well_formed


async def test_a_run_is_paused_and_resumed(database_url: str) -> None:
    database = await Database.open(database_url)
    node = Node(database, Host(fixed_reply, pause=0.02))
    handle = await node.start(options={"rounds": 2})
    async for event in handle.events():
        if isinstance(event, CallStarted) and event.phase == "challenge":
            handle.interrupt()
    assert (await handle.result()).status == "paused"
    result = await (await node.runner.resume(handle.run_id)).result()
    log = await node.log(handle.run_id)
    well_formed(log)
    assert result.status == "decided"
    assert len(set(node.host.sent)) == len(node.host.sent) == 8
    charged = sum(e.cost_usd or 0 for e in log if isinstance(e, CallFinished))
    account = await account_of(node, handle.run_id)
    assert (account.spent_nusd, account.reserved_nusd) == (round(charged * 1e9), 0)
    await node.runner.close()


async def test_a_worker_that_wakes_after_another_took_its_run_writes_nothing(database_url: str) -> None:
    database = await Database.open(database_url)
    node = Node(database, Host(fixed_reply, pause=0.1))
    handle = await node.start(options={"rounds": 1})
    await database.write(lambda c: leases.take(c, handle.run_id, "other:1:1", "now"))
    with pytest.raises(Fenced):
        await handle.result()
    assert not any(isinstance(e, CallFinished) for e in await node.log(handle.run_id))
    await node.runner.close()


async def test_runs_of_two_processes_share_the_daily_cap(database_url: str) -> None:
    nodes = [Node(await Database.open(database_url), Host(fixed_reply, pause=0.01)) for _ in range(2)]
    cap = 0.02

    async def one(i: int) -> float:
        handle = await nodes[i % 2].start(options={"rounds": 2}, day_usd=cap)
        return (await handle.result()).usage["cost_usd"] or 0.0

    spent = sum(await asyncio.gather(*(one(i) for i in range(12))))
    logs: list[Event] = []
    for row in await nodes[0].database.read(lambda c: store.listing(c)):
        logs += await nodes[0].log(row.id)
    billed = sum(e.cost_usd or 0 for e in logs if isinstance(e, CallFinished))
    assert billed == pytest.approx(spent)
    assert 0 < billed <= cap
    for node in nodes:
        await node.runner.close()
