"""A database whose pages are whole and whose values are not: what damage and foreign programs leave."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from pnyx.config.load import database_url
from pnyx.interfaces.process.open_settings import open_settings
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost

DAMAGE = (
    ("UPDATE contents SET content = hex(content)", "is damaged; restore the database from a backup"),
    ("UPDATE contents SET content = CAST(content AS TEXT)", "restore a backup into a new database"),
    ("UPDATE events SET packed = 5", "is damaged; restore the database from a backup"),
    ("UPDATE events SET packed = 'a text'", "is damaged; restore the database from a backup"),
    ("UPDATE runs SET question = x'ff41'", "is damaged; restore the database from a backup"),
    ("UPDATE runs SET question = CAST(x'ff41' AS TEXT)", "restore a backup into a new database"),
    ("UPDATE runs SET spec = x'00'", "is damaged; restore the database from a backup"),
    ("INSERT INTO labels SELECT id, 'tag', x'ff', 5 FROM runs", ""),
    (
        "INSERT INTO outcomes (run_id, owner, judged_at, protocol, result, answers, run_owner)"
        " VALUES ('x', 'local', 5, 'voting', 'success', '{', 'local')",
        "",
    ),
    ("DELETE FROM events WHERE type = 'run_started'", ""),
)
"""What is done to the file, and the words of an error that some command then has; none: all work."""


def test_values_of_another_kind_are_reported_as_damage(lab: ScriptedHost, tmp_path: Path) -> None:
    question = "Why? " + "Because of the long reasons. " * 20
    run = pnyx("ask", question, "-p", "voting", "--json").json["run_id"]
    file = Path(database_url(open_settings()).removeprefix("sqlite:///"))
    whole = tmp_path / "whole.db"
    shutil.copy(file, whole)
    exports = (("export", run, "--format", form) for form in ("json", "md", "html"))
    commands: list[tuple[str, ...]] = [("runs",), ("show", run), ("resume", run), ("calibration",)]
    commands += [("recall", "reasons"), *exports]
    for statement, words in DAMAGE:
        shutil.copy(whole, file)
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute(statement)
        done = [pnyx(*command) for command in commands]
        assert not [one.err for one in done if "bug" in one.err], statement
        errors = " ".join(one.err for one in done if one.code)
        assert words in errors if words else not errors, statement
