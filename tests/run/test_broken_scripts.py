"""A third-party protocol that raises anything, or awaits what cannot be recorded, fails its run by name."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from pnyx.core.steps import Abstain, Brief, Decision, Enter, Panel, Tally, Use
from pnyx.errors import Diverged, Fenced, Halted, ScriptError, StoreError
from tests.run.test_drive import A, ask, run


@pytest.mark.parametrize(
    "fault",
    [
        *(asyncio.CancelledError(), SystemExit(3), GeneratorExit(), BaseException("all")),
        *(Halted("stop"), Fenced("taken"), StoreError("disk full"), Diverged("other prompt")),
    ],
    ids=lambda fault: type(fault).__name__,
)
@pytest.mark.parametrize("place", ["start", "script", "branch", "node"])
async def test_a_protocol_cannot_stop_more_than_its_run(fault: BaseException, place: str) -> None:
    def fails(*_: object) -> Any:
        raise fault

    async def branch() -> None:
        fails()

    async def script(brief: Brief, panel: Panel) -> Any:
        if place == "script":
            fails()
        await (panel.all([branch()]) if place == "branch" else panel.graph({"a": ((), fails)}))

    with pytest.raises(ScriptError, match=f"it raised {type(fault).__name__}"):
        await run(fails if place == "start" else script)


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        (lambda panel: Tally("votes", {"A": "two"}), "Tally: tally must be a mapping to numbers"),  # type: ignore[dict-item]
        (lambda panel: Tally("votes", {"A": float("nan")}), "Tally: tally must be a mapping to numbers"),
        (lambda panel: Tally("votes", {}, detail={"seat": A}), "Tally: detail must be JSON"),
        (lambda panel: Tally("votes", {}, winner=4), "Tally: winner must be text or None"),  # type: ignore[arg-type]
        (lambda panel: Abstain("A", "tired"), "Abstain: seat must be a seat"),  # type: ignore[arg-type]
        (lambda panel: Enter("ask", "one"), "Enter: round must be a whole number"),  # type: ignore[arg-type]
        (lambda panel: Enter("ask", answer=4), "Enter: answer must be text or None"),  # type: ignore[arg-type]
        (lambda panel: Use(None, "search", {"at": A}), "Use: arguments must be JSON"),
        (lambda panel: panel.all([1]), "All: branches must be steps and coroutines"),
        (lambda panel: panel.all([], quorum=None), "All: quorum must be a whole number"),
        (lambda panel: panel.graph({"a": None}), "Graph: nodes must be"),
        (lambda panel: panel.run("voting", None), "Run: brief must be a Brief"),
        (lambda panel: replace(ask(A, "?"), schema={}), "Ask: schema must be a Schema"),  # type: ignore[arg-type]
        (lambda panel: replace(ask(A, "?"), max_tokens=-1), "Ask: max_tokens must be"),
        (lambda panel: asyncio.sleep(0.001), "a protocol may only await its panel, not Future"),
    ],
)
async def test_a_step_that_could_not_be_recorded_is_named(step: Any, problem: str) -> None:
    async def script(brief: Brief, panel: Panel) -> Any:
        await step(panel)

    with pytest.raises(ScriptError, match=problem):
        await run(script)


async def test_a_script_that_is_no_async_function_is_named() -> None:
    with pytest.raises(ScriptError, match="it must be an async function, which awaits; not Decision"):
        await run(lambda brief, panel: Decision(answer="yes"))
