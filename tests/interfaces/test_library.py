"""The library's doors: one request, whichever of them it goes through."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import pnyx
from pnyx.errors import NotFound, UsageError
from pnyx.store import outcomes, runs

SEATS = ("m:a", "m:b", "m:c")


def said(call: pnyx.Call) -> str:
    return "I have checked it.\nFinal answer: yes"


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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


Door = Callable[..., Awaitable[dict[str, Any]]]
DOORS = pytest.mark.parametrize("door", [by_ask, by_stream, by_ask_sync])


def request(**more: Any) -> dict[str, Any]:
    return {"panel": SEATS, "providers": {"m": pnyx.FakeProvider(said)}, **more}


@DOORS
@pytest.mark.parametrize("options", [{"rounds": 1}, {"options": {"rounds": 1}}])
async def test_options_are_given_by_name_or_together(
    alone: Path, door: Door, options: dict[str, Any]
) -> None:
    assert (await door(**request(**options)))["rounds"] == 1


@DOORS
async def test_a_name_counts_where_both_are_given(alone: Path, door: Door) -> None:
    assert (await door(**request(rounds=1, options={"rounds": 5})))["rounds"] == 1


@DOORS
async def test_an_unknown_price_may_be_allowed(alone: Path, door: Door) -> None:
    providers = {"m": Unpriced()}
    with pytest.raises(UsageError, match="price"):
        await door(**request(providers=providers, budget_usd=1.0))
    done = await door(**request(providers=providers, budget_usd=1.0, rounds=1, allow_unknown_price=True))
    assert done["final_answer"] == "yes"


class Unpriced:
    async def complete(self, call: pnyx.Call) -> str:
        return said(call)


@DOORS
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"round": 1}, "no option 'round'; did you mean rounds"),
        ({"options": {"round": 1}}, "no option 'round'; did you mean rounds"),
        ({"budget": 1}, "no option 'budget'; did you mean budget_usd"),
        ({"budget_usd": -1}, "budget_usd must be a number above 0"),
        ({"budget_usd": math.nan}, "budget_usd must be a number above 0"),
        ({"deadline_s": 0}, "deadline_s must be a number above 0"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"seed": 2**40}, "seed must be a whole number from 0"),
    ],
)
async def test_what_makes_no_sense_is_a_usage_error(
    alone: Path, door: Door, wrong: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError) as caught:
        await door(**request(**wrong))
    assert told in str(caught.value)


UNTOLD: Any = pnyx.Material("Notes", 5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "told"),
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
async def test_a_value_of_another_kind_is_told_with_what_it_should_be_and_begins_no_run(
    alone: Path, wrong: dict[str, Any], told: str
) -> None:
    async with pnyx.open_runner(providers={"m": pnyx.FakeProvider(said)}) as runner:
        with pytest.raises(UsageError) as caught:
            await pnyx.ask(**{"question": "Why?", "panel": SEATS, **wrong}, runner=runner)
        assert await runner.database.read(lambda c: runs.listing(c, limit=1)) == []
    assert told in str(caught.value)


@DOORS
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"settings": {"run": {}}}, "settings must be the result of pnyx.load_settings(), not {'run': {}}"),
        ({"providers": ["m"]}, "providers must be a mapping of names to objects, not ['m']"),
        ({"providers": {3: pnyx.FakeProvider(said)}}, "a key of providers must be text, not 3"),
        ({"providers": {"m": "host"}}, "str is not a provider: it needs"),
        (
            {"runner": pnyx.open_runner()},
            "runner must be the value of `async with pnyx.open_runner() as runner`, not <",
        ),
    ],
)
async def test_another_object_in_place_of_settings_a_runner_or_providers_is_told(
    alone: Path, door: Door, wrong: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError) as caught:
        await door(**{**request(), **wrong})
    assert told in str(caught.value)


async def test_without_await_only_where_no_event_loop_is_running(alone: Path) -> None:
    with pytest.raises(UsageError, match=r"await pnyx\.ask"):
        pnyx.ask_sync("Why?", **request())


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"run_id": 3}, "run_id must be text, not 3"),
        ({"fork": "no"}, "fork must be true or false, not 'no'"),
        ({"budget_usd": -1}, "budget_usd must be a number above 0"),
        ({"budget_usd": "1"}, "budget_usd must be a number above 0"),
        ({"deadline_s": math.nan}, "deadline_s must be a number above 0"),
        ({"providers": {3: pnyx.FakeProvider(said)}}, "a key of providers must be text, not 3"),
    ],
)
async def test_a_resume_that_makes_no_sense_is_a_usage_error_also_of_a_run_that_is_over(
    alone: Path, wrong: dict[str, Any], told: str
) -> None:
    done = await pnyx.ask("Why?", protocol="single", **request())
    with pytest.raises(UsageError) as caught:
        await pnyx.resume(**{"run_id": done.run_id, **wrong})
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"run_id": 3}, "run_id must be text, not 3"),
        ({"result": None}, "result must be text, not None"),
        ({"answer": 408}, "answer must be text, not 408"),
    ],
)
async def test_feedback_of_another_kind_is_a_usage_error(
    alone: Path, wrong: dict[str, Any], told: str
) -> None:
    with pytest.raises(UsageError) as caught:
        await pnyx.feedback(**{"run_id": "x", "result": "success", **wrong})
    assert told in str(caught.value)


async def test_one_alone_stands_for_a_list_of_one(alone: Path) -> None:
    host = pnyx.FakeProvider(said)
    done = await pnyx.ask("Why?", panel="m:a*3", context="It rains.", providers={"m": host}, rounds=1)
    assert [seat["model"] for seat in done.seats] == ["m:a"] * 3
    assert all("It rains." in call.prompt for call in host.calls)
    given = await pnyx.aggregate("Why?", responses="No.", providers={"m": host}, panel="m:a")
    assert given.detail["message"].startswith("1 of 1 given answers")


async def test_text_for_the_panel_to_know_is_kept_with_the_run_and_resumed(alone: Path) -> None:
    once = Once()
    asked: dict[str, Any] = {"panel": SEATS, "protocol": "voting", "providers": {"m": once}}
    paused = await pnyx.ask("Why?", context=["It rains."], deadline_s=0.5, **asked)
    once.going = True
    done = await pnyx.resume(paused.run_id, deadline_s=60, providers={"m": once})
    assert (paused.status, done.status) == ("paused", "consensus")


async def test_reviews_and_debates_take_the_same(alone: Path) -> None:
    for ask in (pnyx.aggregate, pnyx.deliberate):
        with pytest.raises(UsageError, match="did you mean budget_usd"):
            await ask("Why?", **request(budget=1))
        done = await ask("Why?", **request(options={}, allow_unknown_price=True))
        assert done.final_answer == "yes"


async def test_a_stream_on_a_shared_runner_that_is_left_early_is_interrupted(alone: Path) -> None:
    async with pnyx.open_runner(providers={"m": pnyx.FakeProvider(said)}) as runner:
        events = pnyx.stream("Why?", panel=SEATS, runner=runner)
        async for event in events:
            left = event.run_id
            break
        await events.aclose()
        handle = runner._handles.get(left)
        assert handle is None or (await handle.result()).status == "paused"
        assert (await pnyx.ask("Why?", panel=SEATS, runner=runner, rounds=1)).final_answer == "yes"


class Held:
    """Tells that it was asked, and answers once it is let."""

    def __init__(self) -> None:
        self.asked, self.begun, self.let = 0, asyncio.Event(), asyncio.Event()

    async def complete(self, call: pnyx.Call) -> str:
        self.asked += 1
        self.begun.set()
        await self.let.wait()
        return said(call)


async def test_a_run_on_a_shared_runner_that_nobody_waits_for_is_interrupted_and_can_be_resumed(
    alone: Path,
) -> None:
    host = Held()
    async with pnyx.open_runner(providers={"m": host}) as runner:

        async def given_up(door: Awaitable[pnyx.Result]) -> str:
            task = asyncio.ensure_future(door)
            await host.begun.wait()
            (left,) = runner._handles
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            handle = runner.find(left)
            assert handle is not None
            host.let.set()
            assert (await handle.result()).status == "paused"
            host.let.clear()
            host.begun.clear()
            return left

        left = await given_up(pnyx.ask("Why?", panel=SEATS, runner=runner, rounds=1))
        assert (host.asked, await given_up(pnyx.resume(left, runner=runner))) == (1, left)
        # The proposal was paid by whoever asked; of the challenges, those in flight.
        assert host.asked == 3
        host.let.set()
        assert (await pnyx.resume(left, runner=runner)).final_answer == "yes"
        assert host.asked == 4


async def test_what_is_a_runners_is_given_to_the_runner(alone: Path) -> None:
    async with pnyx.open_runner(providers={"m": pnyx.FakeProvider(said)}) as runner:
        for more in ({"providers": {"m": pnyx.FakeProvider(said)}}, {"settings": runner.settings}):
            with pytest.raises(UsageError, match=r"pass them to pnyx\.open_runner"):
                await pnyx.ask("Why?", panel=SEATS, runner=runner, **more)


class Once:
    """Answers one call, then none until it is told to go on."""

    def __init__(self) -> None:
        self.asked, self.going = 0, False

    async def complete(self, call: pnyx.Call) -> str:
        self.asked += 1
        if self.asked > 1 and not self.going:
            await asyncio.sleep(60)
        return said(call)


async def test_a_run_that_was_left_goes_on_and_pays_nothing_twice(alone: Path) -> None:
    once = Once()
    paused = await pnyx.ask("Why?", panel=SEATS, providers={"m": once}, protocol="voting", deadline_s=0.5)
    assert (paused.status, paused.stop_reason, once.asked) == ("paused", "deadline", 3)
    once.going = True
    done = await pnyx.resume(paused.run_id[:8], deadline_s=60, providers={"m": once})
    assert (done.run_id, done.status, done.final_answer) == (paused.run_id, "consensus", "yes")
    # The vote that was answered is not asked for again; the two that were cut off are, and the judge.
    assert once.asked == 6
    assert await pnyx.resume(done.run_id) == done
    with pytest.raises(NotFound):
        await pnyx.resume("zzzz")


async def test_feedback_is_kept_and_said_again_takes_the_place_of_the_first(alone: Path) -> None:
    async with pnyx.open_runner(providers={"m": pnyx.FakeProvider(said)}) as runner:
        done = await pnyx.ask("Why?", panel=SEATS, runner=runner, protocol="voting")
        await pnyx.feedback(done.run_id, "success", runner=runner)
        await pnyx.feedback(done.run_id, "failure", answer="no", runner=runner)
        with pytest.raises(UsageError, match="and not 'no'"):
            await pnyx.feedback(done.run_id, "success", answer="no", runner=runner)
        kept = await runner.database.read(lambda c: outcomes.history(c, "local"))
    assert [(one.result, one.gold) for one in kept] == [("failure", "no")]
    with pytest.raises(UsageError, match="success, partial, failure, not 'good'"):
        await pnyx.feedback(done.run_id, "good")
    with pytest.raises(NotFound):
        await pnyx.feedback("zzzz", "success")
