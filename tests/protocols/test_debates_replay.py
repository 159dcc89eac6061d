"""deliberate, aggregate, auto, decompose as whole runs: what they cost, killed before every call, resumed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pnyx.core.decision import Given
from pnyx.core.events import CallFinished, PhaseEntered
from pnyx.errors import ProviderError
from pnyx.protocols import get
from pnyx.protocols.call_bounds import call_bounds
from pnyx.providers.base import Call, Completion
from pnyx.run.calls.limits import Limits
from pnyx.run.spec import Spec
from tests.support.panels import Host, seats
from tests.support.replaying import attempt, calls_of_phases, check_kills, finish, perform_whole
from tests.support.waiting import STALL_S

SEATS = seats("h:large", "h:mid", "h:small")
LIMITS = Limits(30.0, 200, 0, seed=7)
GIVEN = (Given("0", "Even."), Given("1", "Odd."), Given("2", "Neither."))
CASES: list[tuple[str, dict[str, Any], tuple[Given, ...]]] = [
    ("deliberate", {"rounds": 2}, ()),
    ("deliberate", {"rounds": 1}, GIVEN),
    ("deliberate", {"rounds": 1, "free": True}, ()),
    ("aggregate", {}, ()),
    ("aggregate", {"aggregators": "each"}, ()),
    ("aggregate", {"aggregators": "each", "free": True}, ()),
    ("aggregate", {"aggregators": "one"}, GIVEN),
    ("auto", {}, ()),
    ("auto", {"decompose": False}, ()),
    ("auto", {"found": "checkable"}, ()),
    ("auto", {"found": "writing", "council_rounds": 1}, ()),
    ("auto", {"found": "judgment", "routing": "classic"}, ()),
    ("decompose", {"inner": "voting"}, ()),
    ("decompose", {"inner": "aggregate", "parallel": False, "synthesis": "prioritize"}, ()),
    ("decompose", {"inner": "single", "max_subtasks": 2}, ()),
]
IDS = [f"{name} {options}{' given' if given else ''}" for name, options, given in CASES]


def plan(*tasks: tuple[str, str]) -> str:
    listed = [{"label": t, "question": f"What of {t}?", "needs": needs.split()} for t, needs in tasks]
    return json.dumps({"subtasks": listed})


TREE = plan(("slow", ""), ("fast", ""), ("last", "fast"))


def answers(free: bool, found: str = "compound") -> Callable[[Call], str]:
    """Words that differ between prompts and seats. free: without a short answer. found: `auto`'s class."""

    def rule(call: Call) -> str:
        prompt = call.messages[-1].text
        mark = sum(map(ord, f"{call.model}{prompt}"))
        short = f"I say word{mark % 97}." if free else f"Final answer: {mark % 3}"
        if '"groups"' in prompt:
            return '{"groups": [[1, 2], [3]]}'
        if '"subtasks"' in prompt:
            return TREE
        if '{"class"' in prompt:
            return json.dumps({"class": found})
        if "STEELMAN:" in prompt:
            return f"STEELMAN: Yes.\nCRITIQUE: Step {mark} fails.\nDECISION: For reason {mark}.\n{short}"
        if "ACCEPTED:" in prompt:
            return f"ACCEPTED: {mark}\nREJECTED: none\nANSWER:\nWorked out as {mark}.\n{short}"
        pick = f"BEST: Participant {'ABC'[mark % 3]}\n\n" if "BEST: <label>" in prompt else ""
        return f"{pick}Worked out as {mark}.\n{short}"

    return rule


def spec(name: str, options: dict[str, Any], given: tuple[Given, ...]) -> Spec:
    known = {key: value for key, value in options.items() if key not in ("free", "found")}
    return Spec(
        question="How many?",
        protocol=name,
        seats=SEATS,
        limits=LIMITS,
        options=get(name).resolve_options(known),
        tables={"consensus": {"rounds": 1}, "deliberate": {"rounds": 1}, "decompose": {"inner": "single"}},
        today="2026-01-02",
        seed=3,
        salt="s",
        responses=given,
    )


