"""Runs as doors see them: start, watch, pause, resume, fork, cancel; money, deadlines, drops."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from pnyx.core.events import (
    Budget,
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    RunFinished,
    RunStarted,
    Token,
)
from pnyx.core.models import Price, Seat
from pnyx.core.steps import Protocol
from pnyx.errors import ConfigError, Diverged, Fenced, NotFound, ProviderError, UsageError
from pnyx.protocols import get
from pnyx.providers.seam import Call
from pnyx.run.calls import Limits
from pnyx.run.handle import RunHandle
from pnyx.run.result import Result, exit_code
from pnyx.run.runner import Runner
from pnyx.run.spec import Spec
from pnyx.settings import Settings
from pnyx.store import Database
from pnyx.store import runs as store
from tests.support.panels import Host, Hosts, seats

PANEL = seats("h:large", "h:mid", "h:small")


def said(call: Call) -> str:
    """Different words for every prompt, so that challenges never repeat themselves."""
    mark = sum(map(ord, call.messages[-1].text)) % 9973
    return " ".join(f"{call.model}{mark}{word}" for word in ("objects", "because", "evidence"))


class House:
    """One runner on one database, as a process has it; `again` is the next process."""

    def __init__(self, database: Database, host: Host) -> None:
        self.database, self.host = database, host
        settings = Settings.model_validate(
            {"providers": {"h": {"kind": "openai", "base_url": "http://127.0.0.1:9/v1"}}}
        )
        self.runner = Runner(settings, database, Hosts(h=host))  # type: ignore[arg-type]

    def again(self, host: Host) -> House:
        return House(self.database, host)

    async def start(self, **changes: Any) -> RunHandle:
        return await self.runner.start(spec(**changes))

    async def log(self, run_id: str) -> list[Event]:
        return await self.database.read(lambda c: store.log(c, run_id))

    async def stop(self) -> None:
        """The end of the process: nothing more is written, the lease is left to lapse."""
        for handle in list(self.runner._handles.values()):
            handle.kill()
            await handle.wait()


def spec(**changes: Any) -> Spec:
    limits = Limits(changes.pop("call_deadline_s", 30.0), 200, changes.pop("retries", 0))
    options = get("consensus").settle(changes.pop("options", {}))
    given: dict[str, Any] = {"question": "Should we?", "protocol": "consensus", "seats": PANEL, **changes}
    return Spec(limits=limits, options=options, **given)


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Callable[[Host], House]]:
    database = await Database.open(tmp_path / "pnyx.db")
    houses: list[House] = []

    def build(host: Host) -> House:
        houses.append(House(database, host))
        return houses[-1]

    yield build
    for house in houses:
        await house.stop()
        if house.runner._keeper is not None:
            house.runner._keeper.cancel()
    await database.close()


def well_formed(log: list[Event], finished: bool = True) -> None:
    assert [e.seq for e in log] == list(range(1, len(log) + 1))
    assert sum(isinstance(e, RunFinished) for e in log) == (1 if finished else 0)


async def ledger(house: House, run_id: str) -> store.Account:
    return await house.database.read(lambda c: store.read_account(c, f"run:{run_id}"))


async def test_a_run_is_recorded_whole_and_its_result_is_the_contracts(make: Callable[[Host], House]) -> None:
    house = make(Host(said))
    handle = await house.start(options={"rounds": 2})
    watched = [event async for event in handle.events()]
    result = await handle.result()
    log = await house.log(handle.run_id)
    well_formed(log)
    assert watched == log
    assert isinstance(log[0], RunStarted)
    document = result.to_json()
    assert (
        list(document)
        == (
            "run_id status protocol question answer final_answer confidence confidence_rule rigor agreement "
            "consensus_reached dissent rounds converged stop_reason seats dropped degraded usage elapsed_s detail"
        ).split()
    )
    assert document["usage"]["calls"] == len(house.host.sent) == 8
    assert document["status"] == "decided"
    assert Result.from_json(document).to_json() == document
    assert exit_code(result) == 0
    row = await house.database.read(lambda c: store.find(c, handle.run_id[:5]))
    assert (row.status, row.result) == ("decided", document)


async def test_the_ledger_is_the_sum_of_journaled_calls(make: Callable[[Host], House]) -> None:
    house = make(Host(said))
    handle = await house.start(options={"rounds": 1})
    result = await handle.result()
    charged = sum(e.cost_usd or 0 for e in await house.log(handle.run_id) if isinstance(e, CallFinished))
    account = await ledger(house, handle.run_id)
    assert account.spent_nusd == round(charged * 1e9) > 0
    assert account.reserved_nusd == 0
    assert result.usage["cost_usd"] == pytest.approx(charged)


async def test_tokens_are_shown_and_never_stored(make: Callable[[Host], House]) -> None:
    house = make(Host(said))
    handle = await house.start(options={"rounds": 1})
    watched = [event async for event in handle.events(tokens=True)]
    assert any(isinstance(e, Token) and e.seat for e in watched)
    assert not any(isinstance(e, Token) for e in await house.log(handle.run_id))


async def test_a_watcher_may_come_back_with_the_last_event_it_saw(make: Callable[[Host], House]) -> None:
    house = make(Host(said, pause=0.01))
    handle = await house.start(options={"rounds": 2})
    first: list[Event] = []
    async for event in handle.events():
        first.append(event)
        if len(first) == 6:
            break
    rest = [event async for event in handle.events(after=first[-1].seq or 0)]
    assert [*first, *rest] == await house.log(handle.run_id)
    assert [e async for e in handle.events(after=rest[-1].seq or 0)] == []


async def test_out_of_budget_pauses_and_a_larger_budget_resumes(make: Callable[[Host], House]) -> None:
    whole = make(Host(said))
    want = await (await whole.start(options={"rounds": 2}, seed=3, salt="s")).result()

    cap = 0.75 * want.usage["cost_usd"]
    house = make(Host(said))
    handle = await house.start(options={"rounds": 2}, seed=3, salt="s", budget_usd=cap)
    watched = [event async for event in handle.events()]
    paused = await handle.result()
    assert (paused.status, paused.stop_reason, exit_code(paused)) == ("paused", "budget", 4)
    assert paused.answer
    assert isinstance(watched[-1], RunFinished)
    log = await house.log(handle.run_id)
    well_formed(log, finished=False)
    assert [e.kind for e in log if isinstance(e, Budget)] == ["exhausted"]
    assert (await ledger(house, handle.run_id)).spent_nusd <= cap * 1e9
    before = len(house.host.sent)
    assert 0 < before < 8

    handle = await house.runner.resume(handle.run_id, budget_usd=1.0)
    result = await handle.result()
    assert result.answer == want.answer
    assert len(house.host.sent) == 8
    well_formed(await house.log(handle.run_id))


async def test_an_unknown_price_under_a_cap_refuses_to_start(make: Callable[[Host], House]) -> None:
    house = make(Host(said))
    unknown = seats("h:a", "h:b", price=None)
    with pytest.raises(ConfigError, match="price of h:a, h:b is unknown"):
        await house.start(seats=unknown, budget_usd=1.0)
    result = await (await house.start(seats=unknown, options={"rounds": 1})).result()
    assert result.usage["cost_usd"] is None


async def test_a_warning_is_given_once_where_it_was_asked_for(make: Callable[[Host], House]) -> None:
    house = make(Host(said))
    handle = await house.start(options={"rounds": 2}, warn_usd=0.001)
    await handle.result()
    warnings = [e for e in await house.log(handle.run_id) if isinstance(e, Budget)]
    assert [w.kind for w in warnings] == ["warning"]


async def test_a_seat_that_fails_its_retries_is_dropped_and_the_run_goes_on(
    make: Callable[[Host], House],
) -> None:
    def rule(call: Call) -> str | Exception:
        return ProviderError("overloaded", "busy") if call.model == "small" else said(call)

    house = make(Host(rule))
    handle = await house.start(options={"rounds": 2}, retries=1)
    result = await handle.result()
    assert result.degraded
    assert exit_code(result) == 5
    assert exit_code(result, require_consensus=True) == 3
    assert [d["model"] for d in result.dropped] == ["h:small"]
    log = await house.log(handle.run_id)
    attempts = [e for e in log if isinstance(e, CallStarted) and e.model == "h:small"]
    assert [e.attempt for e in attempts] == [1, 2]
    assert sum(e.kind == "dropped" for e in log if isinstance(e, CallFailed)) == 1


async def test_below_quorum_the_run_fails_with_no_confidence(make: Callable[[Host], House]) -> None:
    def rule(call: Call) -> str | Exception:
        return said(call) if call.model == "large" else ProviderError("auth", "no key")

    house = make(Host(rule))
    result = await (await house.start()).result()
    assert (result.status, result.stop_reason) == ("failed", "no_quorum")
    assert exit_code(result) == 3
    assert result.confidence is None
    well_formed(await house.log(result.run_id))


@pytest.mark.parametrize("nothing", ["", " \n\u200b", "I'm sorry, but I can't help with that."])
async def test_an_empty_reply_or_a_refusal_is_an_abstention(
    make: Callable[[Host], House], nothing: str
) -> None:
    house = make(Host(lambda call: nothing if call.model == "small" else said(call)))
    result = await (await house.start(options={"rounds": 1})).result()
    assert result.status == "decided"
    assert not result.dropped
    assert [d.model for d in result.dissent] == ["h:mid"]


async def test_everyone_silent_is_no_quorum(make: Callable[[Host], House]) -> None:
    result = await (await make(Host(lambda call: "")).start()).result()
    assert (exit_code(result), result.confidence) == (3, None)


async def test_a_call_ends_at_its_deadline_and_is_charged_as_reserved(make: Callable[[Host], House]) -> None:
    class Stuck(Host):
        async def complete(self, call: Call, on_text: Any = None) -> Any:
            if call.model == "small":
                await asyncio.sleep(60)
            return await super().complete(call, on_text)

    house = make(Stuck(said))
    began = time.monotonic()
    handle = await house.start(options={"rounds": 1}, call_deadline_s=0.3)
    await handle.result()
    assert time.monotonic() - began < 1.3
    failed = [e for e in await house.log(handle.run_id) if isinstance(e, CallFailed)]
    assert [(e.kind, e.final) for e in failed] == [("timeout", True)]
    assert failed[0].charged_usd
    assert (await ledger(house, handle.run_id)).reserved_nusd == 0


async def test_the_runs_deadline_pauses_it(make: Callable[[Host], House]) -> None:
    house = make(Host(said, pause=0.15))
    handle = await house.start(deadline_s=0.4)
    paused = await handle.result()
    assert (paused.status, paused.stop_reason, exit_code(paused)) == ("paused", "deadline", 4)
    assert paused.answer
    done = await (await house.runner.resume(handle.run_id, deadline_s=60)).result()
    assert done.status == "decided"


async def test_an_interrupt_records_what_is_in_flight_and_sends_nothing_more(
    make: Callable[[Host], House],
) -> None:
    house = make(Host(said, pause=0.1))
    handle = await house.start()
    async for event in handle.events():
        if isinstance(event, CallStarted) and event.phase == "challenge":
            handle.interrupt()
            break
    paused = await handle.result()
    assert (paused.stop_reason, exit_code(paused)) == ("interrupted", 130)
    log = await house.log(handle.run_id)
    well_formed(log, finished=False)
    finished = {e.key for e in log if isinstance(e, CallFinished)}
    assert {e.key for e in log if isinstance(e, CallStarted)} == finished
    sent = list(house.host.sent)
    assert (await (await house.runner.resume(handle.run_id)).result()).status == "decided"
    assert house.host.sent[: len(sent)] == sent
    assert len(set(house.host.sent)) == len(house.host.sent)


async def test_stopped_at_once_calls_in_flight_are_listed_and_charged_on_resume(
    make: Callable[[Host], House],
) -> None:
    house = make(Host(said, pause=0.1))
    handle = await house.start(options={"rounds": 1})
    async for event in handle.events():
        if isinstance(event, CallStarted):
            handle.kill()
            break
    assert exit_code(await handle.result()) == 130
    again = await house.runner.resume(handle.run_id)
    assert [e.attempt for e in again.lost] == [1]
    result = await again.result()
    assert result.usage["calls"] == 5
    unknown = [e for e in await house.log(handle.run_id) if isinstance(e, CallFailed)]
    assert [e.kind for e in unknown] == ["unknown"]
    assert unknown[0].charged_usd


async def test_resuming_a_finished_run_sends_nothing(make: Callable[[Host], House]) -> None:
    house = make(Host(said))
    handle = await house.start(options={"rounds": 1})
    want = await handle.result()
    sent = len(house.host.sent)
    again = await house.runner.resume(handle.run_id)
    assert await again.result() == want
    assert [e async for e in again.events()] == await house.log(handle.run_id)
    assert len(house.host.sent) == sent


async def test_a_run_that_another_process_writes_is_not_resumed(make: Callable[[Host], House]) -> None:
    house = make(Host(said, pause=0.05))
    handle = await house.start()
    with pytest.raises(UsageError, match="still running"):
        await house.again(Host(said)).runner.resume(handle.run_id)
    handle.kill()


async def test_a_worker_that_was_taken_over_can_write_nothing_more(make: Callable[[Host], House]) -> None:
    house = make(Host(said, pause=0.1))
    handle = await house.start(options={"rounds": 1})
    await house.database.write(lambda c: store.take(c, handle.run_id, "other:1:1", "now", time.time()))
    with pytest.raises(Fenced, match="taken over"):
        await handle.result()
    before = await house.log(handle.run_id)
    assert not any(isinstance(e, CallFinished) for e in before)


async def test_a_changed_prompt_diverges_and_a_fork_keeps_what_matches(
    make: Callable[[Host], House], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pnyx.protocols import consensus as page

    house = make(Host(said))
    handle = await house.start(options={"rounds": 1}, budget_usd=0.0035)
    assert (await handle.result()).stop_reason == "budget"
    kept = [e for e in await house.log(handle.run_id) if isinstance(e, CallFinished)]
    assert kept
    monkeypatch.setattr(
        page,
        "CHALLENGE",
        page.CHALLENGE.__class__(
            "x", "1", ("{", "proposal", "{", "nonce", "", "question", "", "framing", "")
        ),
    )
    resumed = await house.runner.resume(handle.run_id, budget_usd=1.0)
    if any(e.phase == "challenge" for e in kept):
        with pytest.raises(Diverged, match="--fork"):
            await resumed.result()
    else:
        await resumed.result()
    fork = await house.runner.resume(handle.run_id, fork=True, budget_usd=1.0)
    assert fork.run_id != handle.run_id
    result = await fork.result()
    assert result.status == "decided"
    log = await house.log(fork.run_id)
    well_formed(log)
    assert any(isinstance(e, CallFinished) and e.copied and e.phase == "propose" for e in log)


async def test_cancel_ends_a_run_here_and_settles_its_reservations(make: Callable[[Host], House]) -> None:
    house = make(Host(said, pause=0.2))
    handle = await house.start()
    async for event in handle.events():
        if isinstance(event, CallStarted):
            break
    await house.runner.cancel(handle.run_id[:6])
    result = await handle.result()
    assert (result.status, exit_code(result)) == ("cancelled", 1)
    well_formed(await house.log(handle.run_id))
    assert (await ledger(house, handle.run_id)).reserved_nusd == 0


async def test_cancel_reaches_a_run_of_another_process_within_a_second(make: Callable[[Host], House]) -> None:
    house = make(Host(said, pause=5.0))
    handle = await house.start()
    other = house.again(Host(said))
    began = time.monotonic()
    await other.runner.cancel(handle.run_id)
    result = await handle.result()
    assert result.status == "cancelled"
    assert time.monotonic() - began < 1.5


async def test_cancel_ends_a_paused_run_that_nobody_runs(make: Callable[[Host], House]) -> None:
    house = make(Host(said))
    handle = await house.start(budget_usd=0.0015)
    await handle.result()
    await house.runner.cancel(handle.run_id)
    well_formed(await house.log(handle.run_id))
    row = await house.database.read(lambda c: store.find(c, handle.run_id))
    assert row.status == "cancelled"


async def test_ids_take_a_unique_prefix(make: Callable[[Host], House]) -> None:
    house = make(Host(said))
    with pytest.raises(NotFound, match="pnyx runs"):
        await house.runner.resume("zzzz")
    with pytest.raises(NotFound):
        await house.runner.resume("")


async def test_a_question_of_blanks_and_a_panel_too_small_are_refused(make: Callable[[Host], House]) -> None:
    house = make(Host(said))
    with pytest.raises(UsageError, match="no question"):
        await house.start(question=" \n")
    with pytest.raises(UsageError, match="needs 2 seats, the panel has 1"):
        await house.start(seats=PANEL[:1])


async def test_a_bug_in_a_protocol_fails_the_run_and_says_what(
    make: Callable[[Host], House], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(brief: Any, panel: Any) -> Any:
        raise ZeroDivisionError("oops")

    page = get("consensus")
    bad = Protocol("consensus", "", page.phases, broken, page.options)
    monkeypatch.setattr("pnyx.protocols.get", lambda name: bad)
    result = await (await make(Host(said)).start()).result()
    assert (result.status, result.stop_reason, exit_code(result)) == ("failed", "error", 1)
    assert result.detail["message"] == "ZeroDivisionError: oops"
