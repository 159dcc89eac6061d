"""The client of fastmcp, over HTTP and stdio."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from checks import ANSWER, KEY, URL, check, expect, lab, run
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError

STDIO = json.loads(os.environ["PNYX_STDIO"])
ASK = {"question": "What is 6 times 7?", "protocol": "voting"}


def transports() -> list[Any]:
    return [
        StreamableHttpTransport(f"{URL}/mcp", headers={"Authorization": f"Bearer {KEY}"}),
        StdioTransport(STDIO["command"], STDIO["args"], env=STDIO["env"]),
    ]


@check("tools, progress and log messages")
async def tools() -> None:
    for transport in transports():
        steps: list[tuple[float, float | None]] = []
        logged: list[Any] = []

        async def progress(step: float, total: float | None, message: str | None, steps: Any = steps) -> None:
            steps.append((step, total))

        async def log(message: Any, logged: Any = logged) -> None:
            logged.append(message)

        async with Client(transport, progress_handler=progress, log_handler=log) as client:
            listed = await client.list_tools()
            expect(all(tool.title for tool in listed), listed)
            answer = await client.call_tool("ask", ASK)
            expect(answer.structured_content["answer"].startswith(ANSWER), answer)
            expect(all(total is not None and step <= total for step, total in steps), steps)
            lab.on("beta", status=400)
            if client.protocol_version < "2026":
                await client.set_logging_level("warning")
            await client.call_tool("ask", {**ASK, "seed": 7})
            try:
                await client.call_tool("ask", {"question": ""})
            except ToolError as exc:
                expect("question must be" in str(exc), exc)
            else:
                raise AssertionError("no error")
        lab.reset()


@check("resources, prompts and completions")
async def more() -> None:
    for transport in transports():
        async with Client(transport) as client:
            run_id = (await client.call_tool("ask", ASK)).structured_content["run_id"]
            uris = [str(one.uri) for one in await client.list_resources()]
            expect(f"pnyx://runs/{run_id}" in uris, uris)
            expect(len(await client.list_resource_templates()) == 2, "templates")
            (found,) = await client.read_resource(f"pnyx://runs/{run_id}/transcript")
            expect("## Transcript" in found.text, found)
            prompt = await client.get_prompt("decide", {"decision": "Tabs or spaces?"})
            expect("> Tabs or spaces?" in prompt.messages[0].content.text, prompt)
            names = [one.name for one in await client.list_prompts()]
            expect(names == ["pnyx", "review", "decide"], names)


@check("a form for a budget")
async def form() -> None:
    questions: list[str] = []

    async def person(message: str, response_type: Any, params: Any, context: Any) -> Any:
        questions.append(message)
        return {"budget_usd": 1.0}

    for transport in transports():
        async with Client(transport, elicitation_handler=person) as client:
            answer = await client.call_tool("ask", {**ASK, "budget_usd": 0.000001})
            expect(answer.structured_content["status"] == "consensus", answer)
    expect(len(questions) == 2, questions)


@check("a debate that takes longer than a call may wait")
async def long() -> None:
    env = {**STDIO["env"], "PNYX_MCP_WAIT_S": "0.5"}
    lab.on(text=ANSWER, delay=1.0)
    async with Client(StdioTransport(STDIO["command"], STDIO["args"], env=env), timeout=20) as client:
        state = (await client.call_tool("ask", ASK)).structured_content
        expect(state["status"] == "running", state)
        while state["status"] == "running":
            await asyncio.sleep(0.05)
            wait = {"run_id": state["run_id"], "wait_s": 5}
            state = (await client.call_tool("show", wait)).structured_content
        expect(state["answer"].startswith(ANSWER), state)
    expect(len(lab.calls()) == 4, lab.calls())


run("fastmcp")
