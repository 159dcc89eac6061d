"""pnyx.testing: a driven protocol does what a real run does, and the checks find what they are for."""

from __future__ import annotations

import asyncio
import inspect
import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pnyx
from pnyx import testing
from pnyx.core.protocol import Protocol
from pnyx.core.steps import Ask, Brief, Decision, Panel, Reply
from pnyx.core.text import Draft
from pnyx.errors import IllegalPhase, NoQuorum, ProviderError, ScriptError, SeatAbsent, UsageError
from pnyx.protocols import loaded
from pnyx.run.drive import Where, drive
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve
from pnyx.testing import (
    ProtocolDriver,
    ScriptedProvider,
    assert_replays,
    check_provider,
    drive_protocol,
    make_seats,
)
from tests.run.test_drive import Handler
from tests.support.rows import rows
from tests.support.seats import seat

PAGE = (Path(__file__).parents[1] / "docs" / "testing.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
PANEL = ("lab:alpha", "lab:beta", "lab:gamma")
PHASES = pnyx.Phases((pnyx.Transition(pnyx.START, "answer"), pnyx.Transition("answer", "complete")))
PLAN = {
    "subtasks": [
        {"label": "a", "question": "One?", "needs": []},
        {"label": "b", "question": "Two?", "needs": ["a"]},
    ]
}


def answers(ask: Ask) -> str:
    """Text that every phase of every protocol can use."""
    match testing.prompt_name(ask):
        case "route":
            return json.dumps({"class": "checkable"})
        case "plan":
            return json.dumps(PLAN)
        case "challenge":
            return f"{ask.seat.label} doubts the first step: it does not follow."
        case "vote" if ask.schema is not None:
            return "FINALIZE: Participant A\nIt is the clearest."
        case "confirm":
            return "APPROVE"
        case "position":
            return "STEELMAN: It may be.\nCRITIQUE: It is not.\nDECISION: Four.\nFinal answer: 4"
        case "review":
            return "ACCEPTED: all\nREJECTED: none\nANSWER:\nFour.\nFinal answer: 4"
    number = 3 if ask.seat.label[-1] == "C" else 4
    return f"{ask.seat.label} counted.\nBEST: Participant A\nFinal answer: {number}"


@rows("name", [protocol.name for protocol in loaded()])
def test_every_protocol_replays(name: str) -> None:
    first = assert_replays(name, answers, PANEL)
    assert first.decision.answer
    assert len(set(first.keys)) == len(first.keys) > 0


@rows("name", [protocol.name for protocol in loaded()])
async def test_a_driven_protocol_asks_the_same_in_the_same_places_as_a_real_run(name: str) -> None:
    texts: dict[tuple[str, str], str] = {}

    def record(ask: Ask) -> str:
        reply = texts[ask.seat.model.partition(":")[2], ask.prompt.text] = answers(ask)
        return reply

    provider = ScriptedProvider(lambda call: texts[call.model, call.messages[-1].text])
    async with pnyx.open_runner(providers={"lab": provider}) as runner:
        request = RunRequest(question="How many?", protocol=name, models=PANEL, seed=3)
        spec = resolve(request, runner.settings)
        driver = ProtocolDriver(name, record, spec.seats)
        driver.panel, driver.brief = spec.panel, spec.brief
        driver.decide()
        handle = await runner.start(spec)
        started = [event async for event in handle.events() if isinstance(event, pnyx.CallStarted)]
        result = await handle.result()
    asked = {key: ask.fingerprint for key, ask in zip(driver.keys, driver.asks, strict=True)}
    assert {event.key: event.fingerprint for event in started} == asked
    assert (result.answer, result.status) == (driver.decision.answer, driver.decision.status)
    assert (result.rounds, result.dissent) == (driver.decision.rounds, driver.decision.dissent)


def protocol(script: Callable[[Brief, Panel], Any]) -> Protocol:
    return Protocol("mine", "", PHASES, script)


def ask(panel: Panel, place: int, text: str) -> Any:
    return panel.ask(panel.seats[place], Draft("mine/answer", "0", (text,)))


def decided(text: str) -> Decision:
    return Decision(answer=text, status="decided", rounds=1, stop_reason="asked")


async def random_protocol(brief: Brief, panel: Panel) -> Decision:
    await panel.enter("answer")
    return decided((await ask(panel, 0, f"Number {random.random()}?")).text)


async def shared_state(brief: Brief, panel: Panel) -> Decision:
    await panel.enter("answer")
    seen: list[str] = []

    async def one(place: int) -> Reply:
        reply: Reply = await ask(panel, place, f"After {seen}?")
        seen.append(reply.text)
        return reply

    replies = await panel.all([one(place) for place in range(2)])
    return decided(replies[0].text)


async def order_of_replies(brief: Brief, panel: Panel) -> Decision:
    await panel.enter("answer")
    first: list[str] = []

    async def one(place: int) -> Reply:
        reply: Reply = await ask(panel, place, "Yes?")
        first.append(reply.text)
        return reply

    await panel.all([one(place) for place in range(2)])
    return decided(first[0])


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (random_protocol, "run twice with the same replies"),
        (shared_state, "in another order, it asks"),
        (order_of_replies, "in another order, it decides"),
    ],
)
def test_a_protocol_that_cannot_be_resumed_is_found(script: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        assert_replays(protocol(script), lambda ask: f"I am {ask.seat.label}.", PANEL)


def test_errors_are_those_of_a_real_run() -> None:
    async def skips(brief: Brief, panel: Panel) -> Decision:
        await panel.enter("complete")
        return decided("no")

    async def sleeps(brief: Brief, panel: Panel) -> Decision:
        await asyncio.sleep(0)
        return decided("no")

    async def blank(brief: Brief, panel: Panel) -> Decision:
        return decided(" ")

    async def enters(brief: Brief, panel: Panel) -> Decision:
        async def branch() -> None:
            await panel.enter("answer")

        await panel.all([branch()])
        return decided("no")

    async def alone(brief: Brief, panel: Panel) -> Decision:
        await panel.all([ask(panel, 0, "Yes?"), ask(panel, 1, "Yes?")], quorum=2)
        return decided("no")

    wrong = ((skips, IllegalPhase), (sleeps, ScriptError), (blank, ScriptError), (enters, ScriptError))
    for script, error in wrong:
        with pytest.raises(error):
            drive_protocol(protocol(script), lambda ask: "yes", PANEL)
    with pytest.raises(NoQuorum, match="1 of 2 answered, 2 needed"):
        drive_protocol(protocol(alone), lambda ask: "yes" if ask.seat.label[-1] == "A" else None, PANEL)
    with pytest.raises(UsageError, match="no option 'colour'"):
        drive_protocol("voting", answers, PANEL, colour="red")


def test_branches_that_never_started_are_closed() -> None:
    branches: list[Any] = []

    async def halts(brief: Brief, panel: Panel) -> Decision:
        async def branch(place: int) -> Any:
            return await ask(panel, place, "Yes?")

        branches.extend(branch(place) for place in range(3))
        await panel.all(branches)
        return decided("no")

    def script(ask: Ask) -> str:
        raise ValueError("the script has no reply")

    with pytest.raises(ValueError, match="the script has no reply"):
        drive_protocol(protocol(halts), script, PANEL)
    assert [inspect.getcoroutinestate(branch) for branch in branches] == [inspect.CORO_CLOSED] * 3


def test_a_run_that_another_decides_has_that_decision() -> None:
    async def asks_another(brief: Brief, panel: Panel) -> Decision:
        return await panel.run("voting", replace(brief, question="Or not?"))

    driver = drive_protocol(protocol(asks_another), answers, PANEL, decide_run=lambda run: decided("so"))
    assert (driver.decision, driver.asks) == (decided("so"), [])
    assert [(run.protocol, run.brief.question) for run in driver.runs] == [("voting", "Or not?")]
    with pytest.raises(NoQuorum, match="nobody"):
        drive_protocol(
            protocol(asks_another), answers, PANEL, decide_run=lambda run: NoQuorum("nobody is there")
        )


# A tree: ("ask", whether the seat answers) | ("all", quorum, [tree …]) | ("graph", quorum, [(needs, tree) …])
QUORUM = st.integers(0, 3)
TREES: Any = st.recursive(
    st.tuples(st.just("ask"), st.booleans()),
    lambda inner: st.one_of(
        st.tuples(st.just("all"), QUORUM, st.lists(inner, min_size=1, max_size=3)),
        st.tuples(
            st.just("graph"),
            QUORUM,
            st.lists(st.tuples(st.sets(st.integers(0, 2)), inner), min_size=1, max_size=3),
        ),
    ),
    max_leaves=8,
)


async def walk(tree: Any, panel: Panel, text: str) -> str:
    """Perform the tree; prompts tell whether the seat answers, and what the nodes needed answered."""
    if tree[0] == "ask":
        reply: Reply = await ask(panel, 0, f"{'answer' if tree[1] else 'silence'} {text}")
        return reply.text
    _, quorum, parts = tree
    if tree[0] == "all":
        return str(await panel.all([walk(part, panel, text) for part in parts], quorum))

    def node(part: Any) -> Callable[[Any], Any]:
        return lambda results: walk(part, panel, text + str(sorted(results)))

    nodes = {
        str(place): (tuple(str(need) for need in sorted(needs) if need < place), node(part))
        for place, (needs, part) in enumerate(parts)
    }
    return str(await panel.graph(nodes, quorum))


class Concurrent(Handler):
    """Replies as `reply` does, after a number of turns of the loop that differs between asks."""

    async def ask(self, key: str, ask: Ask, where: Where) -> Reply:
        self.keys.append(key)
        for _ in range(sum(key.encode()) % 5):
            await asyncio.sleep(0)
        if (text := reply(ask)) is None:
            raise SeatAbsent(ask.seat.label)
        return Reply(ask, text)


def reply(ask: Ask) -> str | None:
    return None if ask.prompt.text.startswith("silence") else f"to {ask.prompt.text}"


@given(TREES, st.booleans())
def test_one_after_another_branches_ask_and_return_what_they_do_concurrently(
    tree: Any, last_first: bool
) -> None:
    async def script(brief: Brief, panel: Panel) -> Decision:
        try:
            return decided(await walk(tree, panel, ""))
        except (SeatAbsent, NoQuorum) as exc:
            return decided(repr(exc))

    driver = drive_protocol(protocol(script), reply, PANEL, last_first=last_first)
    handler = Concurrent()
    real = asyncio.run(
        drive(
            driver.protocol, driver.brief, driver.panel, handler, lambda name, brief: (driver.protocol, brief)
        )
    )
    assert driver.decision == real
    assert sorted(driver.keys) == sorted(handler.keys)


def test_seats_may_be_references_or_seats() -> None:
    assert [one.label for one in make_seats(*PANEL)] == [f"Participant {letter}" for letter in "ABC"]
    own = (seat("X", "a:b"),)
    assert drive_protocol("single", answers, own).asks[0].seat == own[0]


class Streams:
    """A whole provider. wrong: what is wrong with it."""

    def __init__(self, wrong: str = "") -> None:
        self.wrong, self.closed = wrong, 0

    async def complete(self, call: pnyx.Call, on_text: Callable[[str], None] | None = None) -> Any:
        if self.wrong == "error":
            raise KeyError("choices")
        if self.wrong == "kind":
            raise _unknown_kind()
        if on_text is not None:
            on_text("Yes, " if self.wrong != "pieces" else "No, ")
            on_text("it is.")
        try:
            await asyncio.sleep(0.01 if self.wrong != "cancelled" else 0.2)
        except asyncio.CancelledError:
            if self.wrong != "cancelled":
                raise
            await asyncio.sleep(60)
        return {"text": "x"} if self.wrong == "type" else pnyx.Completion("Yes, it is.", pnyx.Usage(5, 0, 4))

    async def close(self) -> None:
        self.closed += 1
        if self.wrong == "close" and self.closed > 1:
            raise RuntimeError("closed already")


def _unknown_kind() -> ProviderError:
    error = ProviderError("refused", "no")
    error.kind = "tired"
    return error


def test_a_good_provider_passes_and_its_reply_is_returned() -> None:
    good = Streams()
    assert check_provider(good).text == "Yes, it is."
    assert good.closed == 2
    assert check_provider(ScriptedProvider(lambda call: "Yes.")).text == "Yes."

    class Plain:
        async def complete(self, call: pnyx.Call) -> str:
            return call.prompt.upper()

    assert check_provider(Plain(), prompt="Yes?").text == "YES?"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("error", "raised KeyError"),
        ("kind", "unknown kind"),
        ("pieces", "on_text had"),
        ("type", "not text or a pnyx.Completion"),
        ("cancelled", "goes on after"),
    ],
)
def test_what_is_wrong_with_a_provider_is_found(
    wrong: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pnyx.testing.provider.CANCEL_S", 0.2)
    with pytest.raises(AssertionError, match=message):
        check_provider(Streams(wrong))


def test_a_provider_error_of_a_known_kind_comes_through() -> None:
    with pytest.raises(ProviderError, match="slow down"):
        check_provider(ScriptedProvider(lambda call: ProviderError("rate_limited", "slow down")))


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_examples_of_the_page_run(example: str) -> None:
    names: dict[str, Any] = {}
    exec(compile(example, "docs/testing.md", "exec"), names)
    tests = [value for name, value in names.items() if name.startswith("test_")]
    assert tests
    for test in tests:
        test()


def test_the_page_names_all_that_there_is() -> None:
    assert len(EXAMPLES) == 2
    assert {name for name in testing.__all__ if name not in PAGE} == set()
