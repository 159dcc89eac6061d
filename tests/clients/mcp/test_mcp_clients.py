"""MCP clients, unmodified, against `pnyx serve` and `pnyx mcp`."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from pnyx.interfaces.mcp.catalogue import list_tools
from tests.clients.catalogue import Client
from tests.clients.conftest import ReportClient, Served
from tests.clients.mcp.installed import NODE, PYTHON, installed_version, ready, run_script, stdio_of
from tests.clients.running import LIMIT_S
from tests.support.assistants import Era, over_http

pytestmark = pytest.mark.clients
INSPECTOR = "@modelcontextprotocol/inspector"


@pytest.mark.parametrize(
    ("name", "client", "script"),
    [
        ("mcp-typescript", NODE, "sdk.mjs"),
        ("mcp-typescript-2", NODE, "client.mjs"),
        ("fastmcp", PYTHON, "fastmcp_client.py"),
    ],
)
def test_an_sdk_works_unmodified(
    name: str, client: Client, script: str, served: Served, report_client: ReportClient, tmp_path: Path
) -> None:
    lines = run_script(ready(client), script, served, tmp_path)
    checks = lines[1:]
    limits = [check["limit"] for check in checks if check.get("limit")]
    report_client(name, lines[0]["version"], [check["check"] for check in checks], limits)
    assert checks
    faults = [f"{check['check']}\n{check['fault']}" for check in checks if "fault" in check]
    if faults:
        pytest.fail("\n\n".join(faults), pytrace=False)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_for_python_works_unmodified(
    mode: Era, served: Served, report_client: ReportClient
) -> None:
    report_client("mcp-python", version("mcp"), [f"tools, resources, prompts, {mode} version over HTTP"])
    async with over_http(served.server, served.server.key, mode) as client:
        answer = await client.call_tool("ask", {"question": "What is 6 times 7?", "protocol": "voting"})
        uri = f"pnyx://runs/{answer.structured_content['run_id']}"
        assert uri in [str(one.uri) for one in (await client.list_resources()).resources]
        assert (await client.read_resource(uri)).contents
        assert (await client.get_prompt("pnyx", {"question": "Why?"})).messages


@pytest.mark.parametrize("over", ["http", "stdio"])
def test_the_inspector_lists_calls_and_reads(
    over: str, served: Served, report_client: ReportClient, tmp_path: Path
) -> None:
    client = ready(NODE)
    package = client.folder / "node_modules" / INSPECTOR
    program = package / json.loads((package / "package.json").read_text())["bin"]["mcp-inspector"]
    tried = ["tools with a strict check of their schemas", "a call", "resources", "prompts"]
    report_client(
        "mcp-inspector", installed_version(client, INSPECTOR), [f"{one} over {over}" for one in tried]
    )
    stdio = stdio_of(served, tmp_path)
    entry = (
        {"type": "stdio", **stdio}
        if over == "stdio"
        else {
            "type": "streamable-http",
            "url": f"{served.server.url}/mcp",
            "headers": {"Authorization": f"Bearer {served.server.key}"},
        }
    )
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"pnyx": entry}}))

    command = (client.interpreter, program, "--cli", "--config", str(config), "--server", "pnyx")

    def inspect(*arguments: str) -> dict[str, object]:
        done = subprocess.run(
            [*command, *arguments],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            env={"HOME": str(tmp_path), "PATH": str(Path(sys.executable).parent)},
        )
        assert done.returncode == 0, (arguments, done.stdout[-1500:], done.stderr[-1500:])
        document: dict[str, object] = json.loads(done.stdout)
        return document

    listed: Any = inspect("--method", "tools/list", "--strict")["tools"]
    assert [one["name"] for one in listed] == [one.name for one in list_tools()]
    # It sends a number that may be null as a text.
    question = ("--tool-arg", "question=What is 6 times 7?", "protocol=voting", "seed=3")
    answer = inspect("--method", "tools/call", "--tool-name", "ask", *question)
    run_id = answer["structuredContent"]["run_id"]  # type: ignore[index]
    read = inspect("--method", "resources/read", "--uri", f"pnyx://runs/{run_id}/transcript")
    assert "## Transcript" in read["contents"][0]["text"]  # type: ignore[index]
    assert len(inspect("--method", "resources/list")["resources"]) >= 2  # type: ignore[arg-type]
    prompt = inspect("--method", "prompts/get", "--prompt-name", "pnyx", "--prompt-args", "question=Why?")
    assert "> Why?" in str(prompt)
