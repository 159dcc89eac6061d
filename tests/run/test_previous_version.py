"""Runs that version 0.1.0 stored, stopped in the middle of every protocol, are shown and resumed by today's.

How the database was made: `tests/run/previous_version/make.py`.
"""

from __future__ import annotations

import asyncio
import json
import lzma
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pnyx.core.models import Price
from pnyx.protocols import loaded
from pnyx.run.batch import request_key
from pnyx.run.run_rows import id_for_name
from pnyx.run.spec import Spec
from pnyx.store import Database
from tests.interfaces.shell import pnyx, spawn
from tests.run.previous_version.ends import ENDS, GOES_ON
from tests.run.previous_version.make import COMPARED, STOPPED
from tests.run.previous_version.panel import CONFIG, QUESTIONS, reply
from tests.support.scripted import ScriptedHost
from tests.support.stored import rows_of_file

FOLDER = Path(__file__).with_name("previous_version")
RUNS: dict[str, Any] = json.loads((FOLDER / "pnyx-0.1.0.json").read_text())
EXPECTED = {name: run["result"] for name, run in RUNS.items()} | json.loads(ENDS.read_text())
OVER = [name for name in RUNS if name not in GOES_ON]
PRICES = {"alpha": Price(1.0, 4.0), "beta": Price(0.5, 2.0), "gamma": Price(0.5, 1.0)}


class Stored:
    """A copy of the database, read without code of pnyx."""

    def __init__(self, file: Path, host: ScriptedHost) -> None:
        self.file, self.host = file, host

    def rows(self, query: str, *values: Any) -> list[Any]:
        with closing(sqlite3.connect(self.file)) as connection:
            return connection.execute(query, values).fetchall()

    def bodies(self, run_id: str) -> list[str]:
        """The stored bodies of the run's events."""
        return [body for run, _, _, body in rows_of_file(self.file) if run == run_id]

    def account(self, run_id: str) -> tuple[int, int]:
        """The spending and reservations of the run, in nUSD."""
        query = "SELECT spent_nusd, reserved_nusd FROM ledger WHERE scope = ?"
        spent, reserved = self.rows(query, f"run:{run_id}")[0]
        return spent, reserved


@pytest.fixture(scope="module")
def original() -> bytes:
    return lzma.decompress((FOLDER / "pnyx-0.1.0.db.xz").read_bytes())


