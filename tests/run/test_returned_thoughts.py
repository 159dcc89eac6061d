"""Thoughts before a tool call go back to the model that had them, and to no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pnyx.core.tool_calls import ToolCall, ToolSpec
from pnyx.providers.base import Call, Completion
from pnyx.tools import Toolbox
from tests.support.panels import Host
from tests.support.processes import PANEL, Node, fixed_reply

Make = Callable[[Host], Node]
SECRET = "nobody-may-read-this"


class Look:
    spec = ToolSpec("look", "Looks.", {"type": "object", "properties": {}})

    async def run(self, arguments: Any) -> str:
        return "found"


class Looking(Host):
    """Thinks, and uses the tool before it replies."""

    thoughts: list[list[str]]

    async def complete(self, call: Call, on_text: Any = None) -> Completion:
        done = await super().complete(call, on_text)
        self.thoughts.append([m.thoughts for m in call.messages if m.role == "assistant"])
        if call.messages[-1].role == "tool":
            return done
        return replace(
            done, text="", tool_calls=(ToolCall("1", "look", {}),), reasoning=f"{SECRET} of {call.model}"
        )


async def test_thoughts_before_a_tool_call_go_back_to_the_model_that_had_them(make: Make) -> None:
    host = Looking(fixed_reply)
    host.thoughts = []
    node = make(host)
    node.runner.resources.toolbox = Toolbox({"look": Look()})
    await (await node.start(options={"rounds": 1}, tools=("look",), tool_turns=2)).result()
    returned = sorted(one for one in host.thoughts if one)
    assert returned == [[f"{SECRET} of {seat.model.partition(':')[2]}"] for seat in PANEL]
    assert not any(SECRET in prompt for prompt in host.sent)
