"""Commands that read, on a database in a folder that is read only, as a mounted backup is."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from pnyx.config.load import database_url
from pnyx.interfaces.process.open_settings import open_settings
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost
from tests.support.sources import ROOT

READING = (
    "runs",
    "status {}",
    "show {}",
    "export {} --format md",
    "cost",
    "recall why",
    "calibration",
    "panel list",
)
EACH = """
import sys
from tests.interfaces.shell import pnyx
for command in sys.argv[1:]:
    done = pnyx(*command.split())
    print(done.out, done.err, f"FAILED {command}" if done.code else "")
"""


def in_a_read_only_folder(folder: Path, commands: list[str]) -> str:
    """What the commands print, standard error included, in a process for which the folder is read only."""
    mounts = ("--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--ro-bind", str(folder), str(folder))
    command = ("bwrap", *mounts, "--", sys.executable, "-c", EACH, *commands)
    paths = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **paths})
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "state", ["closed", "open elsewhere", "of a process that was killed", "a copy of that"]
)
def test_reading_commands_work_in_a_read_only_folder(lab: ScriptedHost, state: str) -> None:
    pnyx("ask", "--json", "And why was it so?")
    file = Path(database_url(open_settings()))
    with closing(sqlite3.connect(file)) as other:
        # From now on, what is written stays in the log of writes.
        other.execute("BEGIN")
        other.execute("SELECT * FROM runs").fetchall()
        run = pnyx("ask", "--json", "Why is it so?").json
        commands = [command.format(run["run_id"]) for command in READING]
        if state in ("of a process that was killed", "a copy of that"):
            copies = {path.name: path.read_bytes() for path in file.parent.glob(f"{file.name}*")}
        other.execute("COMMIT")
        if state != "open elsewhere":
            other.close()
        if state in ("of a process that was killed", "a copy of that"):
            if state == "a copy of that":  # the index of the log is often left out of copies
                del copies[f"{file.name}-shm"]
            for name, data in copies.items():
                file.with_name(name).write_bytes(data)
        assert file.with_name(f"{file.name}-wal").exists() == (state != "closed")
        before = sorted(os.listdir(file.parent))
        found = in_a_read_only_folder(file.parent, commands)
        assert sorted(os.listdir(file.parent)) == before
    assert "FAILED" not in found
    assert found.count(run["run_id"]) >= 4
    assert found.count("Why is it so?") >= 3


def test_a_command_that_writes_says_what_is_read_only(lab: ScriptedHost) -> None:
    run = pnyx("ask", "--json", "Why is it so?").json
    file = Path(database_url(open_settings()))
    found = in_a_read_only_folder(file.parent, [f"feedback {run['run_id']} --result success", "doctor"])
    assert found.count("attempt to write a readonly database; make the file and its folder writable") == 2
    assert ("FAILED doctor" in found, "Not ready" in found) == (True, True)


def test_a_folder_in_which_no_database_can_be_created_is_named(
    lab: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "read only"
    home.mkdir()
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    done = in_a_read_only_folder(home, ["doctor", "runs", "ask Why?"])
    assert f"FAIL database: {home}/pnyx/pnyx.db cannot be created: {home} is read only" in done
    assert "-> make it writable, or set PNYX_DATABASE" in done
    assert "no runs yet" in done
    assert f"pnyx.db: Read-only file system: '{home}/pnyx'; make the file and its folder writable" in done


def test_an_empty_file_is_not_made_a_database_by_reading_it() -> None:
    file = Path(database_url(open_settings()))
    file.parent.mkdir(parents=True)
    file.touch()
    for command in ("runs", "cost", "recall why", "calibration", "prune --older-than 1d --dry-run"):
        assert pnyx(*command.split()).code == 0
    assert "no run" in pnyx("show", "abc").err
    assert os.listdir(file.parent) == [file.name]
    assert file.stat().st_size == 0


def test_a_database_of_an_earlier_version_that_cannot_be_migrated_is_named(lab: ScriptedHost) -> None:
    pnyx("ask", "--json", "Why is it so?")
    file = Path(database_url(open_settings()))
    with closing(sqlite3.connect(file)) as other, other:
        other.execute("UPDATE alembic_version SET version_num = '0017'")
    found = in_a_read_only_folder(file.parent, ["runs"])
    assert f"database {file}, written by an earlier pnyx, cannot be migrated: " in found
    assert "make the file and its folder writable" in found
