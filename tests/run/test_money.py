"""The budget of a run: the ledger, caps, warnings, unknown prices."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pnyx.core.events import Budget, CallFailed, CallFinished, CallStarted, RunFinished, to_json
from pnyx.core.models import Usage
from pnyx.errors import ConfigError
from pnyx.providers.base import Call, Completion
from pnyx.run.result import Summary, exit_code
from pnyx.store.money import ledger
from tests.support.panels import Host, seats
from tests.support.processes import Node, account_of, fixed_reply, well_formed


async def test_the_ledger_is_the_sum_of_journaled_calls(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply))
    handle = await node.start(options={"rounds": 1})
    result = await handle.result()
    charged = sum(e.cost_usd or 0 for e in await node.log(handle.run_id) if isinstance(e, CallFinished))
    account = await account_of(node, handle.run_id)
    assert account.spent_nusd == round(charged * 1e9) > 0
    assert account.reserved_nusd == 0
    assert result.usage["cost_usd"] == pytest.approx(charged)


class Odd(Host):
    """Reports `usage` and `searches` with every reply."""

    def __init__(self, **reported: Any) -> None:
        super().__init__(fixed_reply)
        self.reported = reported

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        return replace(await super().complete(call, on_text), **self.reported)


@pytest.mark.parametrize("usage", [Usage(math.nan), Usage(9, 0, None), {"input_tokens": 9}])  # type: ignore[arg-type]
async def test_malformed_usage_is_charged_at_the_reservation_and_its_reply_is_used(
    make: Callable[[Host], Node], usage: Any
) -> None:
    node = make(Odd(usage=usage, searches=math.nan))
    handle = await node.start(options={"rounds": 1})
    result = await handle.result()
    log = await node.log(handle.run_id)
    assert result.status == "decided"
    assert {e.usage_flag for e in log if isinstance(e, CallFinished)} == {"malformed"}
    reserved = sum(e.reserved_usd or 0 for e in log if isinstance(e, CallStarted))
    assert result.usage["cost_usd"] == pytest.approx(reserved)
    json.dumps([to_json(event) for event in log], allow_nan=False)


async def test_out_of_budget_pauses_and_a_larger_budget_resumes(make: Callable[[Host], Node]) -> None:
    whole = make(Host(fixed_reply))
    expected = await (await whole.start(options={"rounds": 2}, seed=3, salt="s")).result()

    cap = 0.75 * expected.usage["cost_usd"]
    node = make(Host(fixed_reply))
    handle = await node.start(options={"rounds": 2}, seed=3, salt="s", budget_usd=cap)
    watched = [event async for event in handle.events()]
    paused = await handle.result()
    assert (paused.status, paused.stop_reason, exit_code(paused)) == ("paused", "budget", 4)
    assert paused.answer
    assert f". Resume with: pnyx resume {handle.run_id} --budget 0." in paused.detail["message"]
    assert isinstance(watched[-1], RunFinished)
    log = await node.log(handle.run_id)
    well_formed(log, finished=False)
    assert [e.kind for e in log if isinstance(e, Budget)] == ["exhausted"]
    assert (await account_of(node, handle.run_id)).spent_nusd <= cap * 1e9
    before = len(node.host.sent)
    assert 0 < before < 8

    handle = await node.runner.resume(handle.run_id, budget_usd=1.0)
    result = await handle.result()
    assert result.answer == expected.answer
    assert len(node.host.sent) == 8
    well_formed(await node.log(handle.run_id))


async def test_an_unknown_price_under_a_cap_refuses_to_start(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply))
    unknown = seats("h:a", "h:b", price=None)
    with pytest.raises(ConfigError, match="price of h:a, h:b is unknown"):
        await node.start(seats=unknown, budget_usd=1.0)
    result = await (await node.start(seats=unknown, options={"rounds": 1})).result()
    assert result.usage["cost_usd"] is None


async def test_a_run_stopped_with_an_open_request_of_unknown_price_has_an_unknown_cost(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply, pause=60))
    handle = await node.start(seats=seats("h:a", "h:b", price=None))
    async for event in handle.events():
        if event.type == "call_started":
            handle.kill()
    paused = await handle.result()
    assert (paused.status, paused.usage["calls"], paused.usage["cost_usd"]) == ("paused", 1, None)


def test_a_sum_is_unknown_during_and_after_a_request_of_unknown_price_unless_it_was_free() -> None:
    summary, costs = Summary(), list[float | None]()
    one: dict[str, Any] = {"fingerprint": "", "model": "h:a", "attempt": 1}
    prompt: dict[str, Any] = {"prompt_id": "", "prompt_sha256": "", "prompt": "", **one}
    refused: dict[str, Any] = {"kind": "auth", "message": "", "final": True, **one}
    for event in (
        CallStarted(key="/0", reserved_usd=0.5, **prompt),
        CallFinished(key="/0", text="", cost_usd=0.25, **one),
        CallStarted(key="/1", **prompt),
        CallFailed(key="/1", charged_usd=0.0, **refused),
        CallStarted(key="/2", **prompt),
        CallFinished(key="/2", text="", cost_usd=None, **one),
    ):
        summary.add(event)
        costs.append(summary.usage["cost_usd"])
    assert costs == [0.0, 0.25, None, 0.25, None, None]
    assert summary.cost.known_usd == 0.25


async def test_a_warning_is_recorded_once_at_its_threshold(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply))
    handle = await node.start(options={"rounds": 2}, warn_usd=0.001)
    await handle.result()
    warnings = [e for e in await node.log(handle.run_id) if isinstance(e, Budget)]
    assert [w.kind for w in warnings] == ["warning"]


@pytest.mark.parametrize(
    ("scope", "changes"),
    [
        ("batch:b1", {"batch": "b1", "batch_usd": 0.004}),
        ("key:local", {"key_usd": 0.004}),
        ("day:", {"day_usd": 0.004}),
    ],
)
async def test_caps_of_many_runs_hold_and_a_larger_one_in_the_settings_resumes(
    make: Callable[[Host], Node], scope: str, changes: dict[str, Any]
) -> None:
    node = make(Host(fixed_reply))
    handles = [await node.start(options={"rounds": 2}, **changes) for _ in range(4)]
    results = [await handle.result() for handle in handles]
    assert "paused" in {result.status for result in results}
    spent = sum(result.usage["cost_usd"] for result in results)
    assert 0 < spent <= 0.004
    paused = next(result for result in results if result.status == "paused")
    name = scope.partition(":")[0]
    assert f". Raise budget.{name}_usd to at least " in paused.detail["message"]
    assert paused.detail["message"].endswith(f". Resume with: pnyx resume {paused.run_id}")

    more = node.runner.settings.budget.model_copy(update={f"{name}_usd": 1.0})
    node.runner.settings = node.runner.settings.model_copy(update={"budget": more})
    assert (await (await node.runner.resume(paused.run_id)).result()).status == "decided"


async def test_runs_outside_a_batch_do_not_count_against_it(make: Callable[[Host], Node]) -> None:
    node = make(Host(fixed_reply))
    await (await node.start(options={"rounds": 1}, batch_usd=1e-9)).result()
    result = await (await node.start(options={"rounds": 1}, batch_usd=1e-9)).result()
    assert result.status == "decided"


async def test_a_key_cap_that_is_set_later_counts_earlier_spending(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(fixed_reply))
    first = await (await node.start(options={"rounds": 1})).result()
    spent = first.usage["cost_usd"]
    assert spent > 0
    capped = await (await node.start(options={"rounds": 1}, key_usd=spent * 1.001)).result()
    assert (capped.status, capped.usage["calls"]) == ("paused", 0)
    other = await (await node.start(options={"rounds": 1}, key_usd=spent * 50, owner="phone")).result()
    assert other.status == "decided"


@pytest.mark.parametrize(("first", "last", "status"), [(1.0, 0.0001, "paused"), (0.0001, 1.0, "decided")])
async def test_a_resume_of_one_run_of_a_batch_uses_the_last_cap_of_the_batch(
    make: Callable[[Host], Node], first: float, last: float, status: str
) -> None:
    node = make(Host(fixed_reply))
    batch: dict[str, Any] = {"options": {"rounds": 1}, "batch": "b1", "batch_own": True}
    handle = await node.start(batch_usd=first, **batch)
    handle.kill()
    await handle.result()
    await (await node.start(batch_usd=last, **batch)).result()
    result = await (await node.runner.resume(handle.run_id)).result()
    account = await node.database.read(lambda c: ledger.read_account(c, "batch:b1"))
    assert (result.status, account.cap_nusd) == (status, last * 1e9)


async def test_a_batch_cap_that_changes_during_a_resume_stays(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = make(Host(fixed_reply))
    handle = await node.start(options={"rounds": 1}, batch="b1", batch_own=True, batch_usd=1.0)
    handle.kill()
    await handle.result()
    prepare = node.runner.resources.prepare

    async def meanwhile(spec: Any) -> Any:
        await node.database.write(lambda c: ledger.open_account(c, "batch:b1", 1))
        return await prepare(spec)

    monkeypatch.setattr(node.runner.resources, "prepare", meanwhile)
    assert (await (await node.runner.resume(handle.run_id)).result()).stop_reason == "budget"
    assert (await node.database.read(lambda c: ledger.read_account(c, "batch:b1"))).cap_nusd == 1
