"""A run whose lease cannot be renewed is stopped by its own process, whatever the reason."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, cast

import pytest

from pnyx.errors import StoreError
from pnyx.run.leases import lease_keeper
from pnyx.run.leases.lease_keeper import LeaseKeeper
from pnyx.store import Database
from pnyx.store.records import leases
from pnyx.store.records import runs as store
from tests.support.panels import Host
from tests.support.processes import Node, fixed_reply, well_formed
from tests.support.waiting import STALL_S, until


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_keeper, "POLL_S", 0.02)
    monkeypatch.setattr(lease_keeper, "BEAT_S", 0.02)
    monkeypatch.setattr(lease_keeper, "LEASE_S", 0.4)


class Steady:
    """A monotonic clock without the seconds in which the machine stalls, in which no lease can be renewed."""

    def __init__(self) -> None:
        self.at = self.seen = time.monotonic()

    def monotonic(self) -> float:
        self.seen, before = time.monotonic(), self.seen
        self.at += min(self.seen - before, 0.1)
        return self.at


FAILURES = (RuntimeError("a bug"), KeyError("heartbeat_at"))


@pytest.mark.parametrize("failure", FAILURES, ids=repr)
async def test_a_failed_renewal_stops_the_run_and_says_why(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def broken(*_: Any) -> None:
        raise failure

    node = make(Host(fixed_reply, pause=1.2))
    monkeypatch.setattr(leases, "beat", broken)
    handle = await node.start(options={"rounds": 1})
    async with asyncio.timeout(STALL_S):
        result = await handle.result()
    assert (result.status, result.stop_reason) == ("paused", "interrupted")
    assert "lease could not be renewed" in result.detail["message"]
    assert f"pnyx resume {handle.run_id}" in result.detail["message"]
    # The keeper continues: the lease is renewed again, and the run can be resumed.
    monkeypatch.undo()
    node.host.pause = 0.0
    resumed = await (await node.runner.resume(handle.run_id)).result()
    assert resumed.status == "decided"
    well_formed(await node.log(handle.run_id))


async def test_a_temporary_failure_stops_nothing(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    beat, failures = leases.beat, 0

    def shaky(*arguments: Any) -> None:
        nonlocal failures
        failures += 1
        if failures % 3:
            raise RuntimeError("a bug")
        beat(*arguments)

    monkeypatch.setattr(leases, "beat", shaky)
    # The run takes longer than its lease, so that it ends early unless some renewals succeed.
    monkeypatch.setattr(lease_keeper, "LEASE_S", 1.5)
    monkeypatch.setattr(lease_keeper, "time", Steady())
    node = make(Host(fixed_reply, pause=0.6))
    handle = await node.start(options={"rounds": 1})
    assert (await handle.result()).status == "decided"
    assert failures > 3


async def test_a_renewal_that_hangs_is_a_failure(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = make(Host(fixed_reply, pause=1.2))
    handle = await node.start(options={"rounds": 1})
    read = node.database.read

    async def hanging(work: Any) -> Any:
        await asyncio.sleep(60)
        return await read(work)

    monkeypatch.setattr(node.database, "read", hanging)
    monkeypatch.setattr(node.database, "write", hanging)
    async with asyncio.timeout(STALL_S):
        result = await handle.result()
    assert "lease could not be renewed" in result.detail["message"]


class Clock:
    """A monotonic clock that only the test moves."""

    def __init__(self) -> None:
        self.at = 100.0

    def monotonic(self) -> float:
        return self.at


class Running:
    """A run that notes why it was interrupted."""

    def __init__(self, started_at: float) -> None:
        self.started_at, self.interrupts = started_at, list[str]()
        self.interrupt = self.interrupts.append


class Outage:
    """A database that takes `takes_s` seconds for the first heartbeat, and is away from then on."""

    def __init__(self, clock: Clock, takes_s: float) -> None:
        self.clock, self.takes_s, self.writes = clock, takes_s, 0

    async def write(self, work: object) -> None:
        self.writes += 1
        if self.writes > 1:
            raise StoreError("away")
        self.clock.at += self.takes_s

    async def read(self, work: object) -> dict[str, str]:
        return {}

    async def compare_clocks(self) -> None: ...


async def test_a_lease_lasts_from_the_start_of_its_last_renewal_and_a_new_run_has_one_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(lease_keeper, "time", clock)
    database, old, new = Outage(clock, takes_s=0.3), Running(started_at=100.0), Running(started_at=100.2)
    handles: Any = {"old": old, "new": new}
    keeper = LeaseKeeper(cast(Database, database), "me", handles, "paused")
    clock.at = 100.1
    keeper.start()
    await until(lambda: database.writes > 2)
    assert (old.interrupts, new.interrupts) == ([], [])
    clock.at = 100.55
    await until(lambda: bool(old.interrupts))
    assert "could not be renewed for 0.4 s (away)" in old.interrupts[0]
    assert new.interrupts == []
    await keeper.close()


@pytest.mark.parametrize("ahead", [-3_600.0, 3_600.0], ids=["past", "future"])
async def test_a_heartbeat_far_from_now_holds_no_run(make: Callable[[Host], Node], ahead: float) -> None:
    node = make(Host(fixed_reply))
    handle = await node.start(options={"rounds": 1}, budget_usd=1e-6)
    await handle.result()
    left = {"status": "running", "worker": "elsewhere:1:1", "heartbeat_at": time.time() + ahead}
    await node.database.write(lambda c: store.patch(c, handle.run_id, left))
    resumed = await node.runner.resume(handle.run_id, budget_usd=1.0)
    assert (await resumed.result()).status == "decided"
    other = await node.start(options={"rounds": 1}, budget_usd=1e-6)
    await other.result()
    await node.database.write(lambda c: store.patch(c, other.run_id, left))
    assert await node.runner.cancel(other.run_id) == other.run_id
    assert (await node.database.read(lambda c: store.find(c, other.run_id))).status == "cancelled"
