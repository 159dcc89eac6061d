"""A real process, killed with SIGKILL before and after every commit of a three-round debate, and resumed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import sqlite3
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.interfaces.shell import Done, pnyx
from tests.support.forked import start
from tests.support.scripted import Request, ScriptedHost
from tests.support.stored import rows_of_file

NEEDED = 12
CONFIG = """
[providers.lab]
kind = "openai"
base_url = "{url}"
[models."lab:alpha"]
input_price = 1.0
output_price = 4.0
[models."lab:beta"]
input_price = 0.5
output_price = 2.0
[models."lab:gamma"]
input_price = 0.5
output_price = 2.0
[panel]
seats = ["lab:alpha", "lab:beta", "lab:gamma"]
"""


def words(request: Request) -> str:
    """A reply determined by model and prompt, without nonces and the date, which differ between runs."""
    prompt = re.sub(r"\bm[0-9a-f]{10}\b|Today is \S+", "", request.body["messages"][-1]["content"])
    digest = hashlib.sha256(f"{request.model} {prompt}".encode()).hexdigest()
    return f"I hold {digest[:8]}, because {digest[8:16]} and {digest[16:24]}."


class Case:
    """One database, one host, and the pnyx command on them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.host = ScriptedHost()
        self.host.on("*", text=words)

    @property
    def environment(self) -> dict[str, str]:
        (self.folder / "pnyx.toml").write_text(CONFIG.format(url=self.host.openai))
        return {
            **os.environ,
            "PNYX_CONFIG": str(self.folder / "pnyx.toml"),
            "PNYX_DATABASE": str(self.folder / "pnyx.db"),
            "OPENAI_API_KEY": "sk-planted-secret",
        }

    def ask(self, kill_at: str) -> Done:
        """Ask in a process of its own, which kills itself there."""
        command = (kill_at, "ask", "Should we?", "--seed", "7", "--rounds", "3", "--json", "-q")
        with start(*command, module="tests.support.kill_at_commit", env=self.environment) as process:
            out, err = process.communicate(timeout=60)
            return Done(process.wait(), out.decode(), err.decode())

    def resume(self, run_id: str) -> Done:
        """Resume in this process, whose order of sets is another than that of the killed one."""
        with mock.patch.dict(os.environ, self.environment):
            return pnyx("resume", run_id, "--json", "-q")

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(body) for *_, body in rows_of_file(self.folder / "pnyx.db")]

    def ledger(self, scope: str) -> tuple[int, int]:
        with sqlite3.connect(self.folder / "pnyx.db") as connection:
            row = connection.execute(
                "SELECT spent_nusd, reserved_nusd FROM ledger WHERE scope = ?", (scope,)
            ).fetchone()
        connection.close()
        return row


def decision(document: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in document.items() if k not in ("run_id", "usage", "elapsed_s")}


def killed_and_resumed(folder: Path, kill_at: str, expected: dict[str, Any]) -> None:
    case = Case(folder)
    with case.host:
        killed = case.ask(kill_at)
        if killed.code == 0:
            # Simultaneous replies share a commit, so that this run made fewer than the first.
            assert decision(killed.json) == expected
            return
        assert killed.code == -signal.SIGKILL, killed.err
        try:
            before = case.events()
        except sqlite3.OperationalError:
            before = []  # killed before there were tables
        if not before:
            assert case.host.log == []
            return
        recorded = {e["key"] for e in before if e["type"] == "call_finished"}
        in_flight = [e for e in before if e["type"] == "call_started" and e["key"] not in recorded]
        run_id = before[0]["run_id"]
        resumed = case.resume(run_id[:6])
        assert resumed.code == 0, resumed.err
        assert decision(resumed.json) == expected
        assert NEEDED <= len(case.host.log) <= NEEDED + len(in_flight)
        events = case.events()
        assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
        assert sum(e["type"] == "run_finished" for e in events) == 1
        repeated = [e["key"] for e in events[len(before) :] if e["type"] == "call_started"]
        assert not recorded & set(repeated)
        unknown = [e for e in events if e["type"] == "call_failed"]
        assert len(unknown) == len(in_flight)
        charged = sum(
            e.get("cost_usd") or e.get("charged_usd") or 0
            for e in events
            if "cost_usd" in e or "charged_usd" in e
        )
        assert case.ledger(f"run:{run_id}") == (round(charged * 1e9), 0)
        again = case.resume(run_id)
        assert decision(again.json) == expected
        assert len(case.host.log) <= NEEDED + len(in_flight)
        assert "sk-planted-secret" not in json.dumps(events) + again.out + again.err


COMMITS = 16
"""Commits of the debate before and after which it is killed: 11 if replies that arrive at the same time share
one, and a few more if they do not."""


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The decision of a run that nobody kills."""

    case = Case(tmp_path_factory.mktemp("kill") / "whole")
    with case.host:
        done = case.ask("0")
        assert done.code == 0, done.err
        assert len(case.host.log) == NEEDED
        assert int(done.err.split()[-1]) >= 11
        return decision(done.json)


@pytest.mark.parametrize("kill_at", [f"{n}{side}" for n in range(1, COMMITS + 1) for side in "-+"])
def test_killed_before_and_after_every_commit_and_resumed_nothing_journaled_is_sent_again(
    kill_at: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    killed_and_resumed(tmp_path / "killed", kill_at, expected)
