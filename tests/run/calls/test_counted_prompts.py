"""What hosts have counted of a prompt bounds the tokens of those that begin alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.context.compaction import texts
from pnyx.core.context.files import File
from pnyx.core.events import CallFinished, CallStarted
from pnyx.core.models import Price, Seat, Usage
from pnyx.core.steps import Ask
from pnyx.core.text import Prompt, most_tokens
from pnyx.core.tool_calls import ToolSpec, Turn
from pnyx.providers.base import Call, Completion
from pnyx.run.calls.counted_prompts import CountedPrompts, prefixes
from tests.run.test_small_budgets import spec
from tests.support.panels import Host
from tests.support.processes import Node
from tests.support.sized import SEATS, SizedHost

PIECES = st.lists(st.text("жд фю it, .\n{}", min_size=1, max_size=400), min_size=1, max_size=5)
LATIN = "lorem ipsum dolor sit amet consectetur adipiscing elit sed eiusmod tempor labore " * 1000


def ask(system: str, pieces: list[str], model: str = "h:m", turns: tuple[Turn, ...] = ()) -> Ask:
    ends = [len("".join(pieces[: n + 1])) for n in range(len(pieces))]
    prompt = Prompt("voting/vote", "", "".join(pieces), system=system, breaks=tuple(ends[:-1]))
    return Ask(Seat("Participant A", model), prompt, turns=turns)


def count(one: Ask) -> int:
    """The tokens of a request by a host that has one for four characters."""
    return sum(map(len, [one.prompt.system, one.prompt.text, *(turn.text for turn in one.turns)])) // 4 + 3


def whole(one: Ask) -> int:
    return most_tokens("\n".join(texts(one)), one.seat.name)


def most(
    counted: CountedPrompts, one: Ask, tools: tuple[ToolSpec, ...] = (), bound: int | None = None
) -> int:
    text = "\n".join(texts(one, tools))
    return counted.bound(tuple(prefixes(one)), lambda: text, one.seat.name, bound or whole(one)).most


@given(PIECES, PIECES, PIECES)
def test_the_bound_is_never_below_the_count_nor_above_that_of_the_text(
    shared: list[str], first: list[str], second: list[str]
) -> None:
    counted, one, two = CountedPrompts(), ask("s", [*shared, *first]), ask("s", [*shared, *second])
    assert most(counted, one) == whole(one)
    counted.note(tuple(prefixes(one)), count(one))
    assert count(two) <= most(counted, two) <= whole(two)
    assert most(counted, one) <= count(one) + most_tokens("")


def test_another_model_or_system_message_has_nothing_in_common() -> None:
    counted, one = CountedPrompts(), ask("s", [LATIN, "task"])
    counted.note(tuple(prefixes(one)), count(one))
    for other in (
        ask("s", [LATIN, "task"], "h:other"),
        ask("t", [LATIN, "task"]),
        ask("s", ["x", LATIN]),
    ):
        assert most(counted, other) == whole(other)


def test_tools_and_turns_are_on_top_of_what_was_counted() -> None:
    counted, one = CountedPrompts(), ask("s", [LATIN, "task"])
    counted.note(tuple(prefixes(one)), count(one))
    turned = ask("s", [LATIN, "task"], turns=(Turn(LATIN, (), ()),))
    assert most(counted, turned, (), 10**9) >= count(one) + most_tokens(LATIN)
    tool = ToolSpec("search", "word " * 200, {})
    assert most(counted, one, (tool,), 10**9) >= count(one) + most_tokens("word " * 200)


class CachingHost(SizedHost):
    """Has a token for six bytes, and reads the text from its cache but for the first call to a model."""

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        known = call.model in self.sent
        self.sent.append(call.model)
        done = await super().complete(call, on_text)
        tokens = cast(Usage, done.usage).input_tokens * 4.3 / 6
        cached = len(LATIN) // 6 if known else 0
        usage = replace(cast(Usage, done.usage), input_tokens=int(tokens), cached_tokens=cached)
        return replace(done, usage=usage)


CACHED = tuple(replace(one, price=replace(cast(Price, one.price), cached=0.1)) for one in SEATS)


@pytest.mark.parametrize(
    "case", ["aggregate", "consensus", "council", "deliberate", "moa", "sample", "voting"]
)
async def test_a_text_that_has_fewer_tokens_than_its_bound_finishes_under_twice_its_cost(
    make: Callable[[Host], Node], case: str
) -> None:
    wanted = replace(spec(case, files=(File.of_text("notes.md", LATIN.encode(), LATIN),)), seats=CACHED)
    usual = await (await make(CachingHost()).runner.start(wanted)).result()
    node = make(CachingHost())
    handle = await node.runner.start(replace(wanted, budget_usd=2 * usual.usage["cost_usd"]))
    result = await handle.result()
    assert result.status not in ("failed", "paused"), result.detail
    log = await node.log(handle.run_id)
    costs = {event.key: event.cost_usd for event in log if isinstance(event, CallFinished)}
    started = [event for event in log if isinstance(event, CallStarted)]
    assert len(started) == len(costs) == usual.usage["calls"]
    assert all((costs[event.key] or 0) <= (event.reserved_usd or 0) for event in started)


class WordyHost(SizedHost):
    """Adds instructions of its own to each prompt, and charges for them."""

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        done = await super().complete(call, on_text)
        usage = cast(Usage, done.usage)
        return replace(done, usage=replace(usage, input_tokens=usage.input_tokens + 3_000))


@pytest.mark.parametrize("case", ["consensus", "council", "moa"])
async def test_what_a_host_has_charged_for_beyond_the_most_is_reserved_for_the_calls_that_follow(
    make: Callable[[Host], Node], case: str
) -> None:
    node = make(WordyHost())
    handle = await node.runner.start(spec(case))
    await handle.result()
    prices = {seat.model: cast(Price, seat.price) for seat in SEATS}
    reserved: dict[tuple[str, int], float] = {}
    known, spare = set[str](), list[float]()
    for event in await node.log(handle.run_id):
        if isinstance(event, CallStarted) and event.model in known:
            price = prices[event.model]
            of_input = (event.reserved_usd or 0.0) * 1e6 - event.max_tokens * price.output
            reserved[event.key, event.attempt] = of_input / price.input
        elif isinstance(event, CallFinished):
            known.add(event.model)
            if (place := (event.key, event.attempt)) in reserved:
                spare.append(reserved[place] - event.input_tokens)
    assert spare
    assert min(spare) >= 0


def test_what_a_host_charges_for_beyond_the_most_changes_nothing_for_other_models() -> None:
    counted, one, other = CountedPrompts(), ask("rules", ["text"]), ask("rules", ["text"], model="h:other")
    before = most(counted, one), most(counted, other)
    counted.note_more("m", 500)
    counted.note_more("m", 200)
    assert (most(counted, one), most(counted, other)) == (before[0] + 500, before[1])
