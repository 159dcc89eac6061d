"""The plug-in of llm and the example of LangChain, as people install and use them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.catalogue import BUILD
from tests.clients.conftest import ReportClient, Served
from tests.interfaces.conftest import CONFIG, KEY
from tests.support.scripted import ScriptedHost
from tests.support.sources import ROOT

pytestmark = pytest.mark.clients

SITE = BUILD / "integrations" / "site"
CHAIN = BUILD / "integrations" / "langchain"
ANSWER = "It is six times seven.\nFinal answer: 42"


@pytest.fixture(scope="session")
def site() -> Path:
    """A folder with llm and the plug-in, beside the packages of the tests."""
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(SITE)]
    if not (SITE / "llm").exists():
        subprocess.run([*install, "llm"], check=True)
    subprocess.run([*install, "--upgrade", "--no-deps", str(ROOT / "integrations" / "llm")], check=True)
    return SITE


class Llm:
    """The command, with a folder of its own for its log."""

    def __init__(self, site: Path, home: Path, host: ScriptedHost) -> None:
        (home / "lab.toml").write_text(
            CONFIG.format(url=host.openai) + '[panels.fast]\nseats = ["lab:beta*2"]\nprotocol = "voting"\n'
        )
        self.env = {
            **os.environ,
            "PYTHONPATH": str(site),
            "LLM_USER_PATH": str(home / "llm"),
            "PNYX_CONFIG": str(home / "lab.toml"),
            "XDG_DATA_HOME": str(home / "data"),
            "LAB_KEY": KEY,
        }

    def __call__(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "llm", *arguments],
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
        )


@pytest.fixture
def llm(site: Path, tmp_path: Path, host: ScriptedHost) -> Llm:
    host.on("*", text=ANSWER)
    return Llm(site, tmp_path, host)


def test_llm_asks_a_panel_and_logs_its_cost(llm: Llm, report_client: ReportClient) -> None:
    version = llm("--version").stdout.split()[-1]
    tried = ["models", "answer, steps and cost", "log", "conversation", "system prompt", "schema", "errors"]
    report_client("llm with the plug-in llm-pnyx", version, tried)
    models = llm("models").stdout
    assert "pnyx/consensus" in models
    assert "pnyx/fast" in models
    done = llm("-m", "pnyx/voting", "What is 6 * 7?", "-o", "budget_usd", "0.5")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{ANSWER}\n"
    assert "replied" in done.stderr
    assert "3 of 3 seats agree · $0.00" in done.stderr
    (logged,) = json.loads(llm("logs", "--json").stdout)
    result = (
        json.loads(logged["response_json"])
        if isinstance(logged["response_json"], str)
        else logged["response_json"]
    )
    assert result["usage"]["calls"] >= 3
    details = (
        json.loads(logged["token_details"])
        if isinstance(logged["token_details"], str)
        else logged["token_details"]
    )
    assert details["cost_usd"] == result["usage"]["cost_usd"] > 0
    assert details["run_id"] == result["run_id"]
    assert KEY not in json.dumps(logged)


def test_llm_continues_a_conversation_and_sends_instructions(llm: Llm, host: ScriptedHost) -> None:
    assert llm("-m", "pnyx/fast", "What is 6 * 7?", "-s", "Answer like a pirate.").returncode == 0
    assert any("Answer like a pirate." in request.text for request in host.log)
    before = len(host.log)
    done = llm("-c", "And 6 * 8?")
    assert done.returncode == 0, done.stderr
    later = [request.text for request in host.log[before:]]
    assert all("What is 6 * 7?" in text and "six times seven" in text for text in later)


def test_llm_reads_stdin_and_says_what_is_wrong(llm: Llm) -> None:
    assert llm("-m", "pnyx/voting", stdin="What is 6 * 7?").stdout == f"{ANSWER}\n"
    for option, value, problem in (
        ("budget_usd", "-1", "budget_usd must be"),
        ("panel", "nowhere:x", "no provider 'nowhere'"),
        ("preset", "fast", "has no preset 'fast'"),
    ):
        done = llm("-m", "pnyx/voting", "Why?", "-o", option, value)
        assert done.returncode == 1
        assert problem in done.stderr
        assert "Traceback" not in done.stderr


def test_code_can_use_the_plugin_with_and_without_an_event_loop(llm: Llm) -> None:
    program = (
        "import asyncio, llm\n"
        "async def main():\n"
        "    print((await llm.get_async_model('pnyx/voting').prompt('What is 6 * 7?').text())[-2:])\n"
        "    print(llm.get_model('pnyx/voting').prompt('What is 6 * 7?').text()[-2:])\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=llm.env, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "42\n42\n", done.stderr


def test_the_panel_is_a_model_and_a_tool_of_langchain(
    served: Served, tmp_path: Path, report_client: ReportClient
) -> None:
    if not (CHAIN / "langchain_openai").exists():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(CHAIN)]
        subprocess.run([*install, "langchain-openai"], check=True)
    (version,) = [
        one.name.split("-")[1].removesuffix(".dist") for one in CHAIN.glob("langchain_openai-*.dist-info")
    ]
    report_client("langchain-openai with the example", version, ["as a model", "as a tool"])
    (tmp_path / "lab.toml").write_text(CONFIG.format(url=served.host.openai))
    own = {"PYTHONPATH": str(CHAIN), "PNYX_CONFIG": str(tmp_path / "lab.toml"), "LAB_KEY": KEY}
    example = [sys.executable, str(ROOT / "integrations" / "langchain" / "panel_chain.py"), "What is 6 * 7?"]
    for more, shown in (
        (served.environment, "[run "),
        ({"XDG_DATA_HOME": str(tmp_path)}, "Objections that stand:"),
    ):
        done = subprocess.run(
            example, env={**os.environ, **own, **more}, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(ANSWER)
        assert shown in done.stdout
