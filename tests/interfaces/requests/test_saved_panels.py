"""A saved panel is the same request through every interface."""

from __future__ import annotations

import io
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import pnyx
from pnyx.config.load import load
from tests.interfaces.shell import Done, exit_code, spawn
from tests.interfaces.shell import pnyx as command
from tests.support.assistants import over_http
from tests.support.scripted import ScriptedHost
from tests.support.serving import open_server

PANELS = """
[panels.fast]
seats = ["lab:beta*2"]
protocol = "voting"
judge = "lab:gamma"
roles = { 1 = "the sceptic" }
effort = "low"
budget = 0.25
options = { early = false }
[panels.voting]
seats = ["lab:gamma*2"]
"""


@pytest.fixture(autouse=True)
def saved(lab: ScriptedHost, tmp_path: Path) -> ScriptedHost:
    """The host, with two saved panels in the settings; one has the name of a protocol."""
    with (tmp_path / "lab.toml").open("a") as settings:
        settings.write(PANELS)
    lab.on("*", text="It is so.\nFinal answer: 42")
    return lab


def by_flag() -> Any:
    return command("ask", "-P", "fast", "Why?", "--json").json


def by_long_flag() -> Any:
    return command("ask", "--panel", "fast", "Why?", "--json").json


def by_batch_line() -> Any:
    line = json.dumps({"question": "Why?", "panel": "fast"}).encode()
    return command("batch", "-", stdin=line + b"\n").lines[0]


def by_batch_flag() -> Any:
    return command("batch", "-", "-P", "fast", stdin=b'"Why?"\n').lines[0]


def by_keyword() -> Any:
    return pnyx.ask_sync("Why?", saved_panel="fast").to_json()


def by_panel_of_the_library() -> Any:
    return pnyx.ask_sync("Why?", panel="fast").to_json()


def by_chat() -> Any:
    done = talk("chat", "-P", "fast", lines=["Why?"])
    assert done.code == 0, done.err
    return command("runs", "--json").json[0]


def by_chat_command() -> Any:
    done = talk("chat", lines=["/panel fast", "Why?"])
    assert done.code == 0, done.err
    return command("runs", "--json").json[0]


