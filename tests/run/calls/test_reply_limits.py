"""Short replies have a low limit, so their reservations are small; it cuts no reply off for good."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pnyx.core.context import reply_sizes
from pnyx.core.context.reply_sizes import ReplySize
from pnyx.core.events import CallFailed, CallFinished, CallStarted
from pnyx.protocols import get
from pnyx.run.calls.limits import Limits
from pnyx.run.spec import Spec
from tests.support.panels import Host
from tests.support.processes import Node, account_of
from tests.support.sized import SEATS, SizedHost

SHORT = {
    "council/vote": reply_sizes.BALLOT,
    "council/confirm": reply_sizes.APPROVAL,
    "auto/classify": reply_sizes.QUESTION_CLASS,
    "auto/route": reply_sizes.QUESTION_CLASS,
    "camps": reply_sizes.GROUPS,
    "decompose/plan": reply_sizes.PLAN,
    "consensus/challenge": reply_sizes.CHALLENGE,
}
"""Prompt -> the size of its replies; all others are free answers."""
MOST = 4096


def spec(protocol: str, **changes: Any) -> Spec:
    options = get(protocol).resolve_options(changes.pop("options", {}))
    limits = Limits(60.0, changes.pop("max_output_tokens", MOST), 0)
    return Spec(
        question="Should we?", protocol=protocol, seats=SEATS, limits=limits, options=options, **changes
    )


async def starts(node: Node, wanted: Spec) -> list[CallStarted]:
    handle = await node.runner.start(wanted)
    assert (await handle.result()).status not in ("failed", "paused")
    return [event for event in await node.log(handle.run_id) if isinstance(event, CallStarted)]


@pytest.mark.parametrize("protocol", ["council", "auto", "decompose", "deliberate", "voting", "moa"])
async def test_every_kind_of_short_reply_has_its_limit_and_answers_have_that_of_the_run(
    make: Callable[[Host], Node], protocol: str
) -> None:
    node = make(SizedHost())
    for event in await starts(node, spec(protocol)):
        size = SHORT.get(event.prompt_id.partition("+")[0], ReplySize(0))
        assert event.max_tokens == (size.limit or MOST), event.prompt_id


async def test_a_lower_limit_of_the_user_holds_for_short_replies_too(make: Callable[[Host], Node]) -> None:
    node = make(SizedHost(0.3))
    events = await starts(node, spec("council", max_output_tokens=300, options={"rounds": 1}))
    assert {event.max_tokens for event in events} == {300}


async def test_a_short_reply_that_is_cut_off_is_asked_for_again_with_the_limit_of_the_run(
    make: Callable[[Host], Node],
) -> None:
    thinking = make(SizedHost(thoughts=1500))
    handle = await thinking.runner.start(spec("council", options={"rounds": 1}))
    result = await handle.result()
    assert (result.status, result.stop_reason) == ("consensus", "majority")
    assert not any(vote["vote"] is None for vote in result.detail["votes"])
    log = await thinking.log(handle.run_id)
    cut = [event for event in log if isinstance(event, CallFailed)]
    # One for each model, which from then on has the limit of the run.
    assert sorted(event.model for event in cut) == [seat.model for seat in SEATS]
    assert {(event.kind, event.final, event.phase) for event in cut} == {("cut_off", False, "voting")}
    limits = [e.max_tokens for e in log if isinstance(e, CallStarted) and e.phase in ("voting", "confirm")]
    assert sorted(limits) == [reply_sizes.BALLOT.limit] * 3 + [MOST] * 6
    charged = sum(e.charged_usd or 0 for e in cut)
    charged += sum(e.cost_usd or 0 for e in log if isinstance(e, CallFinished))
    account = await account_of(thinking, handle.run_id)
    assert (account.spent_nusd, account.reserved_nusd) == (round(charged * 1e9), 0)


async def test_a_model_that_thinks_beyond_the_limit_of_the_run_is_cut_off_once_and_can_vote(
    make: Callable[[Host], Node],
) -> None:
    node = make(SizedHost(thoughts=MOST + 500))
    handle = await node.runner.start(spec("council", options={"rounds": 1}))
    result = await handle.result()
    assert (result.status, result.degraded) == ("consensus", False)
    assert not any(vote["vote"] is None for vote in result.detail["votes"])
    log = await node.log(handle.run_id)
    for seat in SEATS:
        cut = [e.phase for e in log if isinstance(e, CallFailed) and e.model == seat.model]
        limits = [e.max_tokens for e in log if isinstance(e, CallStarted) and e.model == seat.model]
        assert cut == ["proposing", "voting"]  # a ballot is thought about less, if its host allows it
        limits.remove(reply_sizes.BALLOT.limit or 0)
        assert (limits[0], set(limits[1:])) == (MOST, {2 * MOST})


async def test_a_short_reply_that_was_all_thinking_under_the_limit_of_the_run_is_asked_for_with_twice_as_much(
    make: Callable[[Host], Node],
) -> None:
    node = make(SizedHost(thoughts=MOST + 500))
    events = await starts(node, spec("auto", options={"decompose": False}))
    assert [e.max_tokens for e in events if e.phase == "classify"] == [512, MOST, 2 * MOST]


async def test_a_reply_that_is_cut_off_at_the_limit_of_the_run_is_used(make: Callable[[Host], Node]) -> None:
    node = make(SizedHost())
    handle = await node.runner.start(spec("single", max_output_tokens=100))
    result = await handle.result()
    assert (result.usage["calls"], result.detail["truncated"]) == (1, True)
