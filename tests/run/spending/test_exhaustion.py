"""The messages for a budget that is too small for the next call."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.events import Budget, CallStarted
from pnyx.core.models import NUSD
from pnyx.run.spending.exhaustion import (
    batch_remedy,
    exhausted_event,
    reason,
    remedy,
    sufficient_cap,
    with_rest,
)
from pnyx.run.spending.expectation import Expectation, PricedCalls
from pnyx.store.money.ledger import Account, Exhausted
from tests.support.panels import Host
from tests.support.processes import Node, fixed_reply
from tests.support.rows import rows


def event(scope: str = "run:r1", cap: float = 0.0001, spent: float = 0.0, reserved: float = 0.0) -> Budget:
    account = Account(scope, round(cap * NUSD), round(spent * NUSD), round(reserved * NUSD))
    return exhausted_event(Exhausted(account, 63_400_000), "2026-11-25T12:00:00.000Z")


@pytest.mark.parametrize(
    ("exhausted", "message"),
    [
        (
            event(),
            "Budget too small: the next call may cost up to $0.0634 and $0.0001 is left. "
            "Resume with: pnyx resume r1 --budget 0.10",
        ),
        (
            event("day:2026-11-25", cap=1.0, spent=0.9, reserved=0.05),
            "Daily budget too small: the next call may cost up to $0.0634 and $0.0500 is left. "
            "Raise budget.day_usd to at least 2.00, or wait until tomorrow (UTC). "
            "Resume with: pnyx resume r1",
        ),
        (
            event("batch:b1", cap=0.4, spent=0.39),
            "Batch budget too small: the next call may cost up to $0.0634 and $0.0100 is left. "
            "Raise budget.batch_usd to at least 0.50. Resume with: pnyx resume r1",
        ),
        (
            event("key:phone", cap=4.0, spent=4.01),
            "Budget of this key too small: the next call may cost up to $0.0634 and $0 is left. "
            "Raise budget.key_usd to at least 5.00. Resume with: pnyx resume r1",
        ),
        (
            event("key-day:phone:2026-11-26", cap=4.0, spent=4.01),
            "Daily budget of this key too small: the next call may cost up to $0.0634 and $0 is left. "
            "Raise serve.keys.phone.day_usd to at least 5.00, or wait until tomorrow (UTC). "
            "Resume with: pnyx resume r1",
        ),
    ],
)
def test_the_message_says_what_is_left_and_which_cap_to_raise(exhausted: Budget, message: str) -> None:
    assert f"{reason(exhausted)}. {remedy(exhausted, 'r1', batch_own=False)}" == message


@pytest.mark.parametrize(("cap", "waits"), [(0.07, True), (0.06, False)])
def test_waiting_for_tomorrow_is_advised_only_if_a_day_has_room(cap: float, waits: bool) -> None:
    for scope in ("day:2026-11-25", "key-day:phone:2026-11-25"):
        text = remedy(event(scope, cap, spent=cap), "r1", batch_own=False)
        assert ("wait until tomorrow" in text) is waits


def test_a_run_of_a_batch_with_its_own_budget_continues_with_the_batch() -> None:
    assert remedy(event("batch:b1"), "r1", batch_own=True) == "Run the batch again with --budget 0.10"


@pytest.mark.parametrize(
    ("scope", "text"),
    [
        ("batch:b1", "Run the same command again with --budget 0.10"),
        (
            "day:2026-11-25",
            "Raise budget.day_usd to at least 0.10, or wait until tomorrow (UTC). "
            "Then run the same command again",
        ),
        ("key:phone", "Raise budget.key_usd to at least 0.10. Then run the same command again"),
    ],
)
def test_a_batch_that_stops_continues_with_the_same_command(scope: str, text: str) -> None:
    assert batch_remedy(event(scope, cap=0.07)) == text


def test_an_event_of_version_0_1_has_no_price_of_the_next_call() -> None:
    old = Budget(kind="exhausted", scope="run:r1", spent_usd=0.9, reserved_usd=0.05, cap_usd=1.0)
    assert reason(old) == "Budget too small: the next call costs more than the $0.0500 that is left"


@given(*[st.integers(0, 10**15)] * 2, st.integers(1, 10**15))
def test_the_suggested_cap_has_room_for_the_call_and_is_a_round_number(
    spent: int, reserved: int, amount: int
) -> None:
    text = sufficient_cap(exhausted_event(Exhausted(Account("run:r1", 1, spent, reserved), amount), ""))
    cap = round(float(text) * NUSD)
    assert spent + reserved + amount <= cap <= 2.5 * (spent + reserved + amount)
    assert text.replace(".", "").strip("0") in ("1", "2", "5")


@given(st.integers(0, 10**12), st.integers(0, 60), st.integers(1, 10**9))
def test_the_suggested_cap_has_room_for_the_rest_of_the_run(spent: int, calls: int, amount: int) -> None:
    expectation = Expectation([PricedCalls(12.0, 10_000_000, 5_000_000, 50_000_000)])
    spent = spent if calls else 0
    error = Exhausted(Account("run:r1", 1, spent, 0), amount)
    exhausted = with_rest(exhausted_event(error, ""), expectation, spent, calls)
    cap = round(float(sufficient_cap(exhausted)) * NUSD)
    assert cap >= expectation.total(spent, calls, None)
    assert cap >= 2 * spent or calls < expectation.calls
    assert "the next call may cost" in reason(exhausted)
    assert exhausted.expected_usd is None
    day = exhausted_event(Exhausted(Account("day:2026-11-25", 1, spent, 0), amount), "")
    assert with_rest(day, expectation, spent, calls) == day


@rows("case", json.loads((Path(__file__).parents[3] / "web/tests/caps.json").read_text()))
def test_the_suggested_cap_is_that_of_the_page(case: dict[str, Any]) -> None:
    cap = case.pop("cap")
    assert sufficient_cap(Budget(kind="exhausted", scope="run:r1", cap_usd=1e-9, **case)) == cap


CAPS: dict[str, dict[str, Any]] = {
    "run": {"budget_usd": 1e-6},
    "day": {"day_usd": 1e-6},
    "batch": {"batch": "b1", "batch_usd": 1e-6},
    "key": {"key_usd": 1e-6},
}


@pytest.mark.parametrize("kind", CAPS)
async def test_the_suggested_cap_lets_the_run_send_the_call_that_did_not_fit(
    make: Callable[[Host], Node], kind: str
) -> None:
    node = make(Host(fixed_reply))
    handle = await node.start(options={"rounds": 1}, **CAPS[kind])
    paused = await handle.result()
    assert (paused.status, paused.usage["calls"]) == ("paused", 0)
    exhausted = next(e for e in await node.log(handle.run_id) if isinstance(e, Budget))
    cap = sufficient_cap(exhausted)
    assert cap in paused.detail["message"]

    if kind != "run":
        budget = node.runner.settings.budget.model_copy(update={f"{kind}_usd": float(cap)})
        node.runner.settings = node.runner.settings.model_copy(update={"budget": budget})
    budget_usd = float(cap) if kind == "run" else None
    resumed = await node.runner.resume(handle.run_id, budget_usd=budget_usd)
    await resumed.result()
    started = next(e for e in await node.log(handle.run_id) if isinstance(e, CallStarted))
    assert started.reserved_usd == exhausted.next_usd
