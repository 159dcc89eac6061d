"""Each assistant reads what is in integrations/ and what `pnyx integrate` writes, and asks the panel with it.

The model of an assistant is scripted too: it calls the tool as the command tells it to.
"""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import pytest

from tests.clients.conftest import ReportClient
from tests.clients.integrations.conftest import ASSISTANTS, Desk, program
from tests.clients.integrations.responses_host import called, responses_host, said
from tests.interfaces.integrations import PLACE, ROOT

pytestmark = pytest.mark.clients

ASK: dict[str, object] = {"question": "What is 6 * 7?", "protocol": "voting", "budget_usd": 0.5}
NODE = str(ASSISTANTS.interpreter)


def anthropic(desk: Desk) -> dict[str, str]:
    """Lets Claude Code use a model of the scripted host."""
    return {
        "ANTHROPIC_BASE_URL": desk.host.anthropic,
        "ANTHROPIC_API_KEY": "sk-x",
        "ANTHROPIC_MODEL": "assistant",
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": "small",
    }


def test_claude_code_asks_the_panel_with_the_plugins_command(
    desk: Desk, claude: str, report_client: ReportClient
) -> None:
    version = desk.check(claude, "--version").split()[0]
    report_client("Claude Code with the plugin", version, ["validate", "install", "server connects", "/pnyx"])
    assert "Validation passed" in desk.check(claude, "plugin", "validate", str(ROOT))
    assert "Validation passed" in desk.check(claude, "plugin", "validate", str(PLACE / "claude-code"))
    desk.check(claude, "plugin", "marketplace", "add", str(ROOT))
    desk.check(claude, "plugin", "install", "pnyx@pnyx")
    assert "pnyx mcp - ✔ Connected" in desk.check(claude, "mcp", "list")
    # Its server may still be starting. The ids of the host's calls start again in each reply.
    wait: tuple[str, dict[str, object]] = ("WaitForMcpServers", {})
    tool = "mcp__plugin_pnyx_pnyx__ask"
    desk.script("assistant", (wait,), (wait, (tool, ASK)))
    env = anthropic(desk)
    out = desk.check(claude, "-p", "/pnyx:pnyx What is 6 * 7?", "--allowedTools", tool, env=env)
    assert "The panel says 42." in out
    sent = json.dumps([one.body["messages"] for one in desk.host.log if one.model == "assistant"])
    assert "What to ask: What is 6 * 7?" in sent
    assert "final_answer" in sent
    assert sorted(desk.asked) == ["alpha", "alpha", "beta", "gamma"]


def test_claude_code_reads_the_users_and_the_projects_entry(desk: Desk, claude: str) -> None:
    desk.check("pnyx", "integrate", "claude-code", "--write")
    assert "Connected" in desk.check(claude, "mcp", "get", "pnyx")
    desk.script("assistant")
    env = anthropic(desk)
    assert "The panel says 42." in desk.check(claude, "-p", "/pnyx What is 6 * 7?", env=env)
    asked = [one for one in desk.host.log if one.model == "assistant"]
    assert "What to ask: What is 6 * 7?" in json.dumps(asked[0].body["messages"])
    desk.check("pnyx", "integrate", "claude-code", "--write", "--project")
    assert "pnyx mcp" in desk.check(claude, "mcp", "list")


def test_opencode_asks_the_panel_with_the_command(
    desk: Desk, opencode: str, report_client: ReportClient
) -> None:
    version = desk.check(opencode, "--version").strip()
    report_client("opencode with pnyx integrate", version, ["server connects", "/pnyx"])
    desk.check("pnyx", "integrate", "opencode", "--write")
    assert re.search(r"✓ pnyx \S*connected", desk.check(opencode, "mcp", "list"))
    file = desk.home / ".config" / "opencode" / "opencode.json"
    settings = json.loads(file.read_text())
    options = {"baseURL": desk.host.openai, "apiKey": "x"}
    models: dict[str, object] = {"assistant": {}, "small": {}}
    settings["provider"] = {
        "scripted": {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}
    }
    settings |= {"small_model": "scripted/small", "permission": {"*": "allow"}}
    file.write_text(json.dumps(settings))
    desk.script("assistant", (("pnyx_ask", ASK),))
    out = desk.check(opencode, "run", "--command", "pnyx", "-m", "scripted/assistant", "What is 6 * 7?")
    assert "The panel says 42." in out
    sent = json.dumps([one.body["messages"] for one in desk.host.log if one.model == "assistant"])
    assert "What is 6 * 7?" in sent
    assert "final answer: 42" in sent
    assert sorted(desk.asked) == ["alpha", "alpha", "beta", "gamma"]


