"""The generated OpenAPI document, tested against the server by Schemathesis."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.support.scripted import ScriptedHost
from tests.support.serving import SERVER_KEY, open_server

CHECKS = "positive_data_acceptance"
"""Excluded: no schema can list the protocols, or require the last message to be the user's."""


async def test_no_request_breaks_the_server_or_its_schema(lab: ScriptedHost, tmp_path: Path) -> None:
    lab.on("*", text="Final answer: 42")
    async with open_server() as server:
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"]
        command += [
            "-H",
            f"Authorization: Bearer {SERVER_KEY}",
            "--exclude-checks",
            CHECKS,
            "--generation-deterministic",
        ]
        command += ["--max-examples", "5", "--phases", "coverage,fuzzing,stateful", "--no-color"]
        process = await asyncio.create_subprocess_exec(
            *command, cwd=tmp_path, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        out, _ = await process.communicate()
        async with server.client() as client:
            assert (await client.get("/health")).status_code == 200
    assert process.returncode == 0, out.decode()[-8000:]
    assert b"15 selected / 15 total" in out
