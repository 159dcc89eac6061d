"""The functions of the library: the same request, whichever of them it goes through."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import pnyx
from pnyx.errors import NotFound, UsageError
from pnyx.store.records import outcomes, runs

SEATS = ("m:a", "m:b", "m:c")


def reply(call: pnyx.Call) -> str:
    return "I have checked it.\nFinal answer: yes"


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def last(events: AsyncIterator[pnyx.Event]) -> dict[str, Any]:
    found: Any = [event async for event in events][-1]
    return dict(found.result)


async def by_ask(**request: Any) -> dict[str, Any]:
    return (await pnyx.ask("Why?", **request)).to_json()


async def by_stream(**request: Any) -> dict[str, Any]:
    return await last(pnyx.stream("Why?", **request))


async def by_ask_sync(**request: Any) -> dict[str, Any]:
    return (await asyncio.to_thread(pnyx.ask_sync, "Why?", **request)).to_json()


Function = Callable[..., Awaitable[dict[str, Any]]]
FUNCTIONS = pytest.mark.parametrize("function", [by_ask, by_stream, by_ask_sync])


def request(**more: Any) -> dict[str, Any]:
    return {"panel": SEATS, "providers": {"m": pnyx.FakeProvider(reply)}, **more}


@FUNCTIONS
@pytest.mark.parametrize("options", [{"rounds": 1}, {"options": {"rounds": 1}}])
async def test_options_are_keywords_or_a_mapping(
    empty_folder: Path, function: Function, options: dict[str, Any]
) -> None:
    assert (await function(**request(**options)))["rounds"] == 1


@FUNCTIONS
async def test_a_keyword_takes_precedence_over_the_mapping(empty_folder: Path, function: Function) -> None:
    assert (await function(**request(rounds=1, options={"rounds": 5})))["rounds"] == 1


@FUNCTIONS
async def test_an_unknown_price_can_be_allowed(empty_folder: Path, function: Function) -> None:
    providers = {"m": Unpriced()}
    with pytest.raises(UsageError, match="price"):
        await function(**request(providers=providers, budget_usd=1.0))
    done = await function(**request(providers=providers, budget_usd=1.0, rounds=1, allow_unknown_price=True))
    assert done["final_answer"] == "yes"


@FUNCTIONS
async def test_a_fake_model_costs_nothing_so_that_a_budget_allows_it(
    empty_folder: Path, function: Function
) -> None:
    settings = pnyx.load_settings(overrides={"budget": {"run_usd": 1.0}})
    assert (await function(**request(rounds=1, settings=settings)))["usage"]["cost_usd"] == 0


class Unpriced:
    async def complete(self, call: pnyx.Call) -> str:
        return reply(call)


@FUNCTIONS
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"round": 1}, "no option 'round'; did you mean rounds"),
        ({"options": {"round": 1}}, "no option 'round'; did you mean rounds"),
        ({"budget": 1}, "no option 'budget'; did you mean budget_usd"),
        ({"reasoning_effort": "low"}, "no option 'reasoning_effort'; did you mean effort"),
        ({"budget_usd": -1}, "budget_usd must be a number above 0"),
        ({"budget_usd": math.nan}, "budget_usd must be a number above 0"),
        ({"deadline_s": 0}, "deadline_s must be a number above 0"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"seed": 2**40}, "seed must be a whole number from 0"),
    ],
)
async def test_an_invalid_request_is_a_usage_error(
    empty_folder: Path, function: Function, wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        await function(**request(**wrong))
    assert message in str(caught.value)


UNTOLD: Any = pnyx.Material("Notes", 5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"question": None}, "question must be text, not None"),
        ({"question": 5}, "question must be text, not 5"),
        ({"panel": [1]}, "panel.0 must be text, not 1"),
        ({"panel": 5}, "panel must be a list, not 5"),
        ({"protocol": 5}, "protocol must be text, not 5"),
        ({"preset": ["quick"]}, "preset must be text, not ['quick']"),
        ({"roles": "x"}, "roles must be a mapping, not 'x'"),
        ({"roles": {1: "critic"}}, "a key of roles must be text, not 1"),
        ({"roles": {"1": 2}}, "roles.1 must be text, not 2"),
        ({"cast": 5}, "cast must be text, not 5"),
        ({"options": [1]}, "options must be a mapping, not [1]"),
        ({"protocol": "consensus", "threshold": 10**400}, "consensus.threshold must be a number, not 1000"),
        ({"rounds": math.nan}, "consensus.rounds must be a whole number, not nan"),
        ({"context": 5}, "context must be a list, not 5"),
        ({"context": ["text", 5]}, "context.1 must be text or a pnyx.Material, not 5"),
        ({"context": [UNTOLD]}, "context.0.text must be text, not 5"),
        ({"responses": 5}, "responses must be a list, not 5"),
        ({"ground": "no"}, "ground must be true or false, not 'no'"),
        ({"tools": 1}, "tools must be true or false, not 1"),
        ({"budget_usd": "1"}, "budget_usd must be a number above 0"),
        ({"deadline_s": True}, "deadline_s must be a number above 0"),
        ({"seed": "1"}, "seed must be a whole number from 0"),
    ],
)
async def test_a_value_of_the_wrong_type_is_a_usage_error_and_starts_no_run(
    empty_folder: Path, wrong: dict[str, Any], message: str
) -> None:
    async with pnyx.open_runner(providers={"m": pnyx.FakeProvider(reply)}) as runner:
        with pytest.raises(UsageError) as caught:
            await pnyx.ask(**{"question": "Why?", "panel": SEATS, **wrong}, runner=runner)
        assert await runner.database.read(lambda c: runs.listing(c, limit=1)) == []
    assert message in str(caught.value)


@FUNCTIONS
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"settings": {"run": {}}}, "settings must be the result of pnyx.load_settings(), not {'run': {}}"),
        ({"providers": ["m"]}, "providers must be a mapping of names to objects, not ['m']"),
        ({"providers": {3: pnyx.FakeProvider(reply)}}, "a key of providers must be text, not 3"),
        ({"providers": {"m": "host"}}, "str is not a provider: it needs"),
        (
            {"runner": pnyx.open_runner()},
            "runner must be the value of `async with pnyx.open_runner() as runner`, not <",
        ),
    ],
)
async def test_wrong_settings_runner_or_providers_are_a_usage_error(
    empty_folder: Path, function: Function, wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        await function(**{**request(), **wrong})
    assert message in str(caught.value)


async def test_ask_sync_needs_a_thread_without_an_event_loop(empty_folder: Path) -> None:
    with pytest.raises(UsageError, match=r"await pnyx\.ask"):
        pnyx.ask_sync("Why?", **request())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"run_id": 3}, "run_id must be text, not 3"),
        ({"fork": "no"}, "fork must be true or false, not 'no'"),
        ({"budget_usd": -1}, "budget_usd must be a number above 0"),
        ({"budget_usd": "1"}, "budget_usd must be a number above 0"),
        ({"deadline_s": math.nan}, "deadline_s must be a number above 0"),
        ({"providers": {3: pnyx.FakeProvider(reply)}}, "a key of providers must be text, not 3"),
    ],
)
async def test_an_invalid_resume_is_a_usage_error_even_if_the_run_is_over(
    empty_folder: Path, wrong: dict[str, Any], message: str
) -> None:
    done = await pnyx.ask("Why?", protocol="single", **request())
    with pytest.raises(UsageError) as caught:
        await pnyx.resume(**{"run_id": done.run_id, **wrong})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"run_id": 3}, "run_id must be text, not 3"),
        ({"result": None}, "result must be text, not None"),
        ({"answer": 408}, "answer must be text, not 408"),
    ],
)
async def test_invalid_feedback_is_a_usage_error(
    empty_folder: Path, wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        await pnyx.feedback(**{"run_id": "x", "result": "success", **wrong})
    assert message in str(caught.value)


async def test_a_single_value_is_a_list_of_one(empty_folder: Path) -> None:
    host = pnyx.FakeProvider(reply)
    done = await pnyx.ask("Why?", panel="m:a*3", context="It rains.", providers={"m": host}, rounds=1)
    assert [seat["model"] for seat in done.seats] == ["m:a"] * 3
    assert all("It rains." in call.prompt for call in host.calls)
    reviewed = await pnyx.aggregate("Why?", responses="No.", providers={"m": host}, panel="m:a")
    assert reviewed.detail["message"].startswith("1 of 1 responses")


async def test_context_is_stored_with_the_run_and_used_on_resume(empty_folder: Path) -> None:
    provider = StallingProvider()
    options: dict[str, Any] = {"panel": SEATS, "protocol": "voting", "providers": {"m": provider}}
    paused = await pnyx.ask("Why?", context=["It rains."], deadline_s=0.5, **options)
    provider.answering = True
    done = await pnyx.resume(paused.run_id, deadline_s=60, providers={"m": provider})
    assert (paused.status, done.status) == ("paused", "consensus")


async def test_aggregate_and_deliberate_take_the_same_options(empty_folder: Path) -> None:
    for ask in (pnyx.aggregate, pnyx.deliberate):
        with pytest.raises(UsageError, match="did you mean budget_usd"):
            await ask("Why?", **request(budget=1))
        done = await ask("Why?", **request(options={}, allow_unknown_price=True))
        assert done.final_answer == "yes"


async def test_leaving_a_stream_early_interrupts_the_run_of_a_shared_runner(empty_folder: Path) -> None:
    async with pnyx.open_runner(providers={"m": pnyx.FakeProvider(reply)}) as runner:
        events = pnyx.stream("Why?", panel=SEATS, runner=runner)
        async for event in events:
            run_id = event.run_id
            break
        await events.aclose()
        handle = runner.local.get(run_id)
        assert handle is None or (await handle.result()).status == "paused"
        assert (await pnyx.ask("Why?", panel=SEATS, runner=runner, rounds=1)).final_answer == "yes"


class BlockedProvider:
    """Sets `called` when it is called, and replies once `release` is set."""

    def __init__(self) -> None:
        self.calls, self.called, self.release = 0, asyncio.Event(), asyncio.Event()

    async def complete(self, call: pnyx.Call) -> str:
        self.calls += 1
        self.called.set()
        await self.release.wait()
        return reply(call)


async def test_a_cancelled_ask_interrupts_the_run_of_a_shared_runner_which_can_be_resumed(
    empty_folder: Path,
) -> None:
    host = BlockedProvider()
    async with pnyx.open_runner(providers={"m": host}) as runner:

        async def cancel_while_blocked(function: Awaitable[pnyx.Result]) -> str:
            task = asyncio.ensure_future(function)
            await host.called.wait()
            (run_id,) = runner.local
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            handle = runner.find(run_id)
            assert handle is not None
            host.release.set()
            assert (await handle.result()).status == "paused"
            host.release.clear()
            host.called.clear()
            return run_id

        run_id = await cancel_while_blocked(pnyx.ask("Why?", panel=SEATS, runner=runner, rounds=1))
        assert (host.calls, await cancel_while_blocked(pnyx.resume(run_id, runner=runner))) == (1, run_id)
        # `ask` paid the proposal, the first `resume` the challenges in flight.
        assert host.calls == 3
        host.release.set()
        assert (await pnyx.resume(run_id, runner=runner)).final_answer == "yes"
        assert host.calls == 4


async def test_settings_and_providers_cannot_be_passed_beside_a_runner(empty_folder: Path) -> None:
    async with pnyx.open_runner(providers={"m": pnyx.FakeProvider(reply)}) as runner:
        for more in ({"providers": {"m": pnyx.FakeProvider(reply)}}, {"settings": runner.settings}):
            with pytest.raises(UsageError, match=r"pass them to pnyx\.open_runner"):
                await pnyx.ask("Why?", panel=SEATS, runner=runner, **more)


class StallingProvider:
    """Replies to one call, and to the next ones only if `answering` is set."""

    def __init__(self) -> None:
        self.calls, self.answering = 0, False

    async def complete(self, call: pnyx.Call) -> str:
        self.calls += 1
        if self.calls > 1 and not self.answering:
            await asyncio.sleep(60)
        return reply(call)


async def test_a_resumed_run_pays_nothing_twice(empty_folder: Path) -> None:
    options: dict[str, Any] = {"panel": SEATS, "protocol": "voting"}
    for seconds in (0.5, 5.0, 25.0):  # on a busy machine the calls begin later than the first
        provider = StallingProvider()
        paused = await pnyx.ask("Why?", providers={"m": provider}, deadline_s=seconds, **options)
        if provider.calls == 3:
            break
    assert (paused.status, paused.stop_reason, provider.calls) == ("paused", "deadline", 3)
    provider.answering = True
    done = await pnyx.resume(paused.run_id[:8], deadline_s=60, providers={"m": provider})
    assert (done.run_id, done.status, done.final_answer) == (paused.run_id, "consensus", "yes")
    # The recorded vote is not sent again; the two that were interrupted are, and the judge's call.
    assert provider.calls == 6
    assert await pnyx.resume(done.run_id) == done
    with pytest.raises(NotFound):
        await pnyx.resume("zzzz")


async def test_later_feedback_replaces_earlier_feedback(empty_folder: Path) -> None:
    async with pnyx.open_runner(providers={"m": pnyx.FakeProvider(reply)}) as runner:
        done = await pnyx.ask("Why?", panel=SEATS, runner=runner, protocol="voting")
        await pnyx.feedback(done.run_id, "success", runner=runner)
        await pnyx.feedback(done.run_id, "failure", answer="no", runner=runner)
        with pytest.raises(UsageError, match="and not 'no'"):
            await pnyx.feedback(done.run_id, "success", answer="no", runner=runner)
        stored = await runner.database.read(lambda c: outcomes.history(c, "local"))
    assert [(one.result, one.gold) for one in stored] == [("failure", "no")]
    with pytest.raises(UsageError, match="success, partial, failure, not 'good'"):
        await pnyx.feedback(done.run_id, "good")
    with pytest.raises(NotFound):
        await pnyx.feedback("zzzz", "success")
