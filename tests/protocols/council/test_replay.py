"""council as a whole run: what it costs, a seat that dies, and killed before every call and resumed."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from pnyx.core.events import CallStarted, VoteTallied
from pnyx.errors import ProviderError
from pnyx.protocols.call_bounds import call_bounds
from pnyx.protocols.council.protocol import PROTOCOL
from pnyx.providers.base import Call
from pnyx.run.calls.limits import Limits
from pnyx.run.spec import Spec
from tests.support.panels import Host, seats
from tests.support.replaying import attempt, check_kills, finish, perform_whole

SEATS = seats("h:large", "h:mid", "h:small")
LIMITS = Limits(30.0, 200, 0)
PARTS = 6
"""Of the calls to be killed before; a test of each, so that none takes long."""

LATER = "with the votes in view"


def rule(call: Call) -> str:
    """Words of their own for all prompts. In round 1 no two agree, one is unreadable; then all endorse B."""
    prompt = call.messages[-1].text
    mark = sum(map(ord, f"{call.model}{prompt}")) % 9973
    if call.schema is None:
        seen = LATER if "The council has voted" in prompt else "alone"
        new = f"\nNEW PROPOSAL:\nchanged to {mark}, {seen}" if "NEW PROPOSAL:" in prompt and mark % 2 else ""
        return f"{call.model} finds {mark} {seen}.{new}\nFinal answer: {mark % 3}"
    if call.schema.name == "approval":
        return '{"verdict": "REJECT", "reason": "too long"}' if call.model == "small" else "APPROVE"
    if LATER in prompt:
        return '{"vote": "FINALIZE", "label": "Participant B", "text": "", "ranking": ["Participant B"]}'
    return {"large": "FINALIZE: Participant B", "mid": "I cannot."}.get(call.model, "REVISE: the cost")


def spec(**options: Any) -> Spec:
    return Spec(
        question="How many?",
        protocol="council",
        seats=SEATS,
        limits=LIMITS,
        options=PROTOCOL.resolve_options(options),
        today="2026-01-02",
        seed=3,
        salt="s",
    )


@pytest.mark.parametrize("part", range(PARTS))
async def test_killed_before_every_call_and_resumed_it_decides_the_same_and_pays_once(
    part: int, tmp_path: Path
) -> None:
    run = spec(rounds=4)
    want, whole, log = await perform_whole(tmp_path, run, rule)
    assert want.rounds > 1
    assert "confirm" in {e.phase for e in log if isinstance(e, CallStarted)}
    rules = [e.rule for e in log if isinstance(e, VoteTallied)]
    assert rules == ["endorsements"] * want.rounds + ["approvals"]
    assert len(whole.sent) > 2 * PARTS
    calls = itemgetter(slice(part, None, PARTS))
    await check_kills(tmp_path, partial(attempt, run), whole, want, calls)


async def test_a_whole_run_gives_the_contracts_result_at_the_calls_foretold(tmp_path: Path) -> None:
    def agreed(call: Call) -> str:
        return "FINALIZE: Participant B" if call.schema and call.schema.name == "ballot" else rule(call)

    host = Host(agreed)
    result, _ = await finish(spec(), tmp_path, host)
    assert PROTOCOL.calls is not None
    assert len(host.sent) == result.usage["calls"] == call_bounds(PROTOCOL, SEATS, {"rounds": 50})[0]
    assert (result.status, result.rounds) == ("majority", 1)
    assert result.agreement == pytest.approx(2 / 3)
    assert [d.text for d in result.dissent] == ["REJECT: too long"]
    assert json.loads(json.dumps(result.to_json()))["detail"] == result.detail


@pytest.mark.parametrize("at", range(1, 5))
async def test_a_seat_that_is_gone_leaves_a_degraded_decision_by_the_others(at: int, tmp_path: Path) -> None:
    calls = Counter[str]()

    def mortal(call: Call) -> str | Exception:
        calls[call.model] += 1
        if call.model == "small" and calls["small"] >= at:
            return ProviderError("not_found", "gone")
        return "FINALIZE: Participant A" if call.schema and call.schema.name == "ballot" else rule(call)

    result, _ = await finish(spec(), tmp_path, Host(mortal))
    assert calls["small"] == at
    assert [dropped["model"] for dropped in result.dropped] == ["h:small"]
    assert result.degraded
    assert result.detail["winner"] == "Participant A"
    assert result.stop_reason == "majority"


async def test_two_seats_gone_are_no_quorum(tmp_path: Path) -> None:
    def mortal(call: Call) -> str | Exception:
        return rule(call) if call.model == "large" else ProviderError("not_found", "gone")

    result, _ = await finish(spec(), tmp_path, Host(mortal))
    assert (result.status, result.stop_reason) == ("failed", "no_quorum")
    assert result.confidence is None
