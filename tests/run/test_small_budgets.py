"""Small budgets: a run finishes under twice its cost, and runs that share a cap finish in their order."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha512
from pathlib import Path
from typing import Any

import pytest

from pnyx.core.context.files import File
from pnyx.core.events import Budget, CallStarted
from pnyx.core.models import NUSD
from pnyx.protocols import get
from pnyx.protocols.auto import ROUTINGS
from pnyx.run.calls.limits import Limits
from pnyx.run.handle import RunHandle
from pnyx.run.result import Result
from pnyx.run.runner import Runner
from pnyx.run.spec import Spec
from pnyx.run.spending.expectation import expect
from pnyx.store import Database
from pnyx.store.money import holds, ledger
from pnyx.store.records import runs as store
from tests.support.panels import Host
from tests.support.processes import Node
from tests.support.properties import THOROUGH
from tests.support.sized import SEATS, SizedHost, sized_text
from tests.support.waiting import STALL_S

QUESTION = "Our team of six keeps four services in one repository. Should we split them?"
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in ("aggregate", "auto", "decompose", "moa", "sample", "single", "voting")},
    "consensus": ("consensus", {"rounds": 1}),
    "consensus, debate": ("consensus", {"rounds": 3, "threshold": 1.0}),
    "council": ("council", {"rounds": 1}),
    "deliberate": ("deliberate", {"rounds": 2}),
    "escalate": ("escalate", {}),
}


def spec(case: str, number: int = 0, **changes: Any) -> Spec:
    protocol, options = CASES[case]
    return Spec(
        question=f"{QUESTION} ({number})",
        protocol=protocol,
        seats=SEATS,
        limits=Limits(60.0, 4096, 0),
        options=get(protocol).resolve_options(options),
        seed=number,
        salt=str(number),
        **changes,
    )


async def cost(node: Node, case: str, number: int = 0) -> float:
    """Return what a run costs without a cap, in USD."""
    result = await (await node.runner.start(spec(case, number))).result()
    assert result.status not in ("failed", "paused")
    return float(result.usage["cost_usd"])


@pytest.mark.parametrize("factor", [0.25, 1.0, 3.0], ids=["short", "usual", "long"])
@pytest.mark.parametrize("case", CASES)
async def test_a_run_finishes_under_a_cap_of_twice_its_cost(
    make: Callable[[Host], Node], case: str, factor: float
) -> None:
    node = make(SizedHost(factor))
    usual = await cost(node, case)
    handle = await node.runner.start(spec(case, budget_usd=2 * usual))
    result = await handle.result()
    assert result.status not in ("failed", "paused"), result.detail
    # Nothing was cut off on the way, so it cost no more than without a cap.
    assert result.usage["cost_usd"] == pytest.approx(usual)


TEXT = sized_text(round(100_000 / 4.6), "notes")[:100_000]


@pytest.mark.parametrize(("factor", "text"), [(1.0, TEXT), (0.05, "")], ids=["a long file", "a short answer"])
async def test_one_call_finishes_under_a_cap_of_twice_its_cost_whatever_most_of_it_is(
    make: Callable[[Host], Node], factor: float, text: str
) -> None:
    files = (File.of_text("notes.md", text.encode(), text),) if text else ()
    node = make(SizedHost(factor))
    usual = (await (await node.runner.start(spec("single", files=files))).result()).usage["cost_usd"]
    handle = await node.runner.start(spec("single", files=files, budget_usd=2 * usual))
    result = await handle.result()
    assert (result.status, result.usage["cost_usd"]) == ("single", pytest.approx(usual))


def test_a_file_of_hashes_is_expected_and_reserved_with_the_tokens_that_it_has() -> None:
    text = "".join(f"{b64encode(sha512(b'%d' % n).digest()).decode()}\n" for n in range(1_000))
    file = File.of_text("lock.txt", text.encode(), text)
    counted = len(text) / 1.55  # in the encoding o200k; tests/core/test_text.py has counts
    expected = expect(spec("single", files=(file,)))
    assert expected is not None
    assert file.tokens >= counted
    assert 0.5 <= expected.cost / NUSD / (counted * 3e-6) <= 1.5


async def test_a_limit_of_thinking_that_is_not_used_up_stops_no_run(make: Callable[[Host], Node]) -> None:
    node = make(SizedHost(thoughts=2400))
    wanted = spec("escalate", thinking_tokens=8000)
    usual = (await (await node.runner.start(wanted)).result()).usage["cost_usd"]
    result = await (await node.runner.start(replace(wanted, budget_usd=2 * usual))).result()
    assert (result.status, result.usage["cost_usd"]) == ("majority", pytest.approx(usual))


@pytest.mark.parametrize("case", CASES)
async def test_the_expected_cost_is_near_the_cost_of_replies_of_the_usual_length(
    make: Callable[[Host], Node], case: str
) -> None:
    expected = expect(spec(case))
    assert expected is not None
    assert 0.4 <= expected.cost / NUSD / await cost(make(SizedHost()), case) <= 2.5


async def test_a_cap_below_the_expected_cost_is_used_up_before_the_run_pauses(
    make: Callable[[Host], Node],
) -> None:
    node = make(SizedHost())
    usual = await cost(node, "council")
    handle = await node.runner.start(spec("council", budget_usd=0.5 * usual))
    result = await handle.result()
    assert (result.status, result.stop_reason) == ("paused", "budget")
    assert 0.3 * usual < result.usage["cost_usd"] <= 0.5 * usual
    resumed = await node.runner.resume(handle.run_id, budget_usd=2 * usual)
    assert (await resumed.result()).status == "consensus"


async def test_no_second_request_is_sent_under_a_limit_that_the_budget_lowered(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = make(SizedHost(pause=0.05))
    monkeypatch.setattr(node.runner.resources.hedging, "patience", lambda model: 0.01)
    monkeypatch.setattr(node.runner.resources.hedging, "acquire", lambda: True)
    usual = await cost(node, "single")
    hedged = spec("single")
    hedged = replace(hedged, limits=replace(hedged.limits, hedge=True))
    for cap, requests in ((None, 2), (2 * usual, 1)):
        handle = await node.runner.start(replace(hedged, budget_usd=cap))
        assert (await handle.result()).status == "single"
        started = [e for e in await node.log(handle.run_id) if isinstance(e, CallStarted)]
        assert len(started) == requests


RUNS = 24 if THOROUGH else 12
CLASSES = tuple(ROUTINGS["vote-first"].routes)
SHARED: list[tuple[str, int, dict[str, Any]]] = [
    ("consensus", 2, {}),
    ("consensus", 9, {}),
    ("council", 2, {}),
    ("council", 4, {}),
    ("single", 2, {}),
    ("moa", 3, {}),
    ("deliberate", 3, {}),
    # The replies are longer than most.
    ("single", 4, {"factor": 5.0}),
    # With the thoughts they cost several times what is expected.
    ("council", 2, {"thoughts": 1500}),
    ("moa", 3, {"thoughts": 1500}),
    # Which protocol answers, and so what a run costs, is known after its first call.
    ("auto", 4, {"classes": CLASSES}),
    ("auto", 7, {"classes": CLASSES, "factor": 4.0}),
    ("auto", 7, {"classes": CLASSES, "thoughts": 1500}),
    # Every call costs all that is reserved, and seats that do not agree are asked more often than usual.
    ("sample", 3, {"silent": True}),
    ("sample", 7, {"silent": True, "thoughts": 1500}),
    ("moa", 4, {"silent": True, "factor": 4.0}),
]


def finished(results: list[Result]) -> int:
    return sum(result.status not in ("failed", "paused") for result in results)


async def one_after_another(node: Node, case: str, cap: float, count: int) -> int:
    """Return how many runs finish before one does not."""
    for number in range(count):
        result = await (await node.runner.start(spec(case, number, day_usd=cap))).result()
        if result.status == "paused":
            return number
    return count


@pytest.mark.parametrize(("case", "affordable", "host"), SHARED)
async def test_of_many_runs_at_once_as_many_finish_as_one_after_another(
    tmp_path: Path, make: Callable[[Host], Node], case: str, affordable: int, host: dict[str, Any]
) -> None:
    cap = (affordable + 0.4) * await cost(make(SizedHost(**host)), case)
    alone = await Database.open(tmp_path / "alone.db")
    one_by_one = Node(alone, SizedHost(**host))
    affords = await one_after_another(one_by_one, case, cap, RUNS)
    await one_by_one.stop()
    await one_by_one.runner.ownership.keeper.close()
    await alone.close()
    together = await Database.open(tmp_path / "together.db")
    node = Node(together, SizedHost(pause=0.002, **host))
    try:
        await at_once([node], case, cap, affords)
    finally:
        await node.stop()
        await node.runner.ownership.keeper.close()
        await together.close()


async def at_once(nodes: list[Node], case: str, cap: float, affords: int) -> None:
    """Run many at once, and check that 80 % of those that the cap affords finish, and that it holds."""
    database = nodes[0].database
    started = [await nodes[n % len(nodes)].runner.start(spec(case, n, day_usd=cap)) for n in range(RUNS)]
    results = list(await asyncio.gather(*(handle.result() for handle in started)))
    assert finished(results) >= 0.8 * affords > 0
    assert sum(result.usage["cost_usd"] for result in results) <= cap
    # Few runs were begun in vain.
    assert sum(result.usage["calls"] > 0 for result in results) <= finished(results) + 2
    paused = [result for result in results if result.status == "paused"]
    assert {result.stop_reason for result in paused} <= {"budget"}
    assert all("Raise budget.day_usd to at least " in result.detail["message"] for result in paused)
    assert await database.read(lambda c: holds.total(c, "day")) == 0


@pytest.mark.parametrize("case", ["consensus", "council"])
async def test_two_processes_share_a_cap_in_the_order_of_their_runs(database_url: str, case: str) -> None:
    first = await Database.open(database_url)
    usual = await cost(Node(first, SizedHost()), case)
    spent = round(usual * NUSD)  # by the run without a cap, on the same day
    databases = [first, await Database.open(database_url)]
    nodes = [Node(database, SizedHost(pause=0.005)) for database in databases]
    try:
        await at_once_after(nodes, case, 2.4 * usual, spent / NUSD)
    finally:
        for node in nodes:
            await node.stop()
            await node.runner.ownership.keeper.close()
            await node.database.close()


async def at_once_after(nodes: list[Node], case: str, cap: float, spent: float) -> None:
    started = [await nodes[n % 2].runner.start(spec(case, n, day_usd=cap + spent)) for n in range(8)]
    results = list(await asyncio.gather(*(handle.result() for handle in started)))
    assert finished(results) >= 2
    assert sum(result.usage["cost_usd"] for result in results) <= cap


async def test_a_run_is_not_begun_if_the_cap_has_no_room_for_all_of_it(make: Callable[[Host], Node]) -> None:
    node = make(SizedHost())
    usual = await cost(node, "council")
    await (await node.runner.start(spec("council", day_usd=10.0))).result()
    handle = await node.runner.start(spec("council", day_usd=2.5 * usual))
    result = await handle.result()
    assert (result.status, result.stop_reason, result.usage["calls"]) == ("paused", "budget", 0)
    (event,) = [event for event in await node.log(handle.run_id) if isinstance(event, Budget)]
    assert event.expected_usd == pytest.approx(usual, rel=0.1)
    assert result.detail["message"].startswith("Daily budget too small: the run is expected to cost $0.")
    more = node.runner.settings.budget.model_copy(update={"day_usd": 10.0})
    node.runner.settings = node.runner.settings.model_copy(update={"budget": more})
    assert (await (await node.runner.resume(handle.run_id)).result()).status == "consensus"


@pytest.mark.parametrize("here", [True, False])
async def test_a_run_of_this_process_holds_what_it_needs_before_its_first_call(
    make: Callable[[Host], Node], here: bool
) -> None:
    runner = make(SizedHost()).runner
    # Of runs that start at the same time, a younger one may come to its first call before this one.
    async with runner.ownership.recorded(spec("council", day_usd=9.0), queued=not here):
        held = await runner.database.read(lambda c: holds.total(c, "day"))
    assert (held > 0) is here


def set_day_usd(runner: Runner, cap: float) -> None:
    """Set the cap of a day that resumed runs get."""
    budget = runner.settings.budget.model_copy(update={"day_usd": cap})
    runner.settings = runner.settings.model_copy(update={"budget": budget})


async def test_a_run_that_a_worker_takes_holds_what_it_needs_before_its_first_call(
    make: Callable[[Host], Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = make(SizedHost()).runner
    set_day_usd(runner, 9.0)
    run_id = await runner.enqueue(spec("council", day_usd=9.0))
    assert await runner.database.read(lambda c: holds.total(c, "day")) == 0
    monkeypatch.setattr(runner, "_launch", lambda handle: handle)
    await runner.resume(run_id)
    assert await runner.database.read(lambda c: holds.total(c, "day")) > 0


@pytest.mark.parametrize("case", ["consensus", "council", "moa", "voting", "deliberate"])
async def test_an_older_run_that_comes_late_takes_no_room_from_one_that_has_begun(
    make: Callable[[Host], Node], case: str
) -> None:
    node = make(SizedHost(pause=0.02))
    usual = await cost(node, case)
    cap = (1 + 1.4) * usual  # with the run before, on the same day
    set_day_usd(node.runner, cap)
    # Of two workers, the one with the younger run may be the faster one.
    older = await node.runner.enqueue(spec(case, 1, day_usd=cap))
    younger = await node.runner.start(spec(case, 2, day_usd=cap))
    await first_call(younger)
    late = await node.runner.resume(older)
    done, paused = await younger.result(), await late.result()
    assert done.status not in ("paused", "failed")
    assert (paused.status, paused.usage["calls"]) == ("paused", 0)


async def first_call(handle: RunHandle) -> None:
    """Wait until the run has sent a call."""
    async for event in handle.events():
        if event.type == "call_started":
            return


async def test_the_hold_of_a_killed_process_blocks_nobody(make: Callable[[Host], Node]) -> None:
    node = make(SizedHost())
    usual = await cost(node, "council")
    slow = node.another_process(SizedHost(pause=60.0))
    older = await slow.runner.start(spec("council", day_usd=4 * usual))
    await first_call(older)
    # As after `kill -9`: the hold and the reservations stay, and the lease runs out.
    killed = {"worker": "elsewhere:1:1", "heartbeat_at": 0.0}
    await node.database.write(lambda c: store.patch(c, older.run_id, killed))
    assert await node.database.read(lambda c: holds.total(c, "day")) > 0
    younger = await node.runner.start(spec("council", 1, day_usd=4 * usual))
    assert (await younger.result()).status == "consensus"
    await slow.stop()


@pytest.mark.parametrize("way", ["interrupt", "cancel", "deadline"])
async def test_a_run_that_waits_for_room_can_be_stopped(make: Callable[[Host], Node], way: str) -> None:
    node = make(SizedHost(pause=60.0))
    expected = expect(spec("council"))
    assert expected is not None
    cap = 1.2 * expected.cost / NUSD
    older = await node.runner.start(spec("council", day_usd=cap))
    await first_call(older)
    deadline = 0.3 if way == "deadline" else None
    younger = await node.runner.start(spec("council", 1, day_usd=cap, deadline_s=deadline))
    await asyncio.sleep(0.1)
    assert younger.summary.usage["calls"] == 0
    if way == "interrupt":
        younger.interrupt()
    elif way == "cancel":
        younger.cancel()
    result = await asyncio.wait_for(younger.result(), STALL_S)
    reasons = {"interrupt": "interrupted", "cancel": "cancelled", "deadline": "deadline"}
    assert (result.stop_reason, result.usage["calls"]) == (reasons[way], 0)
    older.kill()
    await older.wait()
    assert await node.database.read(lambda c: holds.total(c, "day")) == 0


async def test_accounts_are_settled_after_runs_that_waited(make: Callable[[Host], Node]) -> None:
    node = make(SizedHost(pause=0.002))
    usual = await cost(node, "council")
    caps = {"batch": "b", "batch_usd": 2.5 * usual, "key_usd": 100.0}
    handles = [await node.runner.start(spec("council", n, **caps)) for n in range(6)]
    results = [await handle.result() for handle in handles]
    assert finished(results) == 2
    account = await node.database.read(lambda c: ledger.read_account(c, "batch:b"))
    spent = sum(result.usage["cost_usd"] for result in results)
    assert (account.spent_nusd, account.reserved_nusd) == (round(spent * NUSD), 0)
