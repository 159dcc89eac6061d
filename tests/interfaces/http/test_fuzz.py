"""The generated OpenAPI document, tested against the server by Schemathesis."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from tests.support import forked
from tests.support.scripted import ScriptedHost
from tests.support.serving import SERVER_KEY, open_server

CHECKS = "positive_data_acceptance"
"""Excluded: no schema can list the protocols, or require the last message to be the user's."""


SCHEMATHESIS = "schemathesis.cli"
IMPORTS = (SCHEMATHESIS, "schemathesis.cli.commands.run.executor", "schemathesis.openapi", "hypothesis")
# Each part starts Schemathesis again, so that none takes long: a sequence of requests needs all operations.
CHATS = "(chat|completions|responses|messages)"
PARTS = {
    "valid runs": ("coverage", "/v1/runs$", "positive"),
    "invalid runs": ("coverage", "/v1/runs$", "negative"),
    "one run": ("coverage", "/v1/runs/", "all"),
    "chats": ("coverage", "^/v1/(chat|completions)", "all"),
    "responses": ("coverage", "^/v1/responses", "all"),
    "messages": ("coverage", "^/v1/messages", "all"),
    "the rest of v1": ("coverage", f"^/v1/(?!runs|{CHATS[1:]}", "all"),
    "the rest": ("coverage", "^/(?!v1/)", "all"),
    "fuzzing of runs": ("fuzzing", "/v1/runs$", "all"),
    "fuzzing of one run": ("fuzzing", "/v1/runs/", "all"),
    "fuzzing of chats": ("fuzzing", f"^/v1/{CHATS}", "all"),
    "fuzzing of the rest": ("fuzzing", f"^(?!/v1/(runs|{CHATS[1:]})", "all"),
    "sequences": ("stateful", "", "all"),
}


@pytest.mark.parametrize("part", PARTS)
async def test_no_request_breaks_the_server_or_its_schema(
    part: str, lab: ScriptedHost, tmp_path: Path
) -> None:
    phase, paths, mode = PARTS[part]
    lab.on("*", text="Final answer: 42")
    async with open_server() as server:
        command = ["run", f"{server.url}/openapi.json"]
        command += [
            "-H",
            f"Authorization: Bearer {SERVER_KEY}",
            "--exclude-checks",
            CHECKS,
            "--generation-deterministic",
        ]
        command += ["--max-examples", "5", "--phases", phase, "--mode", mode, "--no-color"]
        command += ["--include-path-regex", paths] if paths else []
        process = await asyncio.to_thread(
            forked.start, *command, module=SCHEMATHESIS, imports=IMPORTS, folder=tmp_path
        )
        out, err = await asyncio.to_thread(process.communicate)
        async with server.client() as client:
            assert (await client.get("/health")).status_code == 200
    assert process.returncode == 0, (out + err).decode()[-8000:]
    assert re.search(rb"[1-9][0-9]* selected / [0-9]+ total", out), out.decode()[-2000:]
