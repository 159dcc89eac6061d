"""The best answer of a run that stops early: a whole reply with an answer, else one that was cut off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.events import CallFailed, CallFinished, CallStarted, Event, PhaseEntered
from pnyx.interfaces.views.outcome import headline
from pnyx.interfaces.views.transcript import Transcript
from pnyx.protocols import get
from pnyx.run.calls.limits import Limits
from pnyx.run.journal import CUT_OFF
from pnyx.run.result import Summary, exit_code
from pnyx.run.spec import Spec
from tests.support.panels import Host
from tests.support.processes import Node
from tests.support.sized import SEATS, SizedHost

PROTOCOLS = (
    "aggregate",
    "consensus",
    "council",
    "deliberate",
    "escalate",
    "moa",
    "sample",
    "single",
    "voting",
)


def spec(protocol: str, **changes: Any) -> Spec:
    return Spec(
        question="Our team of six keeps four services in one repository. Should we split them?",
        protocol=protocol,
        seats=SEATS,
        limits=Limits(60.0, 4096, 0),
        options=get(protocol).resolve_options({}),
        seed=1,
        salt="1",
        **changes,
    )


async def sole_answer_cost(make: Callable[[Host], Node], protocol: str) -> float:
    """What the cheapest call for an answer of the run costs, in USD."""
    node = make(SizedHost())
    handle = await node.runner.start(spec(protocol))
    assert (await handle.result()).status not in ("paused", "failed")
    log = await node.log(handle.run_id)
    answers = {event.key for event in log if isinstance(event, CallStarted) and event.answers}
    costs = [e.cost_usd for e in log if isinstance(e, CallFinished) and e.key in answers]
    return min(cost for cost in costs if cost is not None)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_reply_that_a_small_budget_cut_off_is_the_best_answer_so_far_and_is_asked_for_again(
    make: Callable[[Host], Node], protocol: str
) -> None:
    cap = 0.8 * await sole_answer_cost(make, protocol)
    node = make(SizedHost())
    free = await (await node.runner.start(spec(protocol))).result()
    handle = await node.runner.start(spec(protocol, budget_usd=cap))
    result = await handle.result()
    assert (result.status, result.stop_reason, exit_code(result)) == ("paused", "budget", 4)
    assert result.usage["cost_usd"] <= cap
    log = await node.log(handle.run_id)
    cuts = [event for event in log if isinstance(event, CallFailed)]
    assert {(cut.kind, cut.final) for cut in cuts} == {(CUT_OFF, False)}
    assert result.answer == max((cut.text for cut in cuts), key=len) != ""
    assert result.detail["truncated"] is True
    assert headline(result.to_json()).startswith("best answer so far, cut off at the token limit; ")
    shown = [entry.text for event in log if (entry := Transcript().add(event)) is not None]
    assert any(result.answer[:40] in text for text in shown)
    sent = len(node.host.sent)
    done = await (await node.runner.resume(handle.run_id, budget_usd=1.0)).result()
    assert (done.status, done.answer) == (free.status, free.answer)
    assert done.detail.get("truncated") is None
    # Only what was cut off was asked for twice.
    assert done.usage["calls"] - free.usage["calls"] == len(cuts)
    assert len(node.host.sent) - sent == free.usage["calls"]


async def test_the_answer_of_a_subtask_is_not_that_of_the_run(make: Callable[[Host], Node]) -> None:
    node = make(SizedHost())
    handle = await node.runner.start(spec("decompose"))
    done = await handle.result()
    named = [event.answer for event in await node.log(handle.run_id) if isinstance(event, PhaseEntered)]
    assert [answer for answer in named if answer][-1] == done.answer
    # Before the synthesis there are only answers to subtasks.
    assert sum(answer is not None for answer in named) == 2
    half = await node.runner.start(spec("decompose", budget_usd=0.5 * done.usage["cost_usd"]))
    assert ((await half.result()).status, (await half.result()).answer) == ("paused", "")


def replied(number: int, text: str, cut: bool) -> list[Event]:
    """The events of a call for an answer."""
    common: dict[str, Any] = {"key": f"/1.{number}", "seat": f"Participant {number}"}
    of_call: dict[str, Any] = {**common, "attempt": 1, "fingerprint": "", "model": "h:m"}
    started = CallStarted(**of_call, prompt_id="p", prompt_sha256="", prompt="", answers=True)
    if cut:
        return [started, CallFailed(**of_call, kind=CUT_OFF, message="cut off", final=False, text=text)]
    return [started, CallFinished(**of_call, text=text)]


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=6))
def test_a_whole_reply_is_better_than_one_that_was_cut_off_and_then_the_longest(
    replies: list[tuple[int, bool]],
) -> None:
    summary, named = Summary(), Summary()
    named.add(PhaseEntered(protocol="p", answer="named"))
    texts = [(f"{number} {'x' * length}" * bool(length), cut) for number, (length, cut) in enumerate(replies)]
    for number, (text, cut) in enumerate(texts):
        for event in replied(number, text, cut):
            summary.add(event)
            named.add(event)
    whole = [text for text, cut in texts if text and not cut]
    cuts = [text for text, cut in texts if text and cut]
    assert summary.answer == next(iter(whole), max(cuts, key=len) if cuts else None)
    assert summary.cut_mark(summary.answer or "") == ({"truncated": True} if cuts and not whole else {})
    assert named.answer == "named"
