"""Votes and baselines as whole runs: what they cost, and killed before every call and resumed."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pnyx.core.models import Seat
from pnyx.core.protocol import Protocol
from pnyx.core.steps import Brief, Decision, Panel
from pnyx.errors import ProviderError
from pnyx.protocols import get
from pnyx.protocols.call_bounds import call_bounds
from pnyx.providers.base import Call
from pnyx.run.calls.limits import Limits
from pnyx.run.drive import drive
from pnyx.run.result import Result
from pnyx.run.spec import Spec
from pnyx.store import Database
from tests.support.panels import Host, open_database, performer, seats
from tests.support.processes import Node
from tests.support.replaying import check_kills, check_log, read_log

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


async def attempt(name: str, options: dict[str, Any], database: Database, host: Host) -> Decision:
    page = get(name)
    made = await performer(database, host, SEATS, limits=LIMITS)

    def resolve(inner: str, brief: Brief) -> tuple[Protocol, Brief]:
        raise AssertionError(f"{name} runs no {inner}")

    brief = Brief("How many?", "2026-01-02", page.resolve_options(options))
    decision = await drive(page, brief, Panel(SEATS, seed=3, salt="s"), made, resolve)
    await made.context.journal.append()
    return decision


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
async def test_killed_before_every_call_and_resumed_it_decides_the_same_and_pays_once(
    name: str, options: dict[str, Any], tmp_path: Path
) -> None:
    database = await open_database(tmp_path, "whole.db")
    whole = Host(rule)
    tried = partial(attempt, name, options)
    want = await tried(database, whole)
    check_log(await read_log(database))
    await database.close()
    await check_kills(tmp_path, tried, whole, want)


async def finish(
    name: str, options: dict[str, Any], folder: Path, host: Host, panel: tuple[Seat, ...] = SEATS
) -> Result:
    """A whole run through the runner."""
    database = await open_database(folder)
    page = get(name)
    spec = Spec(
        question="How many?",
        protocol=name,
        seats=panel,
        limits=LIMITS,
        options=page.resolve_options(options),
        seed=3,
    )
    node = Node(database, host)
    result = await (await node.runner.start(spec)).result()
    await node.runner.close()
    return result


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
async def test_a_run_costs_the_calls_that_were_foretold(
    name: str, options: dict[str, Any], tmp_path: Path
) -> None:
    page, host = get(name), Host(rule)
    result = await finish(name, options, tmp_path, host)
    assert page.calls is not None
    least, most = call_bounds(page, SEATS, page.resolve_options(options))
    assert least <= result.usage["calls"] == len(host.sent) <= most
    assert result.final_answer in ("0", "1")
    assert json.loads(json.dumps(result.to_json()))["detail"] == result.detail


async def test_samples_of_one_model_differ(tmp_path: Path) -> None:
    host = Host(rule)
    result = await finish("sample", {"adaptive": False, "samples": 6}, tmp_path, host, seats("h:only"))
    assert len(set(host.sent)) == 1
    assert set(result.detail["tally"]) == {"0", "1"}


@pytest.mark.parametrize("name", ["voting", "moa", "sample"])
async def test_a_seat_that_dies_leaves_a_degraded_decision_by_the_others(name: str, tmp_path: Path) -> None:
    def mortal(call: Call) -> str | Exception:
        return ProviderError("not_found", "gone") if call.model == "mid" else rule(call)

    result = await finish(name, {}, tmp_path, Host(mortal))
    assert [dropped["model"] for dropped in result.dropped] == ["h:mid"]
    assert result.degraded
    assert {vote["model"] for vote in result.detail["votes"]} == {"h:large", "h:small"}
