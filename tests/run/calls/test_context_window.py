"""Prompts longer than a model's window, known or unknown."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import pytest

from pnyx.core.events import CallFailed, CallFinished, CallStarted
from pnyx.core.models import Price, Usage
from pnyx.errors import ProviderError, UsageError
from pnyx.providers.base import Call, Completion, ToolCall, ToolSpec
from pnyx.tools import Toolbox
from tests.support.panels import Host, seats
from tests.support.processes import Node, well_formed

LONG = "It is so because of many things, each of which is told at length. " * 120


def long_said(call: Call) -> str:
    n = sum(map(ord, call.messages[-1].text)) % 9973
    return " ".join(f"{call.model}{n}x{i}" for i in range(700)) + LONG


async def test_a_prompt_longer_than_a_known_window_is_shortened_and_recorded(
    make: Callable[[Host], Node],
) -> None:
    node = make(Host(long_said))
    handle = await node.start(seats=seats("h:a", "h:b", "h:c", context=4096), options={"rounds": 2})
    result = await handle.result()
    log = await node.log(handle.run_id)
    well_formed(log)
    assert (result.status, result.dropped) == ("decided", ())
    started = [e for e in log if isinstance(e, CallStarted)]
    assert started[0].cut == 0
    assert all(e.cut > 0 for e in started if e.phase == "revise")
    assert all(len(prompt.encode()) / 3 <= 4096 for prompt in node.host.sent)
    assert [e.prompt for e in started] == node.host.sent


async def test_a_prompt_that_a_host_rejects_as_too_long_is_shortened_once(
    make: Callable[[Host], Node],
) -> None:
    refused: list[str] = []

    def strict(call: Call) -> str | Exception:
        prompt = call.messages[-1].text
        if len(prompt) > 40_000:
            refused.append(prompt)
            return ProviderError("too_long", "at most 10,000 tokens")
        return long_said(call)

    node = make(Host(strict))
    handle = await node.start(options={"rounds": 1})
    result = await handle.result()
    log = await node.log(handle.run_id)
    assert (result.status, result.degraded, len(refused)) == ("decided", False, 1)
    failed = [e for e in log if isinstance(e, CallFailed)]
    assert [(e.kind, e.final, e.attempt) for e in failed] == [("too_long", False, 1)]
    second_run = [e for e in log if isinstance(e, CallStarted) and e.key == failed[0].key]
    assert [e.attempt for e in second_run] == [1, 2]
    assert second_run[0].cut == 0 < second_run[1].cut
    assert second_run[0].fingerprint == second_run[1].fingerprint


async def test_a_seat_is_dropped_if_its_host_rejects_the_shortest_prompt_too(
    make: Callable[[Host], Node],
) -> None:
    def never(call: Call) -> str | Exception:
        return ProviderError("too_long", "no") if call.model == "mid" else long_said(call)

    node = make(Host(never))
    handle = await node.start(options={"rounds": 1})
    result = await handle.result()
    assert [drop["model"] for drop in result.dropped] == ["h:mid"]
    calls = [e for e in await node.log(handle.run_id) if isinstance(e, CallStarted) and e.model == "h:mid"]
    lengths = [len(call.prompt) for call in calls]
    assert all(later < 0.9 * length for length, later in pairwise(lengths))
    assert lengths[-1] < 0.3 * lengths[0]


async def test_a_question_longer_than_the_window_is_not_sent_blind(make: Callable[[Host], Node]) -> None:
    node = make(Host(long_said))
    small = (*seats("h:a", "h:b"), *seats("h:tiny", context=1024))
    handle = await node.start(seats=(*small[:2], small[2]), question="Why? " * 2000, options={"rounds": 1})
    result = await handle.result()
    log = await node.log(handle.run_id)
    assert {e.model for e in log if isinstance(e, CallFinished)} == {"h:a", "h:b"}
    assert "exceeds the model's window of 1,024 tokens" in result.dropped[0]["reason"]
    assert not any("tiny" in e.model for e in log if isinstance(e, CallStarted))


@pytest.mark.parametrize(("fitting", "is_refused"), [(0, True), (1, True), (2, False)])
async def test_a_question_that_too_few_windows_hold_starts_no_run(
    make: Callable[[Host], Node], fitting: int, is_refused: bool
) -> None:
    node = make(Host(long_said))
    panel = (*seats("h:a", "h:b")[:fitting], *seats("h:c", "h:d", "h:e", context=1024)[: 3 - fitting])
    request = {"seats": panel, "question": "Why? " * 2000, "protocol": "voting"}
    if not is_refused:
        await (await node.start(**request)).result()
        return
    with pytest.raises(UsageError, match=r"takes about 3,334 tokens, and the window of h:c has 1,024, with"):
        await node.start(**request)
    assert not node.host.sent


class Interpreter:
    spec = ToolSpec("run_python", "Runs Python.", {"type": "object", "properties": {"code": {}}})

    async def run(self, arguments: Mapping[str, Any]) -> str:
        return "ok"


class Programmers(Host):
    """Models that write long programs, and a host that counts four bytes of a request as a token."""

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        self.sizes.append(self.size(call))
        if not call.tools:
            return Completion("Final answer: 4", Usage(self.sizes[-1], 0, 10, 0))
        code = ToolCall(f"c{len(self.sizes)}", "run_python", {"code": "total += 1234567890\n" * 200})
        thoughts = "I add it up once more. " * 40
        return Completion("", Usage(self.sizes[-1], 0, 100, 0), "tool", (code,), reasoning=thoughts)

    def size(self, call: Call) -> int:
        calls = [dict(t.arguments) for message in call.messages for t in message.tool_calls]
        parts = (
            [(m.text, m.thoughts) for m in call.messages],
            calls,
            [dict(tool.parameters) for tool in call.tools],
        )
        return len(json.dumps(parts)) // 4

    sizes: list[int]


async def test_tool_arguments_and_thoughts_count_against_window_and_cap(
    make: Callable[[Host], Node],
) -> None:
    host = Programmers(long_said)
    host.sizes = []
    node = make(host)
    node.runner.resources.toolbox = Toolbox({"run_python": Interpreter()})
    panel = seats("h:a", "h:b", "h:c", price=Price(10.0, 10.0), context=4096)
    handle = await node.start(
        seats=panel, options={"rounds": 1}, tools=("run_python",), tool_turns=6, budget_usd=2.0
    )
    await handle.result()
    log = await node.log(handle.run_id)
    started = {(e.key, e.attempt): e for e in log if isinstance(e, CallStarted)}
    finished = [e for e in log if isinstance(e, CallFinished)]
    assert max(host.sizes) > 2000
    assert max(host.sizes) + 16 <= 4096
    assert any(e.cut > 0 for e in started.values())
    for event in finished:
        assert event.usage_flag is None
        assert (event.cost_usd or 0) <= (started[event.key, event.attempt].reserved_usd or 0)
