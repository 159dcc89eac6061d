"""Protocols on the drive loop, with a handler that replies at once: no database, no host."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pnyx.core.models import Seat
from pnyx.core.phases import START, Phases, Transition
from pnyx.core.protocol import Protocol
from pnyx.core.steps import Abstain, Ask, Brief, Decision, Enter, Panel, Reply, Tally, Use
from pnyx.core.text import Draft
from pnyx.core.tool_calls import ToolResult
from pnyx.errors import Halted, IllegalPhase, NoQuorum, ScriptError, SeatAbsent, StoreError
from pnyx.run.drive import Where, drive
from tests.support.panels import seats
from tests.support.waiting import STALL_S

PANEL = Panel(seats("a:1", "b:1", "c:1"))
BRIEF = Brief("Q?", "2026-01-01")
A, B, C = PANEL.seats


class Handler:
    """Replies "<seat> <prompt>" and records keys; seats in `absent` do not reply."""

    def __init__(self, absent: tuple[str, ...] = (), slow: dict[str, float] | None = None) -> None:
        self.absent, self.slow = absent, slow or {}
        self.keys: list[str] = []
        self.entered: list[tuple[str, str, int]] = []
        self.order: list[str] = []
        self.closed: list[tuple[str, int]] = []
        self.followed: list[str] = []

    async def ask(self, key: str, ask: Ask, where: Where) -> Reply:
        self.keys.append(key)
        await asyncio.sleep(self.slow.get(ask.prompt.text.strip(), 0))
        self.order.append(ask.prompt.text.strip())
        if ask.seat.model in self.absent:
            raise SeatAbsent("down")
        return Reply(ask, f"{ask.seat.model} {ask.prompt.text.strip()}")

    async def use(self, key: str, step: Use, where: Where) -> ToolResult:
        self.keys.append(key)
        return ToolResult(f"{step.tool}: {step.arguments}")

    async def tally(self, key: str, step: Tally, where: Where) -> None:
        self.keys.append(key)

    async def abstain(self, key: str, step: Abstain, where: Where) -> None:
        self.keys.append(key)

    async def close(self, key: str, late: Sequence[int], where: Where) -> None:
        self.closed = [(key, n) for n in late]

    def follow(self, protocol: str, options: Mapping[str, Any]) -> None:
        self.followed.append(protocol)

    async def enter(self, key: str, step: Enter, where: Where) -> None:
        self.keys.append(key)
        self.entered.append((where.protocol, where.phase, where.round))


def protocol(script: Any, *phases: tuple[str, str], name: str = "p") -> Protocol:
    return Protocol(name, "", Phases(tuple(Transition(a, b) for a, b in phases)), script)


def ask(seat: Seat, text: str) -> Ask:
    return PANEL.ask(seat, Draft("t", "0", (text,)))


async def run(script: Any, *phases: tuple[str, str], handler: Handler | None = None, **inner: Any) -> Any:
    def resolve(name: str, brief: Brief) -> tuple[Protocol, Brief]:
        return inner[name], brief

    return await drive(protocol(script, *phases), BRIEF, PANEL, handler or Handler(), resolve)


async def test_a_late_branch_is_closed_once_the_outcome_is_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pnyx.run.drive.GRACE_S", 0.05)
    handler = Handler(slow={"late": 60.0})

    async def script(brief: Brief, panel: Panel) -> Decision:
        asks = [ask(A, "one"), ask(B, "late"), ask(C, "two")]
        replies = await panel.all(asks, 2, lambda replies: len(replies) > 1)
        return Decision(answer=", ".join(reply.text for reply in replies))

    done = await asyncio.wait_for(run(script, handler=handler), STALL_S)
    assert done.answer == "a:1 one, c:1 two"
    assert handler.closed == [("/0", 1)]


async def test_an_error_while_a_late_branch_is_closed_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pnyx.run.drive.GRACE_S", 0.05)

    class Broken(Handler):
        async def ask(self, key: str, ask: Ask, where: Where) -> Reply:
            try:
                return await super().ask(key, ask, where)
            except asyncio.CancelledError:
                raise StoreError("the disk is gone") from None

    async def script(brief: Brief, panel: Panel) -> Decision:
        asks = [ask(A, "one"), ask(B, "late"), ask(C, "two")]
        return Decision(answer=str(len(await panel.all(asks, 2, lambda replies: len(replies) > 1))))

    with pytest.raises(StoreError, match="the disk is gone"):
        await asyncio.wait_for(run(script, handler=Broken(slow={"late": 60.0})), STALL_S)


async def test_a_late_branch_that_ends_in_time_counts() -> None:
    handler = Handler(slow={"late": 0.05})

    async def script(brief: Brief, panel: Panel) -> Decision:
        asks = [ask(A, "one"), ask(B, "late"), ask(C, "two")]
        return Decision(answer=str(len(await panel.all(asks, 2, lambda replies: len(replies) > 1))))

    assert (await run(script, handler=handler)).answer == "3"
    assert handler.closed == []


async def test_without_enough_every_branch_is_awaited() -> None:
    handler = Handler(slow={"late": 0.05})

    async def script(brief: Brief, panel: Panel) -> Decision:
        asks = [ask(A, "one"), ask(B, "late")]
        return Decision(answer=str(len(await panel.all(asks, 2, lambda replies: len(replies) > 1))))

    assert (await run(script, handler=handler)).answer == "2"


async def test_keys_are_positions_in_the_tree_of_steps() -> None:
    async def child(brief: Brief, panel: Panel) -> Decision:
        await panel.enter("x")
        return Decision(answer=(await ask(A, "inner")).text)

    async def branch(text: str) -> str:
        first = await ask(A, text)
        return (await ask(B, first.text)).text

    async def script(brief: Brief, panel: Panel) -> Decision:
        await ask(A, "zero")
        branches: list[Any] = [ask(A, "one.0"), branch("one.1")]
        await panel.all(branches)
        return await panel.run("child", brief)

    handler = Handler()
    inner = protocol(child, (START, "x"), name="child")
    decision = await run(script, handler=handler, child=inner)
    assert decision.answer == "a:1 inner"
    assert handler.keys == ["/0", "/1.0", "/1.1/0", "/1.1/1", "/2/child/0", "/2/child/1"]


async def test_keys_do_not_depend_on_the_order_of_completion() -> None:
    async def branch(i: int) -> str:
        await ask(A, f"first {i}")
        return (await ask(B, f"second {i}")).text

    async def script(brief: Brief, panel: Panel) -> Decision:
        return Decision(answer=" ".join(await panel.all([branch(i) for i in range(3)])))

    slow_first, slow_last = Handler(slow={"first 0": 0.02}), Handler(slow={"first 2": 0.02})
    one, other = await run(script, handler=slow_first), await run(script, handler=slow_last)
    assert one == other
    assert sorted(slow_first.keys) == sorted(slow_last.keys)


async def test_all_drops_absentees_and_keeps_the_order() -> None:
    async def script(brief: Brief, panel: Panel) -> Decision:
        replies = await panel.all([ask(s, "x") for s in panel.seats], quorum=2)
        return Decision(answer=",".join(r.seat.model for r in replies))

    assert (await run(script, handler=Handler(absent=("b:1",)))).answer == "a:1,c:1"


async def test_all_below_its_quorum_raises_and_says_where() -> None:
    async def script(brief: Brief, panel: Panel) -> Decision:
        await panel.enter("vote")
        await panel.all([ask(s, "x") for s in panel.seats], quorum=3)
        return Decision(answer="")

    with pytest.raises(NoQuorum, match="p, vote: 2 of 3 answered, 3 needed"):
        await run(script, (START, "vote"), handler=Handler(absent=("b:1",)))


async def test_a_protocol_may_handle_an_absent_seat() -> None:
    async def script(brief: Brief, panel: Panel) -> Decision:
        reply = await panel.first(panel.seats, Draft("t", "0", ("x",)))
        return Decision(answer=reply.seat.model)

    assert (await run(script, handler=Handler(absent=("a:1",)))).answer == "b:1"


async def test_graph_starts_a_node_when_its_own_needs_are_done() -> None:
    def node(text: str) -> Any:
        return lambda results: ask(A, text)

    async def script(brief: Brief, panel: Panel) -> Decision:
        done = await panel.graph(
            {
                "slow": ((), node("slow")),
                "fast": ((), node("fast")),
                "after fast": (("fast",), node("after fast")),
                "after both": (("slow", "after fast"), node("after both")),
            }
        )
        return Decision(answer=",".join(done))

    handler = Handler(slow={"slow": 0.05})
    decision = await run(script, handler=handler)
    assert handler.order == ["fast", "after fast", "slow", "after both"]
    assert decision.answer == "slow,fast,after fast,after both"


async def test_graph_leaves_out_what_needs_a_failed_node() -> None:
    async def script(brief: Brief, panel: Panel) -> Decision:
        done = await panel.graph(
            {
                "x": ((), lambda results: ask(B, "x")),
                "y": (("x",), lambda results: ask(A, "y")),
                "z": ((), lambda results: ask(A, "z")),
            }
        )
        return Decision(answer=",".join(done))

    assert (await run(script, handler=Handler(absent=("b:1",)))).answer == "z"


async def test_of_branches_that_fail_together_each_error_is_retrieved_and_one_is_raised() -> None:
    class Broken(Handler):
        async def ask(self, key: str, ask: Ask, where: Where) -> Reply:
            try:
                await super().ask(key, ask, where)
            finally:
                raise StoreError(f"full at {key}")

    async def script(brief: Brief, panel: Panel) -> Decision:
        await panel.all([ask(seat, "x" if seat is not C else "slow") for seat in panel.seats])
        return Decision(answer="")

    unheard: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: unheard.append(context))
    with pytest.raises(StoreError, match=r"full at /0\.0"):
        await run(script, handler=Broken(slow={"slow": 5.0}))
    gc.collect()
    await asyncio.sleep(0)
    assert unheard == []


async def test_a_graph_with_a_cycle_is_refused() -> None:
    async def script(brief: Brief, panel: Panel) -> Decision:
        await panel.graph({"x": (("y",), lambda g: ask(A, "x")), "y": (("x",), lambda g: ask(A, "y"))})
        return Decision(answer="")

    with pytest.raises(ScriptError, match="cycle"):
        await run(script)


async def test_a_graph_that_needs_a_node_it_lacks_is_refused() -> None:
    async def script(brief: Brief, panel: Panel) -> Decision:
        await panel.graph({"x": (("y",), lambda g: ask(A, "x"))})
        return Decision(answer="")

    with pytest.raises(ScriptError, match=r"lacks: \['y'\]"):
        await run(script)


async def test_awaiting_anything_but_the_panel_is_refused() -> None:
    async def script(brief: Brief, panel: Panel) -> Decision:
        await asyncio.sleep(0.001)
        return Decision(answer="")

    with pytest.raises(ScriptError, match="may only await its panel"):
        await run(script)


async def test_the_phase_table_is_checked_on_every_phase() -> None:
    async def script(brief: Brief, panel: Panel) -> Decision:
        await panel.enter("late")
        return Decision(answer="")

    with pytest.raises(IllegalPhase, match="late cannot follow idle; allowed: early"):
        await run(script, (START, "early"), ("early", "late"))


async def test_a_parallel_branch_may_not_change_the_phase() -> None:
    async def branch(panel: Panel) -> None:
        await panel.enter("x")

    async def script(brief: Brief, panel: Panel) -> Decision:
        await panel.all([branch(panel)])
        return Decision(answer="")

    with pytest.raises(ScriptError, match="parallel branch"):
        await run(script, (START, "x"))


@pytest.mark.parametrize("closing", [True, False])
async def test_it_is_said_which_protocol_answers_in_place_of_that_of_the_run(closing: bool) -> None:
    async def child(brief: Brief, panel: Panel) -> Decision:
        return Decision(answer="child's")

    async def script(brief: Brief, panel: Panel) -> Decision:
        await panel.all([panel.run("child", brief, closing=True)])  # one of several
        return await panel.run("child", brief, closing=closing)

    handler = Handler()
    await run(script, handler=handler, child=protocol(child, name="child"))
    assert handler.followed == ["child"] * closing


async def test_a_halt_lets_calls_in_flight_be_recorded_first() -> None:
    class Halting(Handler):
        async def ask(self, key: str, ask: Ask, where: Where) -> Reply:
            if ask.prompt.text.strip() == "halt":
                raise Halted("enough")
            return await super().ask(key, ask, where)

    async def script(brief: Brief, panel: Panel) -> Decision:
        await panel.all([ask(A, "slow"), ask(B, "halt")])
        return Decision(answer="")

    handler = Halting(slow={"slow": 0.03})
    with pytest.raises(Halted):
        await run(script, handler=handler)
    assert handler.order == ["slow"]


async def test_an_error_cancels_the_other_branches() -> None:
    class Failing(Handler):
        async def ask(self, key: str, ask: Ask, where: Where) -> Reply:
            if ask.prompt.text.strip() == "bug":
                raise ValueError("bug")
            return await super().ask(key, ask, where)

    async def script(brief: Brief, panel: Panel) -> Decision:
        await panel.all([ask(A, "slow"), ask(B, "bug")])
        return Decision(answer="")

    handler = Failing(slow={"slow": 60.0})
    with pytest.raises(ValueError, match="bug"):
        await asyncio.wait_for(run(script, handler=handler), STALL_S)
    assert handler.order == []


def test_a_protocol_can_be_driven_by_hand_without_a_loop() -> None:
    async def script(brief: Brief, panel: Panel) -> Decision:
        await panel.enter("vote")
        votes = await panel.all([ask(s, "x") for s in panel.seats])
        return Decision(answer=votes[0].text)

    coroutine = script(BRIEF, PANEL)
    assert coroutine.send(None) == Enter("vote")
    everyone: Any = coroutine.send(None)
    assert [branch.seat for branch in everyone.branches] == list(PANEL.seats)
    with pytest.raises(StopIteration) as stop:
        coroutine.send([Reply(everyone.branches[0], "yes")])
    assert stop.value.value.answer == "yes"
