"""A parallel step closes its late branches once its outcome is certain, also on resume."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pnyx.core.events import BranchesClosed, CallFailed, CallFinished, CallStarted, VoteTallied
from pnyx.core.models import Seat, Usage
from pnyx.core.steps import Brief, Decision, Panel, Reply
from pnyx.core.text import Draft
from pnyx.protocols import get
from pnyx.providers.base import Call, Completion
from pnyx.run.calls.limits import Limits
from pnyx.run.spec import Spec
from tests.support.panels import Host
from tests.support.processes import PANEL, Node, account_of, spec, well_formed
from tests.support.waiting import STALL_S


class Council(Host):
    """Every seat endorses the first proposal and approves; `small` never answers a ballot."""

    def __init__(self) -> None:
        super().__init__(lambda call: "")
        self.balloted: list[str] = []

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        self.sent.append(f"{call.model} {call.messages[-1].text}")
        text = f"{call.model} says 4. Final answer: 4"
        if call.schema is not None and call.schema.name != "approval":
            self.balloted.append(call.model)
            if call.model == "small":
                await asyncio.sleep(60)
            text = '{"vote": "FINALIZE", "label": "Participant A", "text": "it is right", "ranking": []}'
        elif call.schema is not None:
            text = "APPROVE"
        return Completion(text, Usage(10, 0, 5, 0))


def council() -> Spec:
    limits = Limits(call_deadline_s=30.0, max_output_tokens=200, retries=0)
    return replace(
        spec(seed=3, salt="s"), protocol="council", options=get("council").resolve_options({}), limits=limits
    )


async def test_a_vote_is_closed_over_a_seat_that_cannot_change_it(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pnyx.run.drive.GRACE_S", 0.1)
    host = Council()
    node = make(host)
    handle = await node.runner.start(council())
    result = await asyncio.wait_for(handle.result(), STALL_S)
    log = await node.log(handle.run_id)
    well_formed(log)
    assert (result.status, result.final_answer, result.dropped) == ("consensus", "4", ())
    (late,) = [
        e
        for e in log
        if isinstance(e, CallStarted) and e.model == "h:small" and "FINALIZE" in (e.schema or "")
    ]
    closed = [e for e in log if isinstance(e, BranchesClosed)]
    assert [e.branches for e in closed] == [(late.key.rpartition("/")[0],)]
    (failed,) = [e for e in log if isinstance(e, CallFailed)]
    assert (failed.key, failed.kind, failed.charged_usd) == (late.key, "unknown", late.reserved_usd)
    charged = sum(e.cost_usd or 0 for e in log if isinstance(e, CallFinished)) + (failed.charged_usd or 0)
    account = await account_of(node, handle.run_id)
    assert (account.spent_nusd, account.reserved_nusd) == (round(charged * 1e9), 0)


async def test_a_closed_branch_sends_nothing_on_resume(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pnyx.run.drive.GRACE_S", 0.1)
    node = make(Council())
    handle = await node.runner.start(council())
    async for event in handle.events():
        if isinstance(event, VoteTallied) and event.rule == "endorsements":
            handle.interrupt()
    assert (await handle.result()).status == "paused"
    host = Council()
    resumed = make(host)
    result = await asyncio.wait_for((await resumed.runner.resume(handle.run_id)).result(), STALL_S)
    assert (result.status, result.final_answer) == ("consensus", "4")
    assert host.balloted == []
    assert {seat.model.partition(":")[2] for seat in PANEL} == {"large", "mid", "small"}


@pytest.mark.parametrize("nested", ["all", "graph", "script"])
async def test_a_parallel_step_within_one_is_closed_with_it(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch, nested: str
) -> None:
    class Slow(Host):
        async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
            self.sent.append(call.model)
            await asyncio.sleep(60 if call.model == "small" else 0)
            return Completion("yes", Usage(10, 0, 5, 0))

    async def within(panel: Panel, seat: Seat) -> list[Reply]:
        return await panel.all([panel.ask(seat, draft)])

    def branch(panel: Panel, seat: Seat) -> Any:
        match nested:
            case "all":
                return panel.all([panel.ask(seat, draft)])
            case "graph":
                return panel.graph({"x": ((), lambda given: panel.ask(seat, draft))})
            case _:
                return within(panel, seat)

    async def script(brief: Brief, panel: Panel) -> Decision:
        both = await panel.all([branch(panel, seat) for seat in panel.seats], enough=lambda got: len(got) > 1)
        for _ in range(2):
            await panel.ask(panel.seats[0], draft)
        return Decision(answer=f"{len(both)} answered")

    draft = Draft("x/y", "0" * 64, ("Is it?",))
    monkeypatch.setattr("pnyx.run.drive.GRACE_S", 0.1)
    page = replace(get("single"), script=script)
    monkeypatch.setattr("pnyx.protocols.get", lambda name: page)
    first = make(Slow(lambda call: ""))
    handle = await first.start(protocol="single")
    async for event in handle.events():
        if isinstance(event, CallStarted) and event.key == "/1":
            handle.interrupt()
    assert (await handle.result()).status == "paused"
    failures = [e for e in await first.log(handle.run_id) if isinstance(e, CallFailed)]
    assert [e.model for e in failures] == ["h:small"]
    host = Slow(lambda call: "")
    resumed = await (await make(host).runner.resume(handle.run_id)).result()
    assert (resumed.answer, host.sent) == ("2 answered", ["large"])
    assert (await account_of(first, handle.run_id)).reserved_nusd == 0
