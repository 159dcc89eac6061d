"""Before the first question there is no database, and only commands that store something make one."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from pnyx.errors import ConfigError, NotFound
from pnyx.interfaces import library
from pnyx.interfaces.cli import COMMANDS
from pnyx.interfaces.records.existing_database import SQLITE
from tests.interfaces.shell import pnyx
from tests.support.postgres import PostgresServer
from tests.support.scripted import ScriptedHost

STORED = (
    "runs",
    "recall x",
    "status x",
    "show x",
    "show x --json",
    "export x --format json",
    "export x --format md",
    "share x",
    "share x --list",
    "share x --revoke",
    "cost",
    "cost --by run",
    "calibration",
    "cancel x",
    "tag x good",
    "delete x",
    "resume x",
    "resume x --fork",
    "feedback x --result success",
    "chat --resume x",
    "backup copy",
    "prune --older-than 90d --dry-run",
    "worker status",
    "serve --keys list",
    "serve --revoke-key ann",
    "serve --rotate-key ann",
    "serve --change-key ann --limit runs_at_once=2",
)
"""Commands that need what is stored, or show it."""
OTHERS = (
    "ask --dry-run Why?",
    "completion bash",
    "config show",
    "doctor",
    "integrate claude",
    "keys list",
    "models",
    "panel list",
    "protocols",
    "trust",
    "worker retry x",
    "worker drop x",
)
"""Commands that neither need a database nor make one."""
MAKING = ("ask", "batch", "chat", "demo", "eval", "init", "mcp", "restore", "serve", "verify", "worker")
"""Commands that ask, serve or load, and may make one: `init` asks a first question."""


def test_every_command_is_in_one_of_the_tables() -> None:
    names = {shlex.split(command)[0] for command in (*STORED, *OTHERS)} | {*MAKING}
    assert names == {name for section in COMMANDS.values() for name in section}


@pytest.mark.parametrize("command", STORED)
def test_a_mistyped_database_is_named_and_not_created(
    lab: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    (tmp_path / "runs.db").write_bytes(SQLITE)
    (tmp_path / "notes.db").write_text("no database")
    monkeypatch.setenv("PNYX_DATABASE", str(tmp_path / "rnus.db"))
    done = pnyx(*shlex.split(command))
    assert (done.code, done.out) == (2, "")
    assert (
        f"there is no database {tmp_path / 'rnus.db'} (named by $PNYX_DATABASE); there are: runs.db. "
        in done.err
    )
    assert sorted(path.name for path in tmp_path.glob("*.db*")) == ["notes.db", "runs.db"]


@pytest.mark.parametrize("command", [*STORED, *OTHERS])
def test_before_the_first_question_nothing_is_created(
    lab: ScriptedHost, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    args = shlex.split(command)
    done = pnyx(*args)
    assert done.code in (0, 2), done.err
    assert "(see pnyx" not in done.err, "it is no command"
    assert list(home.rglob("*.db*")) == []
    if args == ["runs"]:
        assert done.err == "no runs yet\n"
    if args[0] == "backup":  # each night it would succeed
        assert (done.code, "there is nothing to back up" in done.err) == (2, True)
    if "x" in args and args[0] not in ("recall", "worker"):
        assert (done.code, "no run 'x'" in done.err or "no conversation 'x'" in done.err) == (2, True)


@pytest.mark.parametrize("command", [*STORED, *(c for c in OTHERS if not c.startswith("worker"))])
def test_an_empty_database_of_a_server_stays_empty(
    lab: ScriptedHost, postgres: PostgresServer, empty_url: str, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("PNYX_DATABASE", empty_url)
    done = pnyx(*shlex.split(command))
    if command in STORED:
        assert (done.code, done.out) == (2, "")
        assert " has no tables yet. Check the name; `pnyx ask`, " in done.err
    assert done.code in (0, 2), done.err
    assert tables(postgres, empty_url) == ""


CALLS: dict[str, Callable[[], Awaitable[object]]] = {
    "resume": lambda: library.resume("x"),
    "feedback": lambda: library.feedback("x", "success"),
    "tag": lambda: library.tag("x", "good"),
    "delete": lambda: library.delete("x"),
}
"""Functions of the library for runs that are stored."""


@pytest.mark.parametrize("name", CALLS)
async def test_the_library_creates_no_database_for_what_is_stored(
    lab: ScriptedHost,
    home: Path,
    tmp_path: Path,
    postgres: PostgresServer,
    empty_url: str,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    with pytest.raises(NotFound, match="no run 'x'"):
        await CALLS[name]()
    monkeypatch.setenv("PNYX_DATABASE", str(tmp_path / "rnus.db"))
    with pytest.raises(ConfigError, match="there is no database"):
        await CALLS[name]()
    assert not files(home, tmp_path)
    monkeypatch.setenv("PNYX_DATABASE", empty_url)
    with pytest.raises(ConfigError, match="has no tables yet"):
        await CALLS[name]()
    assert tables(postgres, empty_url) == ""


@pytest.fixture(scope="module")
def empty_url(postgres: PostgresServer) -> Iterator[str]:
    with postgres.database() as url:
        yield url


def files(*folders: Path) -> list[Path]:
    """The databases in folders."""
    return [file for folder in folders for file in folder.rglob("*.db*")]


def tables(postgres: PostgresServer, url: str) -> str:
    """The names of the tables of a database that are none of PostgreSQL itself."""
    return postgres.sql("SELECT relname FROM pg_stat_user_tables", url.rpartition("/")[2])
