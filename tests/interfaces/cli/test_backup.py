"""`pnyx backup` and `restore`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost


def test_a_backup_is_restored_elsewhere(lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch) -> None:
    run = pnyx("ask", "--json", "Should we?").json
    done = pnyx("backup", "all.pnyx")
    assert (done.code, done.out) == (0, "all.pnyx\n")
    assert done.err.startswith("1 run with ")
    monkeypatch.setenv("PNYX_DATABASE", "elsewhere.db")
    done = pnyx("restore", "all.pnyx")
    assert (done.code, done.out) == (0, "")
    assert pnyx("runs", "--json").json == [run]
    assert pnyx("cost", "--json").json["total"]["cost_usd"] == pytest.approx(run["usage"]["cost_usd"])


def test_restore_leaves_the_keys_of_the_server_out_and_names_them(
    lab: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ada", "bob"):
        pnyx("serve", "--new-key", name)
    pnyx("backup", "all.pnyx")
    monkeypatch.setenv("PNYX_DATABASE", "elsewhere.db")
    done = pnyx("restore", "all.pnyx")
    assert "2 API keys of the server left out: ada, bob." in done.err
    assert pnyx("serve", "--keys").out == ""
    monkeypatch.setenv("PNYX_DATABASE", "third.db")
    done = pnyx("restore", "--with-keys", "all.pnyx")
    assert "2 API keys of the server put in force: ada, bob" in done.err
    assert pnyx("serve", "--keys").out.split() == ["ada", "bob"]


def test_backup_and_restore_overwrite_nothing(lab: ScriptedHost) -> None:
    run = pnyx("ask", "--json", "Should we?").json
    assert pnyx("backup", "all.pnyx").code == 0
    again = pnyx("backup", "all.pnyx")
    assert (again.code, again.out, again.err) == (
        2,
        "",
        "pnyx: all.pnyx already exists; name a new file for the backup\n",
    )
    done = pnyx("restore", "all.pnyx")
    assert done.code == 2
    assert "is not empty: restore into a new one, set with PNYX_DATABASE" in done.err
    assert pnyx("runs", "--json").json == [run]


def test_a_file_that_is_not_a_backup_is_named(lab: ScriptedHost) -> None:
    Path("odd").write_text("no database")
    done = pnyx("restore", "odd")
    assert (done.code, done.out) == (1, "")
    assert "odd" in done.err
    assert "not a database" in done.err
    missing = pnyx("restore", "nowhere")
    assert (missing.code, missing.err) == (2, "pnyx: nowhere cannot be read: No such file or directory\n")
    assert pnyx("backup", "nowhere/all.pnyx").code == 2
    os.mkfifo("pipe")
    pipe = pnyx("restore", "pipe")
    assert (pipe.code, pipe.err) == (2, "pnyx: pipe cannot be read: it is no regular file\n")


def test_a_refused_restore_creates_no_database(
    lab: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PNYX_DATABASE", str(tmp_path / "new.db"))
    Path("odd").write_text("")
    done = pnyx("restore", "odd")
    assert (done.code, done.err) == (1, "pnyx: odd is not a backup of pnyx: it has no table 'events'\n")
    assert not (tmp_path / "new.db").exists()
