"""docs/mcp.md is correct: its configurations connect, and its table matches the tools."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from pnyx.interfaces.mcp.catalogue import TOOLS
from pnyx.interfaces.mcp.prompts import PROMPTS
from pnyx.interfaces.mcp.resources import TEMPLATES
from pnyx.interfaces.requests.schemas import RunBody
from tests.interfaces.shell import spawn
from tests.support.scripted import ScriptedHost

PAGE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text("utf-8")
STDIO, HTTP = (
    json.loads(block)["mcpServers"]["pnyx"] for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
)


async def test_the_stdio_configuration_starts_a_process(lab: ScriptedHost) -> None:
    assert STDIO["command"] == "pnyx"
    installed = str(Path(sys.executable).parent / "pnyx")
    process = StdioServerParameters(command=installed, args=STDIO["args"], env={**os.environ, **STDIO["env"]})
    async with Client(process) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS.keys()


def table(heading: str) -> list[tuple[str, str]]:
    """The rows of the table under a heading: the name, and its arguments."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|([^|]*)\|", section, re.MULTILINE)


def test_the_table_lists_every_tool_with_its_arguments() -> None:
    rows = table("Tools")
    assert [name for name, _ in rows] == list(TOOLS)
    for name, arguments in rows:
        documented = re.findall(r"`(\w+)`", arguments)
        shared = set(RunBody.model_fields) if name == "ask" else set()
        assert sorted(documented) == sorted(set(TOOLS[name].arguments.model_fields) - shared), name


def test_the_tables_list_every_prompt_and_resource() -> None:
    prompts = {name: re.findall(r"`(\w+)`", arguments) for name, arguments in table("Prompts")}
    assert prompts == {name: list(prompt.arguments) for name, prompt in PROMPTS.items()}
    assert [uri for uri, _ in table("Resources")] == list(TEMPLATES)


def test_every_tool_and_argument_has_a_description() -> None:
    for call in TOOLS.values():
        assert len(call.description) > 40
        schema: dict[str, Any] = call.arguments.model_json_schema()
        assert schema["additionalProperties"] is False
        assert all("description" in field for field in schema.get("properties", {}).values())


async def test_the_http_configuration_connects_and_an_open_session_does_not_delay_shutdown(
    lab: ScriptedHost,
) -> None:
    with spawn("serve", "--port", "0", stderr=subprocess.PIPE, module="tests.support.long_drain") as server:
        assert server.stderr is not None
        url = re.findall(rb"http://\S+", server.stderr.readline())[0].decode()
        key = server.stderr.readline().split()[-1].decode()
        headers = {name: value.replace("pnyx_...", key) for name, value in HTTP["headers"].items()}
        where = HTTP["url"].replace("http://127.0.0.1:8642", url)
        async with (
            httpx2.AsyncClient(headers=headers, timeout=120, trust_env=False, verify=False) as http,
            Client(streamable_http_client(where, http_client=http, terminate_on_close=False), mode="legacy")
            as client,
        ):  # fmt: skip
            assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS.keys()
            began = time.monotonic()
            server.send_signal(signal.SIGTERM)
            assert server.wait(120) == 0
            assert time.monotonic() - began < 60
