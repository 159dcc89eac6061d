"""`python -m tests.clients.install [NAME…]`: install clients, each into a folder of its own.

Without names, all are installed. What is installed already stays; `make clean` removes it. A client that
cannot be installed is reported, and its test fails.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.clients.catalogue import NODE, Client, clients, node

__all__ = ["install", "npm"]


def install(client: Client) -> None:
    """Install a client. Raises `subprocess.CalledProcessError`."""
    if client.is_locked:
        _install_locked(client)
    elif not client.installed:
        _install(client)


def _install_locked(client: Client) -> None:
    locked = NODE / "package-lock.json"
    copied = client.folder / locked.name
    if client.installed and copied.exists() and copied.read_bytes() == locked.read_bytes():
        return
    client.folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(NODE / "package.json", client.folder)
    shutil.copy(locked, copied)
    npm(client, "ci", "--ignore-scripts")


def _install(client: Client) -> None:
    client.folder.mkdir(parents=True, exist_ok=True)
    if client.npm:
        (client.folder / "package.json").write_text('{"private": true, "type": "module"}\n')
        npm(client, "install", "--ignore-scripts", *client.npm)
    elif client.python:
        _pip(client)


def npm(client: Client, *arguments: str) -> None:
    """Run npm in the folder of a client."""
    # The package of Node.js has npm as a file; its link in bin/ does not survive a wheel.
    program = node().parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
    quiet = ("--no-audit", "--no-fund", "--loglevel", "error")
    subprocess.run([node(), program, *arguments, *quiet], cwd=client.folder, check=True)


def _pip(client: Client) -> None:
    venv = client.folder / "venv"
    uv = Path(sys.executable).parent / "uv"
    subprocess.run([uv, "venv", "--quiet", "--seed", "--python", sys.executable, venv], check=True)
    python = client.interpreter
    never = client.folder / "never.txt"
    never.write_text("".join(f"{name} ; sys_platform == 'never'\n" for name in client.without))
    chosen: list[str | Path] = ["--overrides", never, *client.python]
    done = subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *chosen])
    if done.returncode:
        # uv does not read pip's settings: where it finds no registry, pip does.
        subprocess.run([python, "-m", "pip", "install", "--quiet", *client.python], check=True)


def main(names: list[str]) -> int:
    """Install the clients of these names, or all. Return 1 if one could not be installed."""
    failed = 0
    for client in clients():
        if names and client.name not in names:
            continue
        try:
            install(client)
        except subprocess.CalledProcessError as exc:
            print(f"{client.name} could not be installed: {exc}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
