"""Changes between a read and a write: two processes, a cancel, a wait at a gate, a removed cap."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from pnyx.core.decision import Status
from pnyx.core.events import CallFailed, CallFinished, CallStarted, RunFinished
from pnyx.core.models import Price, Usage
from pnyx.errors import NotFound, ProviderError, Running
from pnyx.interfaces.views.records import read_run
from pnyx.protocols import get
from pnyx.providers.base import Call, Completion
from pnyx.providers.redaction import Redactor
from pnyx.run.calls.limits import Gate, Limits
from pnyx.run.context import RunContext
from pnyx.run.result import Result, exit_code
from pnyx.run.runner import CANCEL_TRIES
from pnyx.store.money import ledger
from pnyx.store.records import runs as store
from tests.support import virtual_time
from tests.support.panels import Host
from tests.support.processes import PANEL, Node, account_of, die, fixed_reply, spec, well_formed
from tests.support.stored import as_json
from tests.support.waiting import STALL_S, until

Make = Callable[[Host], Node]


@asynccontextmanager
async def locked(path: Path) -> AsyncIterator[None]:
    """Another process writes during this block."""
    other = sqlite3.connect(path, timeout=5, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("COMMIT")
        other.close()


async def test_a_run_that_continued_after_it_was_read_is_not_taken(make: Make) -> None:
    one, two = make(Host(fixed_reply, pause=0.05)), make(Host(fixed_reply))
    handle = await one.start(options={"rounds": 1})
    await one.runner.ownership.keeper.close()
    lapsed = {"heartbeat_at": time.time() - 31, "worker": "elsewhere:1:1"}
    await two.database.write(lambda c: store.patch(c, handle.run_id, lapsed))
    prepare = two.runner.resources.prepare

    async def meanwhile(spec: Any) -> Any:
        await handle.result()
        return await prepare(spec)

    two.runner.resources.prepare = meanwhile  # type: ignore[method-assign]
    with pytest.raises(Running):
        await two.runner.resume(handle.run_id)
    assert two.host.sent == []
    well_formed(await two.log(handle.run_id))
    assert (await account_of(two, handle.run_id)).reserved_nusd == 0
    assert (await (await two.runner.resume(handle.run_id)).result()).status == "decided"


async def test_a_cancel_while_an_intent_is_committed_leaves_nothing_reserved(
    make: Make, tmp_path: Path
) -> None:
    node = make(Host(fixed_reply, pause=0.01))
    handle = await node.start(options={"rounds": 2}, owner="ann")
    async for event in handle.events():
        if isinstance(event, CallFinished):
            break
    async with locked(tmp_path / "pnyx.db"):
        await asyncio.sleep(0.1)
        handle.cancel()
        await asyncio.sleep(0.1)
    assert (await handle.result()).status == "cancelled"
    for scope in (f"run:{handle.run_id}", "key:ann"):
        account = await node.database.read(partial(ledger.read_account, scope=scope))
        assert account.reserved_nusd == 0
    log = await node.log(handle.run_id)
    started = {(e.key, e.attempt) for e in log if isinstance(e, CallStarted)}
    assert {(e.key, e.attempt) for e in log if isinstance(e, CallFinished | CallFailed)} == started


async def test_a_cancel_of_a_run_that_is_pausing_ends_it(make: Make, tmp_path: Path) -> None:
    node = make(Host(fixed_reply, pause=0.02))
    handle = await node.start(options={"rounds": 2}, budget_usd=0.0035)
    while not handle._is_ending:  # noqa: ASYNC110
        await asyncio.sleep(0)
    async with locked(tmp_path / "pnyx.db"):
        ending = asyncio.create_task(node.runner.cancel(handle.run_id))
        await asyncio.sleep(0.1)
    assert await ending == handle.run_id
    assert (await node.database.read(lambda c: store.find(c, handle.run_id))).status == "cancelled"


async def test_a_cancelled_start_leaves_a_run_that_can_be_resumed(make: Make, tmp_path: Path) -> None:
    node = make(Host(fixed_reply))
    async with locked(tmp_path / "pnyx.db"):
        starting = asyncio.create_task(node.runner.start(spec(options={"rounds": 1})))
        await until(lambda: node.database._writer is not None)  # it waits for the other process
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting

    async def paused() -> list[str]:
        return [row.id for row in await node.database.read(store.listing) if row.status == "paused"]

    resumed = await node.runner.resume(*await until(paused))
    assert (await resumed.result()).status == "decided"


async def test_a_failed_takeover_does_not_release_the_owners_run(make: Make, tmp_path: Path) -> None:
    node = make(Host(fixed_reply, pause=0.3))
    handle = await node.start(options={"rounds": 1}, budget_usd=1e-6)
    assert (await handle.result()).status == "paused"
    with suppress(TimeoutError):
        async with locked(tmp_path / "pnyx.db"), asyncio.timeout(0.3):
            await asyncio.gather(*(node.runner.resume(handle.run_id, budget_usd=1.0) for _ in range(2)))
    # Both were cancelled: the one that took the run releases it, the other has nothing to release.
    await until(lambda: not node.runner.ownership.keeper._unreleased)
    assert (await node.database.read(lambda c: store.find(c, handle.run_id))).status == "paused"
    second = await node.runner.resume(handle.run_id, budget_usd=1.0)
    node.runner.ownership.keeper.release_later(handle.run_id, [])
    elsewhere = {"worker": "elsewhere:1:1"}
    await node.database.write(lambda c: store.patch(c, handle.run_id, elsewhere))
    node.runner.ownership.keeper.release_later(handle.run_id, [second.context.journal.epoch])
    await until(lambda: not node.runner.ownership.keeper._unreleased)
    row = await node.database.read(lambda c: store.find(c, handle.run_id))
    assert (row.status, row.worker) == ("running", "elsewhere:1:1")
    assert (await second.result()).status == "decided"


@pytest.mark.parametrize("gate", [Gate(8, per_minute=1), Gate(1)], ids=["rate", "concurrency"])
async def test_waiting_at_the_gate_ends_at_the_deadline_and_on_an_interrupt(make: Make, gate: Gate) -> None:
    node = make(Host(fixed_reply, pause=60.0))
    node.runner.resources.gates["h"] = gate
    await node.start(options={"rounds": 1})
    await asyncio.sleep(0.1)
    started_at = time.monotonic()
    late = await node.start(options={"rounds": 1}, deadline_s=0.5)
    assert (await late.result()).stop_reason == "deadline"
    stopped = await node.start(options={"rounds": 1})
    await asyncio.sleep(0.1)
    stopped.interrupt()
    assert (await stopped.result()).stop_reason == "interrupted"
    assert time.monotonic() - started_at < STALL_S
    assert len(node.host.sent) == 1


async def test_a_cancelled_wait_at_a_gate_frees_its_slot() -> None:
    gate, halt = Gate(1), asyncio.get_running_loop().create_future()
    async with gate.call() as inside:
        assert inside
        async with gate.call(within=0.01) as late:
            assert not late
        asyncio.get_running_loop().call_later(0.01, halt.set_result, None)
        async with gate.call(halt) as stopped:
            assert not stopped
        leaving = asyncio.create_task(gate.call().__aenter__())
        await asyncio.sleep(0)
        leaving.cancel()
    async with asyncio.timeout(STALL_S), gate.call(halt) as second:
        assert second
    assert not gate.full


def test_a_cancelled_wait_at_a_gate_does_not_count_against_its_rate() -> None:
    async def waits() -> float:
        gate, clock = Gate(8, per_minute=300), asyncio.get_running_loop().time

        async def entered(within: float) -> bool:
            async with gate.call(within=within) as slot:
                return slot is not None

        assert await entered(1)
        assert not any(await asyncio.gather(*(entered(0.01) for _ in range(20))))
        started_at = clock()
        assert await asyncio.gather(*(entered(5) for _ in range(3))) == [True] * 3
        return clock() - started_at

    assert 0.4 <= virtual_time.run(waits()) < 1.5


async def test_a_run_keeps_its_first_cap_even_if_another_process_removes_it(make: Make) -> None:
    capped, free = make(Host(fixed_reply, pause=0.02)), make(Host(fixed_reply))
    handle = await capped.start(options={"rounds": 3}, day_usd=0.004, key_usd=0.004)
    await (await free.start(options={"rounds": 1}, owner="local")).result()
    result = await handle.result()
    assert (result.status, result.stop_reason) == ("paused", "budget")
    assert (await account_of(capped, handle.run_id)).spent_nusd <= 4_000_000


class Parted(Host):
    """Plans two parts; two of three seats lose their keys in the first one."""

    stuck = False

    async def complete(self, call: Call, on_text: Any = None) -> Completion:
        prompt = call.messages[-1].text
        self.sent.append(call.model)
        if call.model == "large" or (call.model == "mid" and "FIRST" in prompt):
            raise ProviderError("auth", "revoked")
        parts = [{"label": x, "question": f"What of the {x} part?"} for x in ("FIRST", "second")]
        text = "It is so. Final answer: 4" if len(self.sent) > 1 else json.dumps({"subtasks": parts})
        if self.stuck and call.model == "small" and len(self.sent) > 1:
            await asyncio.sleep(60)
        return Completion(text, Usage(10, 0, 10, 0))


async def test_a_lost_quorum_is_lost_on_a_replay_too(make: Make) -> None:
    seats = tuple(
        replace(seat, price=Price(1.0, out)) for seat, out in zip(PANEL, (9.0, 6.0, 3.0), strict=True)
    )
    page = get("decompose")
    request = replace(
        spec(seats=seats),
        protocol="decompose",
        options=page.resolve_options({"inner": "single"}),
        limits=Limits(30, 200, 0),
    )
    whole = make(Parted(fixed_reply))
    result = await (await whole.runner.start(request)).result()
    first = make(Parted(fixed_reply))
    handle = await first.runner.start(request)
    while first.host.sent.count("mid") < 1:  # noqa: ASYNC110 (the host has no event for it)
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    handle.kill()
    await handle.result()
    second = make(Parted(fixed_reply))
    second.host.sent += first.host.sent
    resumed = await (await second.runner.resume(handle.run_id)).result()
    assert (resumed.status, resumed.stop_reason) == (result.status, result.stop_reason)
    well_formed(await second.log(handle.run_id))


async def test_the_last_event_of_a_paused_run_has_no_seq(make: Make) -> None:
    node = make(Host(fixed_reply))
    handle = await node.start(options={"rounds": 3}, budget_usd=0.004)
    last = [event async for event in handle.events()][-1]
    assert isinstance(last, RunFinished)
    assert (last.status, last.seq) == ("paused", None)
    second = await node.runner.resume(handle.run_id, budget_usd=1.0)
    numbers = [event.seq async for event in second.events()]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_the_elapsed_time_of_a_killed_process_counts(make: Make) -> None:
    node = make(Host(fixed_reply, pause=0.3, die_before=2))
    handle = await node.start(options={"rounds": 1})
    await die(node, handle)
    second = node.another_process(Host(fixed_reply))
    result = await (await second.runner.resume(handle.run_id)).result()
    await second.stop()
    await second.runner.ownership.keeper.close()
    assert result.elapsed_s >= 0.3


async def test_the_deadline_and_elapsed_time_of_a_resume_outlast_its_process(make: Make) -> None:
    node = make(Host(fixed_reply, pause=0.3))
    handle = await node.start(options={"rounds": 1}, deadline_s=0.2)
    paused = await handle.result()
    assert paused.stop_reason == "deadline"
    node.host.die_before = 3
    handle = await node.runner.resume(handle.run_id, deadline_s=60)
    await die(node, handle)
    stored = (await node.database.read(lambda c: read_run(c, handle.run_id))).result
    assert (stored.status, stored.elapsed_s >= paused.elapsed_s + 0.29) == ("paused", True)
    second = make(Host(fixed_reply))
    result = await (await second.runner.resume(handle.run_id)).result()
    assert (result.status, result.elapsed_s >= stored.elapsed_s) == ("decided", True)


async def test_the_time_without_a_process_does_not_count(make: Make) -> None:
    node = make(Host(fixed_reply, die_before=2))
    handle = await node.start(options={"rounds": 1})
    for kills in (3, None):  # killed twice, each time a day before the resume
        await die(node, handle)
        day = text(
            "UPDATE events SET body = json_set(body, '$.time', "
            "strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(body, '$.time'), '-1 day'))"
        )
        await node.database.write(as_json)
        await node.database.write(lambda c, day=day: c.execute(day))  # type: ignore[misc]
        row = text("UPDATE runs SET updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', updated_at, '-1 day')")
        await node.database.write(lambda c, row=row: c.execute(row))  # type: ignore[misc]
        node.host.die_before = kills
        handle = await node.runner.resume(handle.run_id)
    assert (await handle.result()).elapsed_s < 60


async def test_a_run_whose_protocol_is_not_installed_can_be_cancelled_and_is_not_taken_otherwise(
    make: Make,
) -> None:
    node = make(Host(fixed_reply))
    handle = await node.start(options={"rounds": 1}, budget_usd=1e-9)
    await handle.result()
    row = await node.database.read(lambda c: store.find(c, handle.run_id))
    changed = {"spec": {**row.spec, "protocol": "thirdparty"}}
    await node.database.write(lambda c: store.patch(c, handle.run_id, changed))
    with pytest.raises(NotFound, match="thirdparty"):
        await node.runner.resume(handle.run_id)
    same = await node.database.read(lambda c: store.find(c, handle.run_id))
    assert (same.status, same.epoch) == ("paused", row.epoch)
    await node.runner.cancel(handle.run_id)
    assert (await node.database.read(lambda c: store.find(c, handle.run_id))).status == "cancelled"
    well_formed(await node.log(handle.run_id))


async def test_a_run_that_was_taken_and_not_started_is_released_after_any_error(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = make(Host(fixed_reply))
    handle = await node.start(options={"rounds": 1}, budget_usd=1e-9)
    await handle.result()
    monkeypatch.setattr(RunContext, "write_off", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        await node.runner.resume(handle.run_id)
    monkeypatch.undo()
    await until(lambda: not node.runner.ownership.keeper._unreleased)
    assert (await node.database.read(lambda c: store.find(c, handle.run_id))).status == "paused"


async def test_a_key_in_a_reply_is_masked_before_it_is_read(make: Make) -> None:
    node = make(Host(lambda call: "My key is sk-very-secret. Final answer: yes"))
    node.runner.providers.redact_replies = Redactor(["sk-very-secret"])
    handle = await node.start(options={"rounds": 1})
    result = await handle.result()
    assert result.answer == "My key is [redacted]. Final answer: yes"
    assert all("sk-very-secret" not in str(event) for event in await node.log(handle.run_id))


async def test_the_loading_time_of_an_sdk_is_not_part_of_a_calls_time(make: Make) -> None:
    class Slow(Host):
        opening = 0

        async def ensure_open(self) -> None:
            self.opening += 1
            await asyncio.sleep(0.5 if self.opening == 1 else 0)

    node = make(Slow(fixed_reply))
    result = await (await node.start(options={"rounds": 1}, call_deadline_s=0.3)).result()
    assert (result.status, result.degraded) == ("decided", False)


def test_without_consensus_require_consensus_exits_with_3() -> None:
    stored: dict[str, Any] = {"run_id": "x", "protocol": "deliberate", "question": "?", "answer": "a"}
    ended: tuple[tuple[Status, str, bool | None, int], ...] = (
        ("consensus", "unanimous", True, 0),
        ("majority", "consensus", True, 0),
        ("majority", "stuck", False, 3),
        ("majority", "max_rounds", False, 3),
        ("consensus", "max_rounds", False, 3),
        # In a vote that does not end a debate a majority is enough, unanimous or not.
        ("majority", "judged", False, 0),
        ("majority", "judged", None, 0),
        ("plurality", "judged", False, 3),
    )
    for status, stop, reached, code in ended:
        result = Result(
            **stored, seats=(), usage={}, status=status, stop_reason=stop, consensus_reached=reached
        )
        assert exit_code(result, require_consensus=True) == code


async def test_cancelling_a_run_that_workers_keep_taking_ends_with_an_error(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, looks = make(Host(fixed_reply)), 0
    handle = await node.start(options={"rounds": 1})
    await handle.result()

    async def lost_race(row: store.RunRow) -> bool:
        nonlocal looks
        looks += 1
        return False

    monkeypatch.setattr(node.runner, "_try_cancel", lost_race)
    with pytest.raises(Running, match="pnyx cancel"):
        await node.runner.cancel(handle.run_id)
    assert looks == CANCEL_TRIES