@pytest.mark.parametrize(("name", "options", "given"), CASES, ids=IDS)
async def test_killed_before_calls_of_every_phase_and_resumed_it_decides_the_same_and_pays_once(
    name: str, options: dict[str, Any], given: tuple[Given, ...], tmp_path: Path
) -> None:
    run, rule = (
        spec(name, options, given),
        answers(bool(options.get("free")), options.get("found", "compound")),
    )
    want, whole, log = await perform_whole(tmp_path, run, rule)
    await check_kills(tmp_path, partial(attempt, run), whole, want, calls_of_phases(log))


@pytest.mark.parametrize(("name", "options", "given"), CASES, ids=IDS)
async def test_a_run_costs_the_calls_that_were_foretold_and_counts_each_once(
    name: str, options: dict[str, Any], given: tuple[Given, ...], tmp_path: Path
) -> None:
    run, host = (
        spec(name, options, given),
        Host(answers(bool(options.get("free")), options.get("found", "compound"))),
    )
    result, log = await finish(run, tmp_path, host)
    assert run.protocol_def.calls is not None
    least, most = call_bounds(run.protocol_def, SEATS, run.options)
    saved = len(SEATS) if given else 0
    assert least - saved <= result.usage["calls"] == len(host.sent) <= most
    costs = [e.cost_usd for e in log if isinstance(e, CallFinished)]
    assert result.usage["cost_usd"] == pytest.approx(sum(filter(None, costs)))
    assert json.loads(json.dumps(result.to_json()))["detail"] == result.detail


async def test_an_inner_run_shows_its_own_phases(tmp_path: Path) -> None:
    result, log = await finish(spec("auto", {}, ()), tmp_path, Host(answers(False)))
    ran = list(dict.fromkeys(e.protocol for e in log if isinstance(e, PhaseEntered)))
    assert ran == ["auto", "decompose", "single"]
    assert (result.protocol, result.detail["route"], result.detail["decomposed"]) == (
        "auto",
        "decompose",
        True,
    )


class Waiting(Host):
    """Holds back what is asked about the slow subtask until the last one has been asked for."""

    def __init__(self) -> None:
        super().__init__(answers(False))
        self.last = asyncio.Event()
        self.flying = self.most = 0

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        prompt = call.messages[-1].text
        asked = prompt.partition("<question>")[2].partition("</question>")[0]
        self.flying += 1
        self.most = max(self.most, self.flying)
        if "What of last?" in asked:
            self.last.set()
        elif "What of slow?" in asked:
            await self.last.wait()
        try:
            return await super().complete(call, on_text)
        finally:
            self.flying -= 1


async def test_a_subtask_starts_the_moment_its_own_needs_are_done_with_no_level_barrier(
    tmp_path: Path,
) -> None:
    host = Waiting()
    run = spec("decompose", {"inner": "single"}, ())
    result, _ = await asyncio.wait_for(finish(run, tmp_path, host), STALL_S)
    assert [task["label"] for task in result.detail["subtasks"]] == ["slow", "fast", "last"]
    assert host.most == 2


async def test_without_parallel_one_subtask_runs_at_a_time(tmp_path: Path) -> None:
    host = Waiting()
    host.last.set()
    await finish(spec("decompose", {"inner": "single", "parallel": False}, ()), tmp_path, host)
    assert host.most == 1


@pytest.mark.parametrize("name", ["deliberate", "aggregate", "decompose", "auto"])
async def test_a_seat_that_dies_leaves_a_degraded_decision_by_the_others(name: str, tmp_path: Path) -> None:
    rule = answers(False)

    def mortal(call: Call) -> str | Exception:
        return ProviderError("not_found", "gone") if call.model == "large" else rule(call)

    result, _ = await finish(spec(name, {}, ()), tmp_path, Host(mortal))
    assert [dropped["model"] for dropped in result.dropped] == ["h:large"]
    assert result.degraded
    assert result.answer
