"""A phase whose outcome is certain is closed over its stragglers; that is recorded, and holds on resume."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from pnyx.core.events import CallFailed, CallFinished, CallStarted, VoteTallied
from pnyx.core.models import Usage
from pnyx.protocols import get
from pnyx.providers.seam import Call, Completion
from pnyx.run.limits import Limits
from pnyx.run.spec import Spec
from tests.support.houses import PANEL, House, account_of, spec, well_formed
from tests.support.panels import Host


class Council(Host):
    """Everyone endorses the first proposal and approves; `small` never answers a ballot."""

    def __init__(self) -> None:
        super().__init__(lambda call: "")
        self.balloted: list[str] = []

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        self.sent.append(f"{call.model} {call.messages[-1].text}")
        said = f"{call.model} says 4. Final answer: 4"
        if call.schema is not None and call.schema.name != "approval":
            self.balloted.append(call.model)
            if call.model == "small":
                await asyncio.sleep(60)
            said = '{"vote": "FINALIZE", "label": "Participant A", "text": "it is right", "ranking": []}'
        elif call.schema is not None:
            said = "APPROVE"
        return Completion(said, Usage(10, 0, 5, 0))


def council() -> Spec:
    limits = Limits(call_deadline_s=30.0, max_output_tokens=200, retries=0)
    return replace(
        spec(seed=3, salt="s"), protocol="council", options=get("council").settle({}), limits=limits
    )


async def test_a_vote_is_closed_over_a_seat_that_cannot_change_it(
    make: Callable[[Host], House], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pnyx.run.drive.GRACE_S", 0.1)
    host = Council()
    house = make(host)
    handle = await house.runner.start(council())
    result = await asyncio.wait_for(handle.result(), 10)
    log = await house.log(handle.run_id)
    well_formed(log)
    assert (result.status, result.final_answer, result.dropped) == ("consensus", "4", ())
    (late,) = [
        e
        for e in log
        if isinstance(e, CallStarted) and e.model == "h:small" and "FINALIZE" in (e.schema or "")
    ]
    closed = [e for e in log if isinstance(e, VoteTallied) and e.rule == "closed"]
    assert [e.detail["branches"] for e in closed] == [[late.key.rpartition("/")[0]]]
    (failed,) = [e for e in log if isinstance(e, CallFailed)]
    assert (failed.key, failed.kind, failed.charged_usd) == (late.key, "unknown", late.reserved_usd)
    charged = sum(e.cost_usd or 0 for e in log if isinstance(e, CallFinished)) + (failed.charged_usd or 0)
    account = await account_of(house, handle.run_id)
    assert (account.spent_nusd, account.reserved_nusd) == (round(charged * 1e9), 0)


async def test_a_seat_that_was_given_up_is_not_asked_again_on_resume(
    make: Callable[[Host], House], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pnyx.run.drive.GRACE_S", 0.1)
    house = make(Council())
    handle = await house.runner.start(council())
    async for event in handle.events():
        if isinstance(event, VoteTallied) and event.rule == "endorsements":
            handle.interrupt()
    assert (await handle.result()).status == "paused"
    host = Council()
    again = make(host)
    result = await asyncio.wait_for((await again.runner.resume(handle.run_id)).result(), 10)
    assert (result.status, result.final_answer) == ("consensus", "4")
    assert host.balloted == []
    assert {seat.model.partition(":")[2] for seat in PANEL} == {"large", "mid", "small"}
