"""`pnyx cost`: runs, calls, tokens and cost."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pnyx.interfaces.cli.actions.cost import OTHERS
from pnyx.interfaces.service.run_service import RunService
from tests.faults.trial import interrupt
from tests.interfaces.cli.test_signals import wait_for_calls
from tests.interfaces.shell import pnyx, spawn
from tests.support.scripted import ScriptedHost
from tests.support.serving import open_server


def test_rows_add_up_to_the_cost_of_the_runs(lab: ScriptedHost) -> None:
    runs = [pnyx("ask", "--json", question).json for question in ("Should we?", "And then?")]
    report = pnyx("cost", "--json").json
    assert {row["model"] for row in report["rows"]} == {"lab:alpha", "lab:beta", "lab:gamma"}
    assert report["total"]["runs"] == 2
    for name in ("calls", "input_tokens", "output_tokens"):
        assert report["total"][name] == sum(run["usage"][name] for run in runs)
        assert report["total"][name] == sum(row[name] for row in report["rows"])
    paid = sum(run["usage"]["cost_usd"] for run in runs)
    assert report["total"]["cost_usd"] == pytest.approx(paid)
    assert report["today"]["spent_usd"] == pytest.approx(paid)
    table = pnyx("cost").out.splitlines()
    assert table[0].split() == ["model", "runs", "calls", "input", "cached", "output", "cost"]
    assert table[-1].startswith("total")
    assert len(table) == 5


def test_costs_are_grouped_by_saved_panel(lab: ScriptedHost) -> None:
    with Path("lab.toml").open("a") as file:
        file.write('[panels.fast]\nseats = ["lab:beta"]\nprotocol = "single"\n')
    for options in (("-P", "fast"), ("-P", "fast"), ()):
        assert pnyx("ask", "Should we?", *options, "--json").code == 0
    rows = pnyx("cost", "--by", "panel", "--json").json["rows"]
    assert {row["panel"]: row["runs"] for row in rows} == {"fast": 2, "no saved panel": 1}


def test_a_table_by_run_has_the_dearest_and_counts_the_others(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MOST_RUNS", "TOGETHER"):
        monkeypatch.setattr(f"pnyx.interfaces.cli.actions.cost.{name}", 1)
    for protocol in ("single", "voting"):
        assert pnyx("ask", "Should we?", "-p", protocol, "--json").code == 0
    listed = pnyx("cost", "--by", "run", "--json")
    rows = listed.json["rows"]
    assert listed.out == json.dumps(listed.json, indent=2) + "\n"
    assert [row["cost_usd"] for row in rows] == sorted((row["cost_usd"] for row in rows), reverse=True)
    table = pnyx("cost", "--by", "run")
    lines = table.out.splitlines()
    assert [line.split()[0] for line in lines] == ["run", rows[0]["run"], "total"]
    assert lines[-1].split()[1] == "2"
    assert "… and 1 more run" in table.err


def test_days_are_bounded(lab: ScriptedHost) -> None:
    assert pnyx("cost", "--days", "36500").code == 0
    assert pnyx("cost", "--days", "99999999").code == 2


@pytest.mark.parametrize("by", ["provider", "protocol", "panel", "day", "run", "key"])
def test_rows_can_be_grouped_by_something_else(lab: ScriptedHost, by: str) -> None:
    run = pnyx("ask", "--json", "Should we?").json
    (row,) = pnyx("cost", "--by", by, "--json").json["rows"]
    known = {"provider": "lab", "protocol": "consensus", "run": run["run_id"], "key": "local"}
    known["panel"] = "no saved panel"
    assert row[by] == known.get(by, row[by])
    assert row["cost_usd"] == pytest.approx(run["usage"]["cost_usd"])


def test_a_sum_with_an_unknown_price_is_unknown(lab: ScriptedHost) -> None:
    pnyx("ask", "--json", "Should we?", "-m", "lab:alpha", "-m", "lab:beta", "-m", "lab:unpriced")
    total = pnyx("cost", "--json").json["total"]
    assert total["cost_usd"] is None
    assert total["known_usd"] > 0 < total["unpriced_calls"]
    lines = pnyx("cost").out.splitlines()
    assert "at least $" in lines[-1]
    assert next(line for line in lines if line.startswith("lab:unpriced")).endswith("unknown")


def test_a_batch_shows_an_unknown_cost_as_unknown(lab: ScriptedHost) -> None:
    unpriced = json.dumps({"question": "a?", "models": ["lab:unpriced"]}).encode()
    done = pnyx("batch", "-", "-p", "single", stdin=unpriced)
    assert done.err.startswith("batch: 1/1 · cost unknown · ")
    assert done.err.endswith("1 answer, cost unknown in all\n")
    done = pnyx("batch", "-", "-p", "single", "-m", "lab:alpha", stdin=unpriced + b'\n"b?"\n')
    assert "batch: 2/2 · at least $0.0" in done.err
    assert "2 answers, at least $0.0" in done.err


def test_a_batch_that_is_stopped_counts_the_cost_of_unfinished_calls(lab: ScriptedHost) -> None:
    lab.replies = 0
    Path("asked.jsonl").write_text('"Should we?"\n')
    with spawn("batch", "asked.jsonl", "-p", "voting", "-m", "lab:unpriced*2") as process:
        wait_for_calls(lab, 1)
        interrupt(process)
        lab.replies = None
        _, err = process.communicate(timeout=120)
    assert b", cost unknown in all\n" in err


def test_what_is_counted_is_said_where_a_key_has_runs_too(lab: ScriptedHost) -> None:
    lab.on("*", text="Final answer: 42")

    async def ask_with_a_key() -> None:
        async with open_server(keys={"ada": {}}) as server, server.client(await server.key("ada")) as client:
            body = {"question": "Why?", "protocol": "voting", "wait": True}
            assert (await client.post("/v1/runs", json=body)).status_code == 200

    assert pnyx("ask", "Why?", "-p", "voting").code == 0
    assert pnyx("cost").err == ""
    asyncio.run(ask_with_a_key())
    cost = pnyx("cost")
    assert cost.err == f"{OTHERS}\n"
    assert cost.out.splitlines()[-1].split()[1] == "2"
    table = pnyx("cost", "--by", "key")
    assert table.err == ""
    assert sorted(line.split("  ")[0] for line in table.out.splitlines()[1:3]) == ["(command line)", "ada"]


def test_without_runs_cost_says_so_and_prints_an_empty_list(lab: ScriptedHost) -> None:
    done = pnyx("cost")
    assert (done.code, done.out, done.err) == (0, "", "no calls yet\n")
    empty = pnyx("cost", "--json")
    assert empty.json["rows"] == []
    assert empty.out == json.dumps(empty.json, indent=2) + "\n"
    assert pnyx("cost", "--days", "0").code == 2


async def test_days_are_those_of_the_databases_clock_over_http_too(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, a server with another day than its database counted a day too many or too few."""
    monkeypatch.setattr(RunService, "now", lambda self: "2031-02-03T00:00:01.000Z")
    async with open_server() as server, server.client() as client:
        costs = (await client.get("/v1/costs", params={"days": 2})).json()
    assert costs["since"] == "2031-02-02"
