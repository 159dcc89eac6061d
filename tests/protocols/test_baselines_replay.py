"""Votes and baselines as whole runs: what they cost, and killed before every call and resumed."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pnyx.core.models import Seat
from pnyx.errors import ProviderError
from pnyx.protocols import get
from pnyx.protocols.call_bounds import call_bounds
from pnyx.providers.base import Call
from pnyx.run.calls.limits import Limits
from pnyx.run.spec import Spec
from tests.support.panels import Host, seats
from tests.support.replaying import attempt, calls_of_phases, check_kills, finish, perform_whole

SEATS = seats("h:large", "h:mid", "h:small")
LIMITS = Limits(30.0, 200, 0, seed=7)
CASES: list[tuple[str, dict[str, Any]]] = [
    ("single", {}),
    ("sample", {"samples": 8}),
    ("sample", {"adaptive": False, "samples": 5}),
    ("voting", {"swap": True}),
    ("voting", {"aggregation": "weighted"}),
    ("moa", {"layers": 2}),
    ("escalate", {}),
]


def rule(call: Call) -> str:
    """Short answers that differ between prompts, seats and samples; a judge's pick where one is asked for."""
    prompt = call.messages[-1].text
    mark = sum(map(ord, f"{call.model}{call.seed}{prompt}"))
    pick = f"BEST: Participant {'ABC'[mark % 3]}\n\n" if "BEST: <label>" in prompt else ""
    return f"{pick}Worked out as {mark}.\nFinal answer: {mark % 2}"


def spec(name: str, options: dict[str, Any], panel: tuple[Seat, ...] = SEATS) -> Spec:
    return Spec(
        question="How many?",
        protocol=name,
        seats=panel,
        limits=LIMITS,
        options=get(name).resolve_options(options),
        today="2026-01-02",
        seed=3,
        salt="s",
    )


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
async def test_killed_before_calls_of_every_phase_and_resumed_it_decides_the_same_and_pays_once(
    name: str, options: dict[str, Any], tmp_path: Path
) -> None:
    run = spec(name, options)
    want, whole, log = await perform_whole(tmp_path, run, rule)
    await check_kills(tmp_path, partial(attempt, run), whole, want, calls_of_phases(log))


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
async def test_a_run_costs_the_calls_that_were_foretold(
    name: str, options: dict[str, Any], tmp_path: Path
) -> None:
    run, host = spec(name, options), Host(rule)
    result, _ = await finish(run, tmp_path, host)
    assert run.protocol_def.calls is not None
    least, most = call_bounds(run.protocol_def, SEATS, run.options)
    assert least <= result.usage["calls"] == len(host.sent) <= most
    assert result.final_answer in ("0", "1")
    assert json.loads(json.dumps(result.to_json()))["detail"] == result.detail


async def test_samples_of_one_model_differ(tmp_path: Path) -> None:
    host = Host(rule)
    run = spec("sample", {"adaptive": False, "samples": 6}, seats("h:only"))
    result, _ = await finish(run, tmp_path, host)
    assert len(set(host.sent)) == 1
    assert set(result.detail["tally"]) == {"0", "1"}


@pytest.mark.parametrize("name", ["voting", "moa", "sample"])
async def test_a_seat_that_dies_leaves_a_degraded_decision_by_the_others(name: str, tmp_path: Path) -> None:
    def mortal(call: Call) -> str | Exception:
        return ProviderError("not_found", "gone") if call.model == "mid" else rule(call)

    result, _ = await finish(spec(name, {}), tmp_path, Host(mortal))
    assert [dropped["model"] for dropped in result.dropped] == ["h:mid"]
    assert result.degraded
    assert {vote["model"] for vote in result.detail["votes"]} == {"h:large", "h:small"}
