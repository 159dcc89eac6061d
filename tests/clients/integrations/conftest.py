"""The assistants, installed once, each with a home of its own, and models that are scripted."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.clients.catalogue import Client
from tests.clients.install import install
from tests.interfaces.conftest import CONFIG, KEY
from tests.support.scripted import ScriptedHost

__all__ = ["Desk"]

ASSISTANTS = Client(
    "integrations",
    "none.mjs",
    npm=(
        "@anthropic-ai/claude-code",
        "@anthropic-ai/mcpb",
        "@continuedev/config-yaml",
        "@google/gemini-cli",
        "@openai/codex",
        "opencode-ai",
    ),
)
ANSWER = "It is six times seven.\nFinal answer: 42"


class Desk:
    """A person's machine: a home, a project, pnyx and the assistants on the $PATH. host: of all models."""

    def __init__(self, folder: Path, host: ScriptedHost) -> None:
        self.home, self.project, self.host = folder / "home", folder / "project", host
        programs = folder / "bin"
        for path in (self.home, self.project, programs):
            path.mkdir()
        (programs / "pnyx").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pnyx "$@"\n')
        (programs / "pnyx").chmod(0o755)
        node = ASSISTANTS.interpreter.parent
        (self.project / "lab.toml").write_text(CONFIG.format(url=host.openai))
        self.env = {
            "HOME": str(self.home),
            "PWD": str(self.project),
            "PATH": os.pathsep.join((str(programs), str(node), "/usr/bin", "/bin")),
            "PNYX_CONFIG": str(self.project / "lab.toml"),
            "LAB_KEY": KEY,
            "NO_COLOR": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }

    def run(
        self, *command: str, env: Mapping[str, str] = {}, limit_s: float = 200
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the project, with no terminal."""
        return subprocess.run(
            command,
            cwd=self.project,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit_s,
        )

    def check(self, *command: str, env: Mapping[str, str] = {}) -> str:
        """Run a command that must succeed. Return what it prints."""
        done = self.run(*command, env=env)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout + done.stderr

    def script(self, name: str, *calls: tuple[tuple[str, dict[str, object]], ...]) -> None:
        """Let the model of the assistant make these calls of tools, one reply each, and then answer."""
        self.host.on("*", text=ANSWER)
        self.host.on(name, text="The panel says 42.")
        for number, tools in enumerate(calls, 1):
            self.host.on(name, call=number, tool_calls=tools)

    @property
    def asked(self) -> list[str]:
        """The models of the panel that were asked."""
        return [one.model for one in self.host.log if one.model in ("alpha", "beta", "gamma")]


def program(pattern: str) -> str:
    """The path of a program among the installed packages."""
    found = sorted((ASSISTANTS.folder / "node_modules").glob(pattern))
    assert found, f"no {pattern} is installed"
    return str(found[0])


@pytest.fixture(scope="session")
def assistants_installed() -> None:
    """Installs the assistants once."""
    install(ASSISTANTS)


@pytest.fixture
def desk(assistants_installed: None, tmp_path: Path, host: ScriptedHost) -> Desk:
    return Desk(tmp_path, host)


@pytest.fixture
def claude(assistants_installed: None) -> str:
    return program("@anthropic-ai/claude-code-*/claude")


@pytest.fixture
def codex(assistants_installed: None) -> str:
    return program("@openai/codex-*/vendor/*/bin/codex")


@pytest.fixture
def opencode(assistants_installed: None) -> str:
    return program("opencode-*/bin/opencode")