@pytest.fixture(scope="module")
def converted(original: bytes, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The database after a first command. Converting it takes longer than most tests of its runs."""
    file = tmp_path_factory.mktemp("converted") / "pnyx.db"
    file.write_bytes(original)

    async def convert() -> None:
        await (await Database.open(file)).close()

    asyncio.run(convert())
    assert not file.with_name("pnyx.db-wal").exists()
    return file.read_bytes()


@pytest.fixture
def stored(request: pytest.FixtureRequest, converted: bytes) -> Stored:
    """The converted database, with settings that configure the host as the provider of its runs."""
    return _stored(request, converted)


@pytest.fixture
def unconverted(request: pytest.FixtureRequest, original: bytes) -> Stored:
    """The database as 0.1.0 left it."""
    return _stored(request, original)


def _stored(request: pytest.FixtureRequest, database: bytes) -> Stored:
    tmp_path, host, monkeypatch = (request.getfixturevalue(n) for n in ("tmp_path", "host", "monkeypatch"))
    file = tmp_path / "pnyx.db"
    file.write_bytes(database)
    (tmp_path / "lab.toml").write_text(CONFIG.format(url=host.openai))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PNYX_CONFIG", "lab.toml")
    monkeypatch.setenv("PNYX_DATABASE", str(file))
    monkeypatch.setenv("LAB_KEY", "sk-planted-0123456789")
    host.on("*", text=reply)
    return Stored(file, host)


def documents(bodies: list[str], kind: str) -> list[Any]:
    return [document for body in bodies if (document := json.loads(body))["type"] == kind]


def charged(bodies: list[str]) -> int:
    """The sum of the charges in the events, in nUSD."""
    finished = [e["cost_usd"] for e in documents(bodies, "call_finished") if not e["copied"]]
    return round(sum([*finished, *(e["charged_usd"] for e in documents(bodies, "call_failed"))]) * 1e9)


def test_the_database_holds_a_run_inside_every_protocol(unconverted: Stored) -> None:
    stopped_in = {STOPPED[name].arguments[1] for name in STOPPED}
    newer = {"escalate"}
    assert stopped_in == {protocol.name for protocol in loaded()} - newer
    query = "SELECT DISTINCT json_extract(body, '$.version') FROM events WHERE type = 'run_started'"
    assert unconverted.rows(query) == [("0.1.0",)]
    for name in STOPPED:
        bodies = unconverted.bodies(RUNS[name]["run_id"])
        assert documents(bodies, "phase_entered")
        assert documents(bodies, "call_finished") or name in ("single", "given")
        assert not documents(bodies, "run_finished")


def test_converting_changes_no_event(unconverted: Stored, converted: bytes, tmp_path: Path) -> None:
    (tmp_path / "converted.db").write_bytes(converted)
    assert rows_of_file(tmp_path / "converted.db") == rows_of_file(unconverted.file)


def test_the_command_that_converts_the_database_resumes_a_run(unconverted: Stored) -> None:
    _resume(unconverted, GOES_ON[0])


@pytest.mark.parametrize("name", GOES_ON)
def test_a_stopped_run_is_resumed_to_the_same_end(stored: Stored, name: str) -> None:
    _resume(stored, name)


def _resume(stored: Stored, name: str) -> None:
    run = RUNS[name]
    before = stored.bodies(run["run_id"])
    recorded = {event["key"] for event in documents(before, "call_finished")}
    failed = [event["key"] for event in documents(before, "call_failed") if event["final"]]
    ended = pnyx("resume", run["run_id"], *run["resume"], "--json", "-q")
    assert ended.code in (0, 5), ended.err
    assert {field: ended.json[field] for field in COMPARED} == EXPECTED[name]

    after = stored.bodies(run["run_id"])
    assert after[: len(before)] == before
    events = [json.loads(body) for body in after]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["type"] for event in events].count("run_finished") == 1
    assert events[-1]["type"] == "run_finished"

    new = after[len(before) :]
    sent = documents(new, "call_started")
    assert not {event["key"] for event in sent} & {*recorded, *failed}
    assert len(stored.host.log) == len(sent) > 0
    paid = sum(round(event["cost_usd"] * 1e9) for event in documents(new, "call_finished"))
    assert stored.host.bill(PRICES) == paid
    assert stored.account(run["run_id"]) == (charged(after), 0)

    assert pnyx("resume", run["run_id"], "--json", "-q").json == ended.json
    assert len(stored.host.log) == len(sent)


@pytest.mark.parametrize("name", GOES_ON)
def test_a_fork_of_a_stopped_run_reuses_every_reply(stored: Stored, name: str) -> None:
    run = RUNS[name]
    before = stored.bodies(run["run_id"])
    ended = pnyx("resume", run["run_id"], *run["resume"], "--fork", "--json", "-q")
    assert ended.code in (0, 5), ended.err
    assert stored.bodies(run["run_id"]) == before
    finished = documents(stored.bodies(ended.json["run_id"]), "call_finished")
    copied = [event for event in finished if event["copied"]]
    recorded = {event["key"] for event in documents(before, "call_finished")}
    assert len(stored.host.log) == len(finished) - len(copied)
    if name == "closed":
        # The fork waits for the late seat, and its ballot changes every step after the vote.
        assert {event["key"] for event in copied} < recorded
    else:
        assert {event["key"] for event in copied} == recorded
        assert {field: ended.json[field] for field in COMPARED} == EXPECTED[name]


@pytest.mark.parametrize("name", OVER)
def test_a_finished_run_is_shown_and_nothing_is_sent(stored: Stored, name: str) -> None:
    run = RUNS[name]
    before = stored.bodies(run["run_id"])
    for command in ("status", "show", "resume"):
        ended = pnyx(command, run["run_id"], "--json")
        assert {field: ended.json[field] for field in COMPARED} == run["result"], ended.err
    assert stored.bodies(run["run_id"]) == before
    assert stored.host.log == []


@pytest.mark.parametrize("part", range(4))
def test_every_run_is_read_by_every_view(stored: Stored, part: int, tmp_path: Path) -> None:
    for name in list(RUNS)[part::4]:
        run_id = RUNS[name]["run_id"]
        for command in (
            ("show", run_id, "--plain"),
            ("status", run_id),
            ("export", run_id, "--format", "md"),
        ):
            shown = pnyx(*command)
            assert shown.code == 0, (name, shown.err)
            assert command[0] == "status" or QUESTIONS[name] in shown.out, name
        assert pnyx("export", run_id, "--format", "html").code == 0, name
        assert pnyx("export", run_id, "--format", "folder", "--out", str(tmp_path / name)).code == 0, name
        exported = pnyx("export", run_id, "--format", "json").json["events"]
        # As they are stored; fields that are newer than the run have their defaults.
        bodies = [json.loads(body) for body in stored.bodies(run_id)]
        assert [
            {field: event[field] for field in body} for event, body in zip(exported, bodies, strict=True)
        ] == bodies, name


def test_lists_have_all_of_them(stored: Stored) -> None:
    listed = pnyx("runs", "--limit", "100", "--json").json
    ids = [run_id for (run_id,) in stored.rows("SELECT id FROM runs ORDER BY created_at DESC, id")]
    assert [run["run_id"] for run in listed] == ids
    assert {run["run_id"] for run in RUNS.values()} <= set(ids)
    matches = pnyx("recall", "lamps", "--json").json
    assert {hit["question"] for hit in matches} == {QUESTIONS["judged"]}
    assert pnyx("cost", "--json").code == pnyx("calibration", "--json").code == 0


def test_a_conversation_continues(stored: Stored) -> None:
    run_id = RUNS["chat"]["run_id"]
    with spawn("chat", "--resume", run_id, "-p", "single", "-q", stdin=subprocess.PIPE) as process:
        out, err = process.communicate(b"What follows?\n", timeout=60)
    assert process.returncode == 0, err
    assert b"Final answer" in out
    turns = stored.rows("SELECT count(*) FROM runs WHERE conversation IS NOT NULL GROUP BY conversation")
    assert turns == [(3,)]


def test_a_batch_finds_the_runs_of_its_questions(unconverted: Stored) -> None:
    run_id = RUNS["batch"]["run_id"]
    (document,) = unconverted.rows("SELECT spec FROM runs WHERE id = ?", run_id)[0]
    spec = Spec.from_json(json.loads(document), run_id)
    assert id_for_name(spec.owner, f"{spec.batch}/{request_key(spec)}/1") == run_id
    for changed in ({"effort": "low"}, {"language": "de"}, {"instructions": "Be brief."}, {"seed": 8}):
        assert request_key(replace(spec, **changed)) != request_key(spec)