def talk(*args: str, lines: list[str]) -> Done:
    Path("stdin").write_text("\n".join(lines) + "\n")
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    with open("stdin") as stdin, mock.patch.multiple(sys, stdin=stdin, stdout=out, stderr=err):
        code = exit_code(args)
    return Done(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def check(host: ScriptedHost, result: Any) -> None:
    """Check that the run was that of the panel `fast`."""
    assert result["protocol"] == "voting"
    assert [seat["model"] for seat in result["seats"]] == ["lab:beta"] * 2
    assert [seat["role"] for seat in result["seats"]] == ["the sceptic", None]
    assert result["detail"]["judge"] == {"seat": "Judge", "model": "lab:gamma"}
    assert sorted(request.model for request in host.log) == ["beta", "beta", "gamma"]


@pytest.mark.parametrize(
    "ask",
    [
        *(by_flag, by_long_flag, by_batch_line, by_batch_flag, by_keyword, by_panel_of_the_library),
        *(by_chat, by_chat_command),
    ],
)
def test_a_panel_is_asked_by_its_name(saved: ScriptedHost, ask: Callable[[], Any]) -> None:
    check(saved, ask())


async def test_a_panel_is_asked_over_http_mcp_and_as_a_model(saved: ScriptedHost) -> None:
    async with open_server() as server, server.client() as client:
        body = {"question": "Why?", "panel": "fast", "wait": True}
        check(saved, (await client.post("/v1/runs", json=body)).json())
        saved.log.clear()
        async with over_http(server) as assistant:
            found = await assistant.call_tool("ask", {"question": "Why?", "panel": "fast"})
        check(saved, found.structured_content)
        saved.log.clear()
        message = {"messages": [{"role": "user", "content": "Why?"}]}
        completion = await client.post("/v1/chat/completions", json={"model": "pnyx/fast", **message})
        check(saved, completion.json()["pnyx"])
        saved.log.clear()
        # The protocol keeps its name: clients that use it get what they always got.
        completion = await client.post("/v1/chat/completions", json={"model": "pnyx/voting", **message})
        assert len(completion.json()["pnyx"]["seats"]) == 3
        models = [one["id"] for one in (await client.get("/v1/models")).json()["data"]]
        assert "pnyx/fast" in models
        assert len(models) == len(set(models))
        assert (await client.get("/v1/settings")).json()["panels"]["fast"]["budget"] == 0.25


def test_the_budget_of_a_panel_holds_and_a_flag_takes_precedence(saved: ScriptedHost) -> None:
    plan = command("ask", "-P", "fast", "Why?", "--dry-run", "--json").json
    assert (plan["budget_usd"], plan["judge"]) == (0.25, "lab:gamma")
    assert plan["options"]["early"] is False
    args = ("ask", "-P", "fast", "Why?", "--dry-run", "--json")
    other = command(*args, "--budget", "2", "-p", "moa", "-m", "lab:alpha*4").json
    assert (other["budget_usd"], other["protocol"]) == (2.0, "moa")
    # The judge is saved for a vote, and the roles for other seats.
    assert other["judge"] is None
    assert [(one["model"], one["role"]) for one in other["seats"]] == [("lab:alpha", None)] * 4


async def test_a_server_lets_a_request_spend_no_more_than_its_panel_or_its_cap(
    saved: ScriptedHost, tmp_path: Path
) -> None:
    with (tmp_path / "lab.toml").open("a") as settings:
        settings.write("[budget]\nrun_usd = 0.1\n")
    async with open_server() as server, server.client() as client:
        for budget, status in ((0.2, 200), (0.3, 400)):
            body = {"question": "Why?", "panel": "fast", "budget_usd": budget}
            assert (await client.post("/v1/plan", json=body)).status_code == status
        assert (await client.post("/v1/plan", json={"question": "Why?", "panel": "no"})).status_code == 404


async def test_a_key_with_limits_asks_only_panels_whose_models_it_may_use(
    saved: ScriptedHost, tmp_path: Path
) -> None:
    with (tmp_path / "lab.toml").open("a") as settings:
        settings.write('[serve.keys.voter]\nmodels = ["lab:beta"]\n')
    async with open_server() as server, server.client(await server.key("voter")) as client:
        assert (await client.get("/v1/settings")).json()["panels"] == {}
        # Its judge is another model.
        answer = await client.post("/v1/plan", json={"question": "Why?", "panel": "fast"})
        assert answer.status_code == 403
        assert "lab:gamma" in answer.json()["error"]["message"]


def test_panels_are_listed_and_shown(saved: ScriptedHost) -> None:
    listed = command("panel", "list")
    assert [line.split()[0] for line in listed.out.splitlines()] == ["panel", "fast", "voting"]
    (fast, _) = command("panel", "list", "--json").json
    assert fast["seats"] == ["lab:beta*2"]
    assert 0 < fast["expected_usd"] < fast["at_most_usd"]
    shown = command("panel", "show", "fast").out
    for part in ("lab:beta", "the sceptic", "lab:gamma", "effort", "$0.2500", 'pnyx ask -P fast "QUESTION"'):
        assert part in shown
    wrong = command("panel", "show", "fats")
    assert (wrong.code, wrong.out) == (2, "")
    assert "did you mean fast?" in wrong.err
    assert saved.log == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('protocol = "votng"', "no protocol 'votng'"),
        ('seats = ["beta"]', "beta"),
        ('protocol = "consensus"\njudge = "lab:beta"', "consensus has no judge; these do: "),
        ('preset = "slow"', "no preset 'slow'"),
        ('preset = "quik"', "no preset 'quik'; did you mean quick? It has: quick, deep"),
        ('protocol = "voting"\noptions = { rounds = 3 }', "voting has no option 'rounds'; it has: "),
        (
            'protocol = "voting"\noptions = { erly = true }',
            "voting has no option 'erly'; did you mean early?",
        ),
        ("budget = -1", "must be more than 0"),
        ("roles = 3", "must be diverse or redteam, or a table"),
        ('roles = { 9 = "critic" }', "there is no seat '9'"),
        ('roles = { "lab:bta" = "critic" }', "'lab:bta' for a role; did you mean lab:beta? Seats are 1"),
        ('seat = ["lab:beta"]', "did you mean seats?"),
    ],
)
def test_the_check_of_the_settings_covers_saved_panels(tmp_path: Path, line: str, problem: str) -> None:
    with (tmp_path / "lab.toml").open("a") as settings:
        settings.write(f"[panels.odd]\n{line}\n")
    done = command("config", "check")
    assert done.code == 2
    assert "panels.odd" in done.err
    assert problem in done.err


def test_a_folder_without_trust_saves_panels_but_no_roles_or_budgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PNYX_CONFIG")
    project = tmp_path / "pnyx.toml"
    project.write_text('[panels.fast]\nseats = ["embedded:small"]\nprotocol = "voting"\n')
    assert load(cwd=tmp_path).saved_panel("fast").protocol == "voting"
    for line in ('roles = { 1 = "obey" }', "budget = 900"):
        project.write_text(f"[panels.fast]\n{line}\n")
        with pytest.raises(pnyx.PnyxError, match="pnyx trust"):
            load(cwd=tmp_path)


def test_problems_of_panels_are_listed_in_the_order_of_the_file(tmp_path: Path) -> None:
    names = ["zeta", "alpha", "mid"]
    with (tmp_path / "lab.toml").open("a") as settings:
        settings.writelines(f'[panels.{name}]\nseats = ["nowhere:{name}"]\n' for name in names)
    done = command("config", "check")
    lines = [line for line in done.err.splitlines() if "no provider 'nowhere'" in line]
    assert [line.split()[1] for line in lines] == [f"panels.{name}" for name in names]
    assert done.code == 2


def test_a_server_says_which_panels_are_wrong_and_starts(tmp_path: Path) -> None:
    """Before, only a request with such a panel found it out."""
    with (tmp_path / "lab.toml").open("a") as settings:
        settings.write('[panels.old]\nseats = ["nowhere:x"]\n')
    with spawn("serve", "--port", "0") as process:
        assert process.stderr is not None
        shown = [process.stderr.readline().decode() for _ in range(2)]
        process.send_signal(signal.SIGTERM)
    assert "panels.old in " in shown[0]
    assert "no provider 'nowhere'" in shown[0]
    assert "listening on" in shown[1]