def test_gemini_cli_asks_the_panel_with_the_servers_prompt(desk: Desk, report_client: ReportClient) -> None:
    gemini = (NODE, program(".bin/gemini"))
    version = desk.check(*gemini, "--version").split()[0]
    report_client("Gemini CLI with pnyx integrate", version, ["extension is valid", "/pnyx"])
    assert "successfully validated" in desk.check(*gemini, "extensions", "validate", str(PLACE / "gemini"))
    file = desk.home / ".gemini" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    # What stands in it stays.
    file.write_text('{\n  // mine\n  "security": {"auth": {"selectedType": "gemini-api-key"}},\n}\n')
    desk.check("pnyx", "integrate", "gemini", "--write")
    assert "// mine" in file.read_text()
    desk.script("assistant", (("mcp_pnyx_ask", ASK),))
    address = desk.host.google.removesuffix("/v1beta")
    env = {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": address}
    out = desk.check(*gemini, "-m", "assistant", "-y", "-p", '/pnyx "What is 6 * 7?"', env=env)
    assert "The panel says 42." in out
    sent = json.dumps([one.body["contents"] for one in desk.host.log if one.model == "assistant"])
    assert "Ask the panel this question" in sent
    assert "final answer: 42" in sent
    assert sorted(desk.asked) == ["alpha", "alpha", "beta", "gamma"]


def test_codex_asks_the_panel_with_the_skill(desk: Desk, codex: str, report_client: ReportClient) -> None:
    version = desk.run(codex, "--version").stdout.split()[-1]
    report_client("Codex with pnyx integrate", version, ["settings are read", "$pnyx"])
    file = desk.home / ".codex" / "config.toml"
    file.parent.mkdir()
    desk.script("none")
    replies = (
        # Its servers may still be starting: it waits for them before the second turn.
        called("exec_command", {"cmd": "sleep 5"}, 0),
        called("ask", ASK, 1, namespace="mcp__pnyx"),
        said("The panel says 42."),
    )
    with responses_host(*replies) as model:
        table = {"name": "scripted", "base_url": model.url, "env_key": "SCRIPT_KEY", "wire_api": "responses"}
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
        head = '# mine\nmodel = "assistant"\nmodel_provider = "scripted"\n'
        file.write_text(f"{head}[model_providers.scripted]\n{lines}")
        desk.check("pnyx", "integrate", "codex", "--write")
        assert file.read_text().startswith(head)
        entry = json.loads(desk.run(codex, "mcp", "get", "pnyx", "--json").stdout)
        assert entry["tool_timeout_sec"] == 600
        assert entry["transport"]["env_vars"] == ["LAB_KEY"]
        options = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
        out = desk.check(codex, "exec", *options, "$pnyx What is 6 * 7?", env={"SCRIPT_KEY": "x"})
    assert "The panel says 42." in out
    assert "What is 6 * 7?" in json.dumps(model.log[0]["input"])
    assert "How to ask" in json.dumps(model.log[0]["input"])
    assert "final_answer" in json.dumps(model.log[-1]["input"])
    assert sorted(desk.asked) == ["alpha", "alpha", "beta", "gamma"]


def test_continue_accepts_the_file(desk: Desk, report_client: ReportClient) -> None:
    package = ASSISTANTS.folder / "node_modules" / "@continuedev" / "config-yaml"
    version = json.loads((package / "package.json").read_text())["version"]
    report_client("Continue's config-yaml with pnyx integrate", version, ["the file is a valid block"])
    desk.check("pnyx", "integrate", "continue", "--write")
    script = ASSISTANTS.folder / "continue.mjs"
    script.write_text(
        'import {readFileSync} from "node:fs";\n'
        'import {parseConfigYaml} from "@continuedev/config-yaml";\n'
        "const [server] = parseConfigYaml(readFileSync(process.argv[2], 'utf8')).mcpServers;\n"
        "console.log(JSON.stringify(server));\n"
    )
    file = desk.home / ".continue" / "mcpServers" / "pnyx.yaml"
    server = json.loads(desk.check(NODE, str(script), str(file)).splitlines()[-1])
    assert server["connectionTimeout"] == 600_000
    assert server["env"]["LAB_KEY"] == "${{ secrets.LAB_KEY }}"


def test_claude_desktops_bundle_is_valid(desk: Desk, tmp_path: Path, report_client: ReportClient) -> None:
    mcpb = (NODE, program(".bin/mcpb"))
    version = desk.check(*mcpb, "--version").strip()
    report_client("mcpb with the bundle", version, ["validate", "unpack", "pack"])
    folder = PLACE / "claude-desktop"
    assert "validation passes" in desk.check(*mcpb, "validate", str(folder / "manifest.json"))
    bundle = tmp_path / "pnyx.mcpb"
    desk.check("/usr/bin/env", "python3", str(folder / "build.py"), str(bundle))
    desk.check(*mcpb, "unpack", str(bundle), str(tmp_path / "unpacked"))
    with zipfile.ZipFile(bundle) as files:
        assert {one.name for one in (tmp_path / "unpacked").iterdir()} == set(files.namelist())
    desk.check(*mcpb, "pack", str(tmp_path / "unpacked"), str(tmp_path / "again.mcpb"))
