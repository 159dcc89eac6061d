"""`pnyx runs`, `status`, `show`, `export` and `cancel` on stored runs."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pnyx.config.load import database_url
from pnyx.interfaces.cli.actions import runs as actions
from pnyx.interfaces.cli.records import with_records
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.interfaces.records.runs import RunRecords
from pnyx.run.leases.lease import this_worker
from pnyx.store import Database
from pnyx.store.records.runs import RunRow, create
from tests.interfaces.conftest import KEY
from tests.interfaces.shell import pnyx, spawn
from tests.support.disks import small_disk
from tests.support.scripted import ScriptedHost

HOSTILE = "\x1b[2JIt is so. \u202e<script>alert(1)</script> ![x](http://evil.example/x)\nFinal answer: yes"


@pytest.fixture
def run(lab: ScriptedHost) -> Any:
    """The result object of a finished run in which every reply is `HOSTILE`."""
    lab.on("*", text=HOSTILE)
    return pnyx("ask", "--json", "Why is it so?").json


def test_runs_are_a_table_for_people_and_result_objects_for_programs(run: Any, lab: ScriptedHost) -> None:
    second = pnyx("ask", "--json", "And now?").json
    assert pnyx("runs", "--json").json == [second, run]
    table = pnyx("runs").out.splitlines()
    assert [line.split()[0] for line in table] == ["run", second["run_id"], run["run_id"]]
    assert "Why is it so?" in table[2]


def test_runs_are_filtered_and_counted(run: Any, lab: ScriptedHost) -> None:
    lab.on("*", status=401)
    failed = pnyx("ask", "--json", "And now?").json
    assert pnyx("runs", "--status", "failed", "--json").json == [failed]
    assert pnyx("runs", "--status", "consensus", "--json").json == [run]
    assert pnyx("runs", "--limit", "1", "--json").json == [failed]
    assert pnyx("runs", "--status", "cancelled", "--json").json == []


@pytest.mark.parametrize("command", [("runs",), ("recall", "why")])
def test_a_limit_is_bounded(run: Any, command: tuple[str, ...]) -> None:
    assert len(pnyx(*command, "--limit", "1000000", "--json").json) == 1
    assert pnyx(*command, "--limit", str(2**63)).code == 2


def test_a_limit_counts_only_runs_with_the_status(lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "PAGE", 2)
    here, gone, paused = (this_worker(), time.time()), ("gone:1:1", 0.0), (None, None)
    writers = [here, paused, gone, here, gone, gone, here, here]  # newest last

    async def begin() -> None:
        database = await Database.open(database_url(open_settings()))
        spec: dict[str, Any] = {"seats": []}
        for n, (worker, beat) in enumerate(writers):
            row = RunRow.new(f"r{n}", "local", f"2026-01-0{n + 1}", "single", "Why?", spec, worker=worker)
            row = replace(row, heartbeat_at=beat, status="paused" if worker is None else "running")
            await database.write(partial(create, row=row))
        await database.close()

    asyncio.run(begin())
    for status, ids in {"running": "7630", "paused": "5421"}.items():
        for limit in range(1, 6):
            rows = pnyx("runs", "--status", status, "--limit", str(limit), "--json").json
            assert [run["run_id"][1:] for run in rows] == list(ids[:limit]), (status, limit)


def test_no_runs_are_an_empty_list(lab: ScriptedHost) -> None:
    assert pnyx("runs", "--json").json == []
    assert pnyx("runs").out == ""


def test_a_status_is_one_line(run: Any) -> None:
    done = pnyx("status", run["run_id"])
    assert done.out.startswith(f"{run['run_id']}  consensus after 1 round")
    assert done.out.count("\n") == 1


@pytest.mark.parametrize("command", ["status", "show", "cancel", "resume"])
def test_a_prefix_of_an_id_is_enough_and_an_unknown_id_is_a_usage_error(run: Any, command: str) -> None:
    assert pnyx(command, run["run_id"][:4]).code == 0
    done = pnyx(command, "nosuchrun")
    assert (done.code, done.out) == (2, "")
    assert done.err == "pnyx: no run 'nosuchrun'; `pnyx runs` lists them\n"


def test_show_prints_every_reply_with_its_seat_and_model_and_the_decision(run: Any) -> None:
    done = pnyx("show", run["run_id"])
    titles = [line for line in done.out.splitlines() if line.startswith("Round 1")]
    assert len(titles) == 4
    for seat in run["seats"]:
        assert f"{seat['seat']} ({seat['model']})" in done.out
    for expected in ("Why is it so?", "consensus after 1 round, not converged", "rigor ", "lab:alpha"):
        assert expected in done.out
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


def test_show_of_a_long_run_prints_its_last_events_and_the_sums_of_all(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = pnyx("show", run["run_id"]).out
    count = len(pnyx("show", run["run_id"], "--json").json["events"])
    monkeypatch.setattr(actions, "SHOWN", 4)
    done = pnyx("show", run["run_id"])
    note, last = f"… {count - 5} events left out: the last 4 follow.", whole.splitlines()[-4:]
    assert f"{note} All of them: pnyx show {run['run_id']} --all" in done.out
    assert pnyx("show", run["run_id"], "--all").out == whole
    assert done.out.startswith("Question\n    Why is it so?\n")
    assert done.out.splitlines()[-4:] == last
    assert last[0].split()[:2] == ["model", "calls"]
    assert 0 < done.out.count("tokens ") < whole.count("tokens ")
    monkeypatch.setattr(actions, "SHOWN", count)
    assert pnyx("show", run["run_id"]).out == whole


def test_what_a_command_reads_is_not_written_as_text(run: Any) -> None:
    """asyncio.run computes the `repr` of what its task returned, of all events of a run."""

    class Read:
        texts = 0

        def __repr__(self) -> str:
            Read.texts += 1
            return "a run"

    async def read(stored: RunRecords) -> Read:
        return Read()

    assert isinstance(with_records(open_settings(), read), Read)
    assert Read.texts == 0


def test_show_as_json_is_the_result_with_its_events(run: Any) -> None:
    document = pnyx("show", run["run_id"], "--json").json
    events = document.pop("events")
    assert document == run
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [e["text"] for e in events if e["type"] == "call_finished"] == [HOSTILE] * 4


def test_an_export_as_json_is_exact_and_the_same_every_time(run: Any, tmp_path: Path) -> None:
    done = pnyx("export", run["run_id"], "--format", "json")
    assert done.json["result"] == run
    assert done.json["events"][-1]["result"] == run
    saved = pnyx("export", run["run_id"], "--out", "run.json")
    assert (saved.code, saved.out, saved.err) == (0, "", "saved to run.json\n")
    assert (tmp_path / "run.json").read_text() == done.out


def test_an_export_as_markdown_is_escaped_and_the_same_every_time(run: Any) -> None:
    done = pnyx("export", run["run_id"], "--format", "md")
    assert done.out == pnyx("export", run["run_id"], "--format", "md").out
    assert "> Why is it so?" in done.out
    assert r"\<script>" in done.out
    assert r"\![x\](http" in done.out
    assert "\x1b" not in done.out


def test_keys_are_masked_in_exports(lab: ScriptedHost) -> None:
    lab.on("*", text=f"Your key is {KEY}.")
    run_id = pnyx("ask", "--json", "Why?").json["run_id"]
    for form in ("json", "md"):
        done = pnyx("export", run_id, "--format", form)
        assert KEY not in done.out
        assert "Your key is " in done.out


@pytest.mark.parametrize("form", ["json", "html"])
def test_of_an_export_onto_a_full_disk_nothing_is_left(run: Any, tmp_path: Path, form: str) -> None:
    with small_disk(tmp_path / "small", 4096) as disk:
        out = disk.folder / f"run.{form}"
        with spawn("export", run["run_id"], "--out", str(out), **disk.options) as process:
            _, err = process.communicate(timeout=60)
        assert (process.returncode, out.exists()) == (2, False)
    assert f"cannot write {out}: " in err.decode()


def test_an_export_that_cannot_be_written_says_so(run: Any) -> None:
    done = pnyx("export", run["run_id"], "--format", "md", "--out", "no/such/folder.md")
    assert done.code == 2
    assert "no/such/folder.md" in done.err


def test_a_paused_run_is_cancelled_for_good(lab: ScriptedHost) -> None:
    paused = pnyx("ask", "--budget", "0.003", "--json", "Why?").json
    assert paused["status"] == "paused"
    done = pnyx("cancel", paused["run_id"])
    assert (done.code, done.out) == (0, "")
    assert pnyx("status", paused["run_id"], "--json").json["status"] == "cancelled"
    resumed = pnyx("resume", paused["run_id"])
    assert resumed.code == 1
    assert "pnyx: cancelled" in resumed.err


def test_cancelling_a_finished_run_does_not_change_it(run: Any) -> None:
    done = pnyx("cancel", run["run_id"])
    assert (done.code, "has already finished: consensus" in done.err) == (0, True)
    assert pnyx("status", run["run_id"], "--json").json == run


def test_a_question_of_many_lines_stays_in_its_row(lab: ScriptedHost) -> None:
    question = "one\n\x1b[31mtwo\n" + "x" * 2000
    pnyx("ask", "--json", question)
    assert len(pnyx("runs").out.splitlines()) == 2
    assert json.loads(pnyx("runs", "--json").out)[0]["question"] == question
