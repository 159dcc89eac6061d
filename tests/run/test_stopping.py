"""Every way to stop a run, and its resume."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, text

from pnyx.core.events import CallFailed, CallFinished, CallStarted, ToolCalled
from pnyx.core.tool_calls import ToolCall, ToolSpec
from pnyx.errors import Diverged, Fenced, Interrupted, StoreError, UsageError
from pnyx.providers.base import Call, Completion
from pnyx.run import journal
from pnyx.run.batch import Batch
from pnyx.run.handle import RunHandle
from pnyx.run.result import exit_code
from pnyx.store.records import appending, leases
from pnyx.store.records import runs as store
from pnyx.store.records.appending import Append, Last
from pnyx.tools import Toolbox
from tests.support.panels import Host
from tests.support.processes import PANEL, Node, account_of, fixed_reply, spec, well_formed
from tests.support.stored import as_json
from tests.support.waiting import STALL_S


async def test_a_call_ends_at_its_deadline_and_is_charged_as_reserved(
    make: Callable[[Host], Node],
) -> None:
    class Stuck(Host):
        async def complete(self, call: Call, on_text: Any = None) -> Any:
            if call.model == "small":
                await asyncio.sleep(60)
            return await super().complete(call, on_text)

    node = make(Stuck(fixed_reply))
    started_at = time.monotonic()
    handle = await node.start(options={"rounds": 1}, call_deadline_s=0.3)
    await handle.result()
    assert time.monotonic() - started_at < STALL_S
    failed = [e for e in await node.log(handle.run_id) if isinstance(e, CallFailed)]
    assert [(e.kind, e.final) for e in failed] == [("timeout", True)]
    assert failed[0].charged_usd
    assert (await account_of(node, handle.run_id)).reserved_nusd == 0


async def test_the_runs_deadline_pauses_it(make: Callable[[Host], Node]) -> None:
    class Tired(Host):
        """Replies to three requests, and to no more."""

        async def complete(self, call: Call, on_text: Any = None) -> Any:
            self.pause = 0.0 if len(self.sent) < 3 else 60.0
            return await super().complete(call, on_text)

    for seconds in (0.4, 4.0, 24.0):  # on a busy machine none replies within the first
        node = make(Tired(fixed_reply))
        handle = await node.start(deadline_s=seconds)
        paused = await handle.result()
        assert (paused.status, paused.stop_reason, exit_code(paused)) == ("paused", "deadline", 4)
        if paused.answer:
            break
    assert paused.answer
    node = make(Host(fixed_reply))
    done = await (await node.runner.resume(handle.run_id, deadline_s=60)).result()
    assert done.status == "decided"


async def test_the_runs_deadline_restarts_on_each_resume(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply, pause=0.15))
    handle = await node.start(deadline_s=0.4)
    result, pauses = await handle.result(), 0
    while result.status == "paused":
        pauses += 1
        assert (result.stop_reason, pauses < 200) == ("deadline", True)
        result = await (await node.runner.resume(handle.run_id)).result()
    assert (result.status, pauses > 0) == ("decided", True)


class Opening(Host):
    """A host whose SDK never finishes loading."""

    async def ensure_open(self) -> None:
        await asyncio.sleep(60)


class Looking:
    """A tool that never returns when it is first used."""

    spec = ToolSpec("look", "", {"type": "object"})

    def __init__(self) -> None:
        self.used: list[str] = []
        self.started = asyncio.Event()

    async def run(self, arguments: Any) -> str:
        self.used.append("begun")
        self.started.set()
        try:
            await asyncio.sleep(60 if len(self.used) == 1 else 0)
        except asyncio.CancelledError:
            self.used.append("cut off")
            raise
        return "found"


class Curious(Host):
    """Uses the tool before it replies."""

    async def complete(self, call: Call, on_text: Any = None) -> Completion:
        done = await super().complete(call, on_text)
        asks = call.tools and call.messages[-1].role != "tool"
        return replace(done, tool_calls=(ToolCall("1", "look", {}),)) if asks else done


async def looking(node: Node, tool: Looking, **changes: Any) -> RunHandle:
    node.runner.resources.toolbox = Toolbox({"look": tool})
    options = {"samples": 1}
    return await node.start(
        protocol="sample", options=options, seats=PANEL[:1], tools=("look",), tool_turns=2, **changes
    )


async def test_the_runs_deadline_holds_while_a_host_is_opened(make: Callable[[Host], Node]) -> None:
    node = make(Opening(fixed_reply))
    started_at = time.monotonic()
    handle = await node.start(deadline_s=0.2)
    paused = await handle.result()
    assert (paused.status, paused.stop_reason, node.host.sent) == ("paused", "deadline", [])
    assert time.monotonic() - started_at < STALL_S
    go_on = f"Resume with: pnyx resume {handle.run_id} --deadline SECONDS"
    assert paused.detail["message"] == f"The deadline of the run has passed. {go_on}"


async def test_an_interrupt_does_not_wait_for_a_host_to_be_opened(make: Callable[[Host], Node]) -> None:
    node = make(Opening(fixed_reply))
    handle = await node.start()
    await asyncio.sleep(0.1)
    handle.interrupt()
    async with asyncio.timeout(STALL_S):
        assert (await handle.result()).stop_reason == "interrupted"


@pytest.mark.parametrize("how", ["deadline", "interrupted"])
async def test_a_tool_is_cancelled_when_the_run_stops_and_used_again_on_resume(
    make: Callable[[Host], Node], how: str
) -> None:
    for seconds in (0.5, 4.0, 24.0):  # on a busy machine the tool is not used within the first
        node, tool = make(Curious(fixed_reply)), Looking()
        handle = await looking(node, tool, deadline_s=seconds if how == "deadline" else None)
        if how == "interrupted":
            await tool.started.wait()
            handle.interrupt()
        async with asyncio.timeout(seconds + STALL_S):
            paused = await handle.result()
        if tool.used:
            break
    assert (paused.status, paused.stop_reason, tool.used) == ("paused", how, ["begun", "cut off"])
    assert not any(isinstance(e, ToolCalled) for e in await node.log(handle.run_id))
    done = await (await node.runner.resume(handle.run_id, deadline_s=60)).result()
    (called,) = (e for e in await node.log(handle.run_id) if isinstance(e, ToolCalled))
    assert (exit_code(done), called.outcome, len(node.host.sent)) == (0, "found", 2)


async def test_an_interrupt_records_replies_in_flight_and_sends_nothing_more(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply, pause=0.1))
    handle = await node.start()
    async for event in handle.events():
        if isinstance(event, CallStarted) and event.phase == "challenge":
            handle.interrupt()
            break
    paused = await handle.result()
    assert (paused.stop_reason, exit_code(paused)) == ("interrupted", 130)
    log = await node.log(handle.run_id)
    well_formed(log, finished=False)
    finished = {e.key for e in log if isinstance(e, CallFinished)}
    assert {e.key for e in log if isinstance(e, CallStarted)} == finished
    sent = list(node.host.sent)
    assert (await (await node.runner.resume(handle.run_id)).result()).status == "decided"
    assert node.host.sent[: len(sent)] == sent
    assert len(set(node.host.sent)) == len(node.host.sent)


async def test_stopped_at_once_calls_in_flight_are_recorded_and_charged_on_resume(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply, pause=0.1))
    handle = await node.start(options={"rounds": 1})
    async for event in handle.events():
        if isinstance(event, CallStarted):
            handle.kill()
            break
    assert exit_code(await handle.result()) == 130
    resumed = await node.runner.resume(handle.run_id)
    result = await resumed.result()
    assert result.usage["calls"] == 5
    unknown = [e for e in await node.log(handle.run_id) if isinstance(e, CallFailed)]
    assert [(e.kind, e.attempt) for e in unknown] == [("unknown", 1)]
    assert unknown[0].charged_usd


async def test_resuming_a_finished_run_sends_nothing(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply))
    handle = await node.start(options={"rounds": 1})
    expected = await handle.result()
    sent = len(node.host.sent)
    resumed = await node.runner.resume(handle.run_id)
    assert await resumed.result() == expected
    assert [e async for e in resumed.events()] == await node.log(handle.run_id)
    assert len(node.host.sent) == sent


async def test_a_run_of_another_live_process_is_not_resumed(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply, pause=0.05))
    handle = await node.start()
    with pytest.raises(UsageError, match="still running"):
        await node.another_process(Host(fixed_reply)).runner.resume(handle.run_id)
    handle.kill()


async def test_a_process_whose_run_was_taken_over_can_write_nothing_more(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply, pause=0.1))
    handle = await node.start(options={"rounds": 1})
    await node.database.write(lambda c: leases.take(c, handle.run_id, "other:1:1", "now"))
    with pytest.raises(Fenced, match="taken over"):
        await handle.result()
    before = await node.log(handle.run_id)
    assert not any(isinstance(e, CallFinished) for e in before)


async def test_a_changed_prompt_diverges_and_a_fork_keeps_what_matches(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pnyx.protocols import consensus as page

    node = make(Host(fixed_reply))
    handle = await node.start(options={"rounds": 1}, budget_usd=0.0024)
    assert (await handle.result()).stop_reason == "budget"
    finished = [e for e in await node.log(handle.run_id) if isinstance(e, CallFinished)]
    assert finished
    monkeypatch.setattr(
        page,
        "CHALLENGE",
        page.CHALLENGE.__class__("x", "1", ("{", "proposal", "{", "framing", "")),
    )
    resumed = await node.runner.resume(handle.run_id, budget_usd=1.0)
    if any(e.phase == "challenge" for e in finished):
        with pytest.raises(Diverged, match="--fork"):
            await resumed.result()
    else:
        await resumed.result()
    fork = await node.runner.resume(handle.run_id, fork=True, budget_usd=1.0)
    assert fork.run_id != handle.run_id
    result = await fork.result()
    assert result.status == "decided"
    log = await node.log(fork.run_id)
    well_formed(log)
    assert any(isinstance(e, CallFinished) and e.copied and e.phase == "propose" for e in log)


async def test_cancel_ends_a_run_of_this_process_and_settles_its_reservations(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply, pause=0.2))
    handle = await node.start()
    async for event in handle.events():
        if isinstance(event, CallStarted):
            break
    await node.runner.cancel(handle.run_id[:6])
    result = await handle.result()
    assert (result.status, exit_code(result)) == ("cancelled", 1)
    well_formed(await node.log(handle.run_id))
    assert (await account_of(node, handle.run_id)).reserved_nusd == 0


async def test_cancel_reaches_a_run_of_another_process_within_a_second(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply, pause=60.0))
    handle = await node.start()
    other = node.another_process(Host(fixed_reply))
    started_at = time.monotonic()
    await other.runner.cancel(handle.run_id)
    result = await handle.result()
    assert result.status == "cancelled"
    assert time.monotonic() - started_at < STALL_S


async def test_cancel_ends_a_paused_run(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply))
    handle = await node.start(budget_usd=0.0015)
    await handle.result()
    await node.runner.cancel(handle.run_id)
    well_formed(await node.log(handle.run_id))
    row = await node.database.read(lambda c: store.find(c, handle.run_id))
    assert row.status == "cancelled"


async def test_a_run_that_starts_during_a_shutdown_sends_nothing(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply))
    starting = asyncio.create_task(node.start(options={"rounds": 1}))
    await asyncio.sleep(0)
    node.runner.drain(5)
    paused = await (await starting).result()
    assert (paused.status, paused.stop_reason, node.host.sent) == ("paused", "interrupted", [])
    batch = Batch(node.another_process(node.host).runner, "many")
    asking = asyncio.create_task(batch.run(spec(options={"rounds": 1})))
    await asyncio.sleep(0)
    batch.halt(Interrupted("enough"))
    with pytest.raises(Interrupted):
        await asking
    assert node.host.sent == []


async def test_a_run_that_could_not_be_written_is_released_and_can_be_resumed(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = make(Host(fixed_reply, pause=0.05))
    other = await node.start(options={"rounds": 3})
    handle = await node.start(options={"rounds": 1})
    real = appending.append_all

    def full(connection: Connection, units: Sequence[Append]) -> list[Last]:
        if any(unit.run_id == handle.run_id for unit in units):
            raise StoreError("the disk is full")
        return real(connection, units)

    monkeypatch.setattr(journal, "append_all", full)
    with pytest.raises(StoreError, match="full"):
        await handle.result()
    monkeypatch.undo()
    async with asyncio.timeout(STALL_S):
        while (await node.database.read(lambda c: store.find(c, handle.run_id))).status != "paused":  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert (await (await node.runner.resume(handle.run_id)).result()).status == "decided"
    assert (await other.result()).status == "decided"


async def test_a_run_that_is_stopped_before_its_first_step_says_so(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply))
    killed = await node.start(options={"rounds": 1})
    killed.kill()
    assert ((await killed.result()).status, node.host.sent) == ("paused", [])
    cancelled = await node.start(options={"rounds": 1})
    cancelled.cancel()
    assert ((await cancelled.result()).status, node.host.sent) == ("cancelled", [])
    assert (await (await node.runner.resume(killed.run_id)).result()).status == "decided"


async def test_a_stopped_batch_raises_the_same_error_for_every_question(make: Callable[[Host], Node]) -> None:
    batch = Batch(make(Host(fixed_reply)).runner, "many")
    batch.halt(Interrupted("enough"))
    depths = []
    for _ in range(3):
        with pytest.raises(Interrupted) as caught:
            await batch.run(spec())
        depths.append(len(caught.traceback))
    assert len(set(depths)) == 1


async def test_a_batch_with_current_repeats_runs_whose_prompts_have_changed(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply))

    async def sent(batch: Batch) -> int:
        before = len(node.host.sent)
        await batch.run(spec(options={"rounds": 1}))
        return len(node.host.sent) - before

    default, current = Batch(node.runner, "default"), Batch(node.runner, "current", current=True)
    assert [await sent(default), await sent(current)] == [4, 4]
    assert [await sent(default), await sent(current)] == [0, 0]
    await node.database.write(as_json)
    bodies = text("SELECT body FROM events WHERE type = 'call_started' ORDER BY seq")
    started = await node.database.read(lambda c: json.loads(c.execute(bodies).scalars().all()[0]))
    assert "consensus/propose" in started["prompt_id"]
    wording = {"now": started["prompt_sha256"], "then": "0" * 64}
    earlier = text("UPDATE events SET body = replace(body, :now, :then)")
    await node.database.write(lambda c: c.execute(earlier, wording))
    assert [await sent(default), await sent(current)] == [0, 4]
    assert [await sent(default), await sent(current)] == [0, 0]
