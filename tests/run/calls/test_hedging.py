"""A late call gets a second request: the first reply counts, both are recorded and charged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from pnyx.core.events import CallFailed, CallFinished, CallStarted
from pnyx.core.models import Usage
from pnyx.errors import ProviderError
from pnyx.protocols import get
from pnyx.providers.base import Call, Completion
from pnyx.run.calls.hedging import ENOUGH, SAVED, SHARE, Hedging
from pnyx.run.calls.limits import Gate, Limits
from tests.support.panels import Host
from tests.support.processes import Node, account_of, spec, well_formed
from tests.support.waiting import STALL_S

SLOW = 60.0
SECOND = -1.0


class Slow(Host):
    """Replies at once, except for some requests: number of a request -> seconds, or an error.

    SECOND instead of seconds: shortly after the second request.
    """

    def __init__(self, late: dict[int, float | Exception]) -> None:
        super().__init__(lambda call: f"{call.model} says so. Final answer: 4")
        self.late, self.cancelled = late, 0
        self.both = asyncio.Event()

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        number = len(self.sent)
        self.sent.append(call.messages[-1].text)
        if number == 1:
            self.both.set()
        fault = self.late.get(number, 0.0)
        if isinstance(fault, Exception):
            raise fault
        try:
            if fault == SECOND:
                await self.both.wait()
            await asyncio.sleep(0.3 if fault == SECOND else fault)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return Completion(f"request {number}. Final answer: 4", Usage(10, 0, 5, 0))


async def run_single(
    make: Callable[[Host], Node], host: Slow, hedge: bool = True, **changes: object
) -> tuple[Node, str]:
    """A run of `single` on a model whose calls take almost no time."""
    node = make(host)
    for _ in range(120):
        node.runner.resources.hedging.record("h:large", 0.02)
    limits = Limits(call_deadline_s=60.0, max_output_tokens=200, retries=0, hedge=hedge)
    request = replace(
        spec(**changes), protocol="single", options=get("single").resolve_options({}), limits=limits
    )
    handle = await node.runner.start(request)
    await asyncio.wait_for(handle.result(), STALL_S)
    return node, handle.run_id


async def test_the_second_request_answers_and_both_are_charged(
    make: Callable[[Host], Node],
) -> None:
    host = Slow({0: SLOW})
    node, run_id = await run_single(make, host)
    log = await node.log(run_id)
    well_formed(log)
    assert (len(host.sent), host.cancelled) == (2, 1)
    assert [e.attempt for e in log if isinstance(e, CallStarted)] == [1, 2]
    (finished,) = [e for e in log if isinstance(e, CallFinished)]
    (failed,) = [e for e in log if isinstance(e, CallFailed)]
    assert (finished.attempt, finished.text) == (2, "request 1. Final answer: 4")
    assert (failed.attempt, failed.kind, failed.final) == (1, "overtaken", False)
    reserved = next(e.reserved_usd for e in log if isinstance(e, CallStarted))
    assert failed.charged_usd == reserved != 0
    account = await account_of(node, run_id)
    charged = round(((finished.cost_usd or 0) + (failed.charged_usd or 0)) * 1e9)
    assert (account.spent_nusd, account.reserved_nusd) == (charged, 0)


async def test_a_late_first_reply_wins_over_a_failed_second_request(
    make: Callable[[Host], Node],
) -> None:
    host = Slow({0: SECOND, 1: ProviderError("overloaded", "busy")})
    node, run_id = await run_single(make, host)
    log = await node.log(run_id)
    assert [e.attempt for e in log if isinstance(e, CallFinished)] == [1]
    assert [(e.attempt, e.kind, e.final) for e in log if isinstance(e, CallFailed)] == [
        (2, "overloaded", False)
    ]
    assert (await account_of(node, run_id)).reserved_nusd == 0


async def test_without_budget_for_a_second_request_the_first_is_awaited(
    make: Callable[[Host], Node],
) -> None:
    whole = Slow({})
    node, run_id = await run_single(make, whole, hedge=False)
    (started,) = [e for e in await node.log(run_id) if isinstance(e, CallStarted)]
    host = Slow({0: 0.3})
    node, run_id = await run_single(make, host, budget_usd=1.5 * (started.reserved_usd or 0))
    log = await node.log(run_id)
    assert len(host.sent) == 1
    assert [e.attempt for e in log if isinstance(e, CallFinished)] == [1]


async def test_a_stop_with_two_requests_in_flight_records_both_as_unknown(
    make: Callable[[Host], Node],
) -> None:
    host = Slow({0: SLOW, 1: SLOW})
    node = make(host)
    running = asyncio.create_task(run_single(lambda _: node, host))
    await host.both.wait()
    (handle,) = node.runner.local.values()
    handle.cancel()
    _, run_id = await running
    log = await node.log(run_id)
    well_formed(log)
    assert sorted((e.attempt, e.kind) for e in log if isinstance(e, CallFailed)) == [
        (1, "unknown"),
        (2, "unknown"),
    ]
    assert (await account_of(node, run_id)).reserved_nusd == 0


def test_patience_is_the_95th_percentile_once_enough_is_known() -> None:
    hedging = Hedging()
    for n in range(ENOUGH):
        assert hedging.patience("m") is None
        hedging.record("m", float(n))
    assert hedging.patience("m") == ENOUGH - 1
    assert hedging.patience("other") is None


def test_extra_requests_are_one_in_twenty_and_accumulate_up_to_a_bound() -> None:
    hedging = Hedging()
    assert not hedging.acquire()
    for _ in range(round(10 * SAVED / SHARE)):
        hedging.record("m", 1.0)
    assert [hedging.acquire() for _ in range(7)].count(True) == SAVED


async def test_a_second_request_delayed_by_the_rate_limit_is_not_sent_after_the_first_reply(
    make: Callable[[Host], Node],
) -> None:
    host = Slow({0: 0.3})

    def slowly(host: Host) -> Node:
        node = make(host)
        node.runner.resources.gates["h"] = Gate(8, per_minute=60)
        return node

    node, run_id = await run_single(slowly, host)
    assert len(host.sent) == 1
    assert [e.attempt for e in await node.log(run_id) if isinstance(e, CallStarted)] == [1]
