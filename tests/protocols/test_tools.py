"""Tools in the hands of seats, in whole runs. Names follow PROTOCOLS.md, section tools in a phase."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pnyx
from pnyx.config.schema import Settings, ToolsSettings
from pnyx.core.events import CallFinished, Event, RunFinished, RunStarted, ToolCalled
from tests.support.script import Request
from tests.support.scripted import ScriptedHost

TOOLS = ["web_search", "read_page", "run_python", "read_file"]
PANEL = ["lab:alpha", "lab:beta", "lab:gamma"]
LOOK = (("read_file", {"path": "notes.txt"}),)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedHost]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAB_KEY", "sk-planted-0123456789")
    (tmp_path / "notes.txt").write_text("Seven is prime.")
    with ScriptedHost() as host:
        yield host


def settings(host: ScriptedHost, **tools: Any) -> Settings:
    lab = {"kind": "openai", "base_url": host.openai, "api_key_env": "LAB_KEY"}
    price = {"input_price": 1.0, "output_price": 4.0}
    return Settings.model_validate(
        {
            "providers": {"lab": lab},
            "models": dict.fromkeys(PANEL, price),
            "storage": {"url": "runs.db"},
            "tools": {"web_search": {"backend": "searxng", "base_url": "http://127.0.0.1:9"}, **tools},
        }
    )


async def events(host: ScriptedHost, tools: bool | None, **more: Any) -> list[Event]:
    request = {"panel": PANEL, "tools": tools, "tokens": False, "options": {"rounds": 1}, "seed": 1}
    chosen = settings(host, **more.pop("table", {}))
    return [event async for event in pnyx.stream("Is it prime?", settings=chosen, **{**request, **more})]


def offered(request: Request) -> list[str]:
    return [tool["function"]["name"] for tool in request.body.get("tools") or ()]


def phase(request: Request) -> str:
    """What the prompt asks for, in a word."""
    words = {"Your angle": "challenge", "is your draft": "revise"}
    return next((name for word, name in words.items() if word in request.text), "propose")


async def test_propose_and_challenge_offer_every_tool_and_revise_none(host: ScriptedHost) -> None:
    await events(host, True, table={"code_execution": {"enabled": True}})
    assert [phase(request) for request in host.log] == ["propose", "challenge", "challenge", "revise"]
    for request in host.log:
        assert sorted(offered(request)) == ([] if phase(request) == "revise" else sorted(TOOLS))


async def test_one_run_may_turn_tools_on_or_off(host: ScriptedHost) -> None:
    for enabled, tools, wanted in (
        (False, None, False),
        (False, True, True),
        (True, None, True),
        (True, False, False),
    ):
        host.log.clear()
        await events(host, tools, table={"enabled": enabled})
        assert any(map(offered, host.log)) == wanted


def test_the_defaults_are_the_specified_ones() -> None:
    tools = ToolsSettings()
    assert (tools.enabled, tools.max_rounds) == (False, 5)
    assert (tools.web_search.backend, tools.web_search.max_results) == ("duckduckgo", 5)
    assert (tools.code_execution.enabled, tools.code_execution.timeout_s) == (False, 30)
    assert tools.file_read.roots == (".",)


async def test_a_model_that_always_asks_for_a_tool_gets_max_rounds_turns(host: ScriptedHost) -> None:
    host.on("*", tool_calls=LOOK)
    for most in (3, 5):
        host.log.clear()
        log = await events(host, True, protocol="sample", table={"max_rounds": most}, options={"samples": 1})
        assert [bool(offered(request)) for request in host.log] == [True] * (most - 1) + [False]
        assert sum(isinstance(event, ToolCalled) for event in log) == most - 1
        assert isinstance(log[-1], RunFinished)
        assert (log[-1].status, log[-1].result["stop_reason"]) == ("failed", "no_quorum")  # it never answered


async def test_a_tool_call_is_recorded_with_phase_seat_arguments_and_outcome(host: ScriptedHost) -> None:
    host.on("*", text="It is prime.")
    host.on("alpha", call=1, tool_calls=LOOK)
    log = await events(host, True)
    (called,) = (event for event in log if isinstance(event, ToolCalled))
    labels = {s["model"]: s["seat"] for event in log if isinstance(event, RunStarted) for s in event.seats}
    assert (called.phase, called.round, called.seat) == ("propose", 1, labels["lab:alpha"])
    assert (called.tool, called.arguments, called.ok) == ("read_file", {"path": "notes.txt"}, True)
    assert "Seven is prime." in called.outcome
    (again,) = (r for r in host.requests("alpha") if r.call == 2)
    (result,) = (m["content"] for m in again.body["messages"] if m["role"] == "tool")
    assert re.search(r"<(m\w{10}) tool read_file>\n[^<]*Seven is prime\.\s*\n</\1>", result)


async def test_every_turn_counts_to_the_budget(host: ScriptedHost) -> None:
    host.on("*", text="It is prime.")
    host.on("alpha", call=range(1, 4), tool_calls=LOOK)
    log = await events(host, True)
    finished = [event for event in log if isinstance(event, CallFinished)]
    assert isinstance(log[-1], RunFinished)
    usage = log[-1].result["usage"]
    assert usage["calls"] == len(finished) == len(host.log) == 7
    assert usage["cost_usd"] == pytest.approx(sum(event.cost_usd or 0 for event in finished))
    assert all(event.cost_usd for event in finished)
    cheap = await events(host, True, budget_usd=usage["cost_usd"] / 100)
    assert isinstance(cheap[-1], RunFinished)
    assert (cheap[-1].status, cheap[-1].result["stop_reason"]) == ("paused", "budget")
