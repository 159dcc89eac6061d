"""The MCP clients of these tests, each installed into a folder of its own in `build/clients`."""

from __future__ import annotations

import fcntl
import json
import sys
from pathlib import Path
from typing import Any

from tests.clients import running
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
    """Run a script of these clients against a server; return its lines."""
    for path in [*(CLIENTS / "scripts").glob("checks.*"), *SCRIPTS.iterdir()]:
        # Modules are looked for from where a script lies.
        (client.folder / path.name).write_bytes(path.read_bytes())
    stdio = json.dumps(stdio_of(served, home))
    return running.run_script(client.interpreter, script, client.folder, served, {"PNYX_STDIO": stdio})
