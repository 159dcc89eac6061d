"""The conformance suite of MCP against pnyx over HTTP."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from pathlib import Path

import pytest

from tests.clients.conftest import ReportClient
from tests.clients.mcp.conformance_server import conformant, with_key
from tests.clients.mcp.installed import NODE, installed_version, ready
from tests.support.scripted import ScriptedHost
from tests.support.serving import SERVER_KEY, open_server

PACKAGE = "@modelcontextprotocol/conformance"
NOT_OURS = Path(__file__).parent / "conformance.yml"
LIMIT_S = 240


@pytest.mark.clients
async def test_all_scenarios_of_mcp_conformance_that_apply_pass(
    lab: ScriptedHost, tmp_path: Path, report_client: ReportClient
) -> None:
    client = ready(NODE)
    program = client.folder / "node_modules" / PACKAGE / "dist" / "index.js"
    left_out = re.findall(r"^  - (\S+)$", NOT_OURS.read_text(), re.MULTILINE)
    report_client(
        "mcp-conformance",
        installed_version(client, PACKAGE),
        ["all server scenarios over HTTP"],
        [f"not applicable: {', '.join(left_out)}"],
    )
    with conformant():
        async with open_server(partial(with_key, key=SERVER_KEY)) as server:
            process = await asyncio.create_subprocess_exec(
                str(client.interpreter),
                str(program),
                *("server", "--url", f"{server.url}/mcp", "--suite", "all"),
                *("--expected-failures", str(NOT_OURS)),
                cwd=tmp_path,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            async with asyncio.timeout(LIMIT_S):
                output, _ = await process.communicate()
    text = output.decode()
    assert process.returncode == 0, text[-5000:]
    passed = re.findall(r"✓ (\S+): [1-9]\d* passed, 0 failed", text)
    assert len(passed) >= 20, text[-5000:]
