"""Coding agents, unmodified, with `pnyx serve` as their model: each reads a file, mends it and runs its test.

Run by `make clients`. The agents are installed by npm into `build/clients/agents`, which lies outside /tmp:
codex refuses to work with a home there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.clients.agents.coder import DONE, RIGHT, TASK, Coder, make_project
from tests.clients.catalogue import BUILD
from tests.clients.conftest import ReportClient
from tests.interfaces.conftest import CONFIG
from tests.support.browsing import Serve, serving
from tests.support.scripted import ScriptedHost

pytestmark = pytest.mark.clients

FOLDER = BUILD / "agents"
PACKAGES = ("@anthropic-ai/claude-code", "@openai/codex", "opencode-ai", "@continuedev/cli")
LIMIT_S = 200
VOTING = "Your task: answer the question"
MODELS = """
[serve.models."coder"]
protocol = "voting"
[serve.models."gpt-5.5"]
protocol = "voting"
[serve.models."gpt-5.6-terra"]
protocol = "voting"
[serve.models."helper"]
protocol = "single"
panel = ["lab:beta"]
"""


@dataclass
class Bench:
    """Where an agent works: its home, its project, the server, and the host of the server's models."""

    home: Path
    project: Path
    server: Serve
    host: ScriptedHost
    coder: Coder

    def run(self, program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run an agent in the project."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return subprocess.run(
            [FOLDER / "node_modules" / ".bin" / program, *arguments],
            cwd=self.project,
            env={**kept, "HOME": str(self.home), "PNYX_KEY": self.server.key, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )

    def runs(self) -> list[Mapping[str, Any]]:
        """The runs of the server, oldest first."""
        found: list[Mapping[str, Any]] = self.server.get("/v1/runs?limit=100")
        return found[::-1]

    def steps(self) -> list[str]:
        """The tool that each run with the panel called; "" for an answer in words."""
        panel = [run for run in self.runs() if run["protocol"] == "voting"]
        return [next((one["name"] for one in run["detail"].get("tool_calls", ())), "") for run in panel]


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    """Installs the agents once; the scripts of their packages only choose a program, and are not needed."""
    if not (FOLDER / "node_modules" / ".bin" / "claude").exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / "package.json").write_text('{"private": true}\n')
        quiet = ("--no-audit", "--no-fund", "--loglevel", "error")
        subprocess.run(["npm", "install", *quiet, *PACKAGES], cwd=FOLDER, check=True)


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    root = FOLDER / "work" / request.node.name
    shutil.rmtree(root, ignore_errors=True)
    (root / "home").mkdir(parents=True)
    (root / "serve").mkdir()
    coder = Coder(make_project(root / "project"))
    with ScriptedHost() as host:
        host.on("*", text=coder)
        with serving(root / "serve", CONFIG.format(url=host.openai) + MODELS) as server:
            yield Bench(root / "home", coder.folder, server, host, coder)


def version(bench: Bench, program: str) -> str:
    words = bench.run(program, "--version").stdout.split()
    return next(word for word in words if word[:1].isdigit())


def claude(bench: Bench) -> subprocess.CompletedProcess[str]:
    return bench.run(
        *("claude", "-p", TASK, "--model", "coder", "--allowedTools", "Read", "Edit", "Bash"),
        ANTHROPIC_BASE_URL=bench.server.url,
        ANTHROPIC_API_KEY=bench.server.key,
        ANTHROPIC_DEFAULT_HAIKU_MODEL="helper",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
    )


def codex(bench: Bench, model: str) -> subprocess.CompletedProcess[str]:
    provider = f'{{name="pnyx",base_url="{bench.server.url}/v1",env_key="PNYX_KEY",wire_api="responses"}}'
    # The tests run in a container, in which codex cannot make its sandbox.
    return bench.run(
        *("codex", "exec", "--skip-git-repo-check", "--sandbox", "danger-full-access"),
        *("-c", 'model_provider="pnyx"', "-c", f"model_providers.pnyx={provider}", "-m", model, TASK),
    )


def opencode(bench: Bench) -> subprocess.CompletedProcess[str]:
    models = {"coder": {"tool_call": True, "limit": {"context": 200_000, "output": 32_000}}, "helper": {}}
    options = {"baseURL": f"{bench.server.url}/v1", "apiKey": "{env:PNYX_KEY}"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}
    settings = {
        "provider": {"pnyx": provider},
        "model": "pnyx/coder",
        "small_model": "pnyx/helper",
        "permission": "allow",
        "autoupdate": False,
    }
    (bench.project / "opencode.json").write_text(json.dumps(settings))
    return bench.run("opencode", "run", TASK, OPENCODE_DISABLE_MODELS_FETCH="1")


def continue_dev(bench: Bench) -> subprocess.CompletedProcess[str]:
    model = {
        "name": "pnyx",
        "provider": "openai",
        "model": "coder",
        "apiBase": f"{bench.server.url}/v1",
        "apiKey": bench.server.key,
        "capabilities": ["tool_use"],
    }
    path = bench.home / "config.yaml"
    # JSON is YAML.
    path.write_text(json.dumps({"name": "pnyx", "version": "1.0.0", "schema": "v1", "models": [model]}))
    return bench.run("cn", "-p", TASK, "--config", str(path), "--auto", CONTINUE_TELEMETRY_ENABLED="0")


AGENTS: Mapping[str, tuple[str, Callable[[Bench], subprocess.CompletedProcess[str]], Sequence[str]]] = {
    "Claude Code": ("claude", claude, ["Read", "Edit", "Bash", ""]),
    "codex": (
        "codex",
        lambda bench: codex(bench, "gpt-5.5"),
        ["exec_command", "apply_patch", "exec_command", ""],
    ),
    "codex, with scripts": (
        "codex",
        lambda bench: codex(bench, "gpt-5.6-terra"),
        ["functions.exec"] * 3 + [""],
    ),
    "codex, a model of another name": (
        "codex",
        lambda bench: codex(bench, "coder"),
        ["exec_command"] * 3 + [""],
    ),
    "opencode": ("opencode", opencode, ["read", "edit", "bash", ""]),
    "Continue": ("cn", continue_dev, ["Read", "Edit", "Bash", ""]),
}
"""Agent -> its program, what starts it, and the tools that it has to be asked for."""


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_finishes_a_task(agent: str, bench: Bench, report_client: ReportClient) -> None:
    program, start, steps = AGENTS[agent]
    tried = ["as its model: a file read, a fault mended, a test run"]
    report_client(agent.partition(",")[0], version(bench, program), tried)
    done = start(bench)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    assert DONE in done.stdout
    assert RIGHT in (bench.project / "sums.py").read_text()
    assert bench.steps() == steps
    # A host reads from its cache all that a seat has read in the step before.
    votes = [one.text for one in bench.host.requests("gamma") if VOTING in one.text]
    assert len(votes) == len(steps)
    for before, after in pairwise(votes):
        assert after.startswith(before[: before.index(VOTING)])
