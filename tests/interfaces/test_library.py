"""The library's doors: one request, whichever of them it goes through."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import pnyx
from pnyx.errors import UsageError
from pnyx.providers.registry import Providers

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


async def test_reviews_and_debates_take_the_same(alone: Path) -> None:
    for ask in (pnyx.aggregate, pnyx.deliberate):
        with pytest.raises(UsageError, match="did you mean budget_usd"):
            await ask("Why?", **request(budget=1))
        done = await ask("Why?", **request(options={}, allow_unknown_price=True))
        assert done.final_answer == "yes"


async def test_a_stream_on_a_shared_runner_that_is_left_early_is_interrupted(alone: Path) -> None:
    settings = pnyx.load_settings().with_own(["m"])
    providers = Providers(settings, extra={"m": pnyx.FakeProvider(said)})
    async with pnyx.Runner.open(settings, providers) as runner:
        events = pnyx.stream("Why?", panel=SEATS, runner=runner)
        async for event in events:
            left = event.run_id
            break
        await events.aclose()  # type: ignore[attr-defined]
        handle = runner._handles.get(left)
        assert handle is None or (await handle.result()).status == "paused"
        assert (await pnyx.ask("Why?", panel=SEATS, runner=runner, rounds=1)).final_answer == "yes"
