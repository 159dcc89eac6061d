"""The MCP clients of these tests, each installed into a folder of its own in `build/clients`."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.clients.catalogue import BUILD, CLIENTS, Client
from tests.clients.conftest import Served
from tests.clients.install import install
from tests.interfaces.conftest import CONFIG

__all__ = ["NODE", "PYTHON", "installed_version", "ready", "run_script", "stdio_of"]

NODE = Client(
    "mcp-node",
    "sdk.mjs",
    npm=(
        "@modelcontextprotocol/sdk",
        "@modelcontextprotocol/client",
        "@modelcontextprotocol/inspector",
        "@modelcontextprotocol/conformance",
    ),
)
PYTHON = Client("mcp-python", "fastmcp_client.py", python=("fastmcp",))
LIMIT_S = 400
SLOW = "PNYX_SLOW" in os.environ
"""Whether checks that take minutes run too. Read now: a test's environment has no settings of ours."""
SCRIPTS = Path(__file__).parent / "scripts"


def ready(client: Client) -> Client:
    """The client, which is installed first if it is not."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / f"{client.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests of one client can run in several processes
        install(client)
    assert client.installed, client.name
    return client


def installed_version(client: Client, package: str) -> str:
    """The version of a package for Node.js."""
    document: dict[str, Any] = json.loads(
        (client.folder / "node_modules" / package / "package.json").read_text()
    )
    return str(document["version"])


def stdio_of(served: Served, home: Path) -> dict[str, Any]:
    """How a client starts `pnyx mcp`: command, args and env. Its runs are in `home`."""
    (home / "lab.toml").write_text(CONFIG.format(url=served.host.openai))
    env = {"HOME": str(home), "PNYX_CONFIG": str(home / "lab.toml"), "LAB_KEY": "sk-planted"}
    return {"command": sys.executable, "args": ["-m", "pnyx", "mcp"], "env": env}


def run_script(client: Client, script: str, served: Served, home: Path) -> list[dict[str, str]]:
    """Run a script of these clients against a server; return its lines, see `tests/clients/scripts`."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}
    kept |= {"PNYX_SLOW": "1"} if SLOW else {}
    environment = kept | served.environment | {"NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PNYX_STDIO"] = json.dumps(stdio_of(served, home))
    for path in [*(CLIENTS / "scripts").glob("checks.*"), *SCRIPTS.iterdir()]:
        # Modules are looked for from where a script lies.
        (client.folder / path.name).write_bytes(path.read_bytes())
    done = subprocess.run(
        [client.interpreter, script],
        cwd=client.folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines or done.returncode:
        pytest.fail(done.stderr[-3000:], pytrace=False)
    return lines
