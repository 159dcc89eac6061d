"""`pnyx integrate`: what it prints, what it writes, and what it leaves alone."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import tomllib
from pathlib import Path

import pytest

from pnyx.interfaces.integrate.assistants import assistants
from tests.interfaces.conftest import KEY
from tests.interfaces.shell import pnyx
from tests.support.scripted import ScriptedHost


@pytest.fixture
def home(lab: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a person who has some of the assistants. The panel needs the key in $LAB_KEY."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("CODEX_HOME", "CLINE_DIR", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "PNYX_DATABASE"):
        monkeypatch.delenv(name, raising=False)
    return home


def test_the_list_shows_what_is_set_up(home: Path) -> None:
    (home / ".cursor").mkdir()
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text("{broken")
    assert pnyx("integrate", "codex", "--write").code == 0
    listed = {one["name"]: one for one in pnyx("integrate", "--json").json}
    assert list(listed) == list(assistants())
    assert listed["codex"]["state"] == "set up"
    assert listed["cursor"]["state"] == "found"
    assert listed["gemini"]["state"] == "broken file"
    assert listed["roo"]["state"] == "not found"
    assert Path(listed["codex"]["file"]) == home / ".codex" / "config.toml"
    shown = pnyx("integrate").out
    assert all(one.title in shown for one in assistants().values())
    assert "~/.cursor/mcp.json" in shown


@pytest.mark.parametrize("name", list(assistants()))
def test_an_entry_is_printed_or_written_and_written_once(home: Path, name: str) -> None:
    printed = pnyx("integrate", name)
    assert printed.code == 0, printed.err
    assert KEY not in printed.out + printed.err
    assert "LAB_KEY" in printed.out + printed.err
    written = pnyx("integrate", name, "--write", "--json").json
    path = Path(written["file"])
    assert path.read_text() == printed.out
    assert all(file["changed"] and file["backup"] is None for file in written["files"])
    again = pnyx("integrate", name, "--write", "--json").json
    assert not any(file["changed"] or file["backup"] for file in again["files"])
    assert "set up" in pnyx("integrate").out
    every = "".join(file.read_text() for file in home.rglob("*") if file.is_file())
    assert KEY not in every
    assert ("tool `ask` of the MCP server" in every) is (assistants()[name].command is not None)


@pytest.mark.parametrize("name", list(assistants()))
def test_what_was_written_is_named_for_who_wants_to_remove_it(home: Path, name: str) -> None:
    done = pnyx("integrate", name, "--write")
    one = assistants()[name]
    said = " ".join(done.err.split()).partition("to remove it: ")[2]
    files = [f"~/{file.relative_to(home)}" for file in home.rglob("*") if file.is_file()]
    assert all(file in said for file in files if "pnyx" in (home / file[2:]).read_text())
    wanted = {"yaml": "delete ~/", "toml": ".pnyx]", "json": f'"pnyx" in "{one.place[-1]}"'}
    assert wanted[one.format] in said


def test_a_file_is_copied_before_it_changes_and_stays_a_link_with_its_mode(
    home: Path, tmp_path: Path
) -> None:
    real = tmp_path / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    old = '{\n  // mine\n  "mcpServers": {"git": {"command": "git-mcp"}}\n}\n'
    real.write_text(old)
    real.chmod(0o600)
    (home / ".cursor").mkdir()
    link = home / ".cursor" / "mcp.json"
    link.symlink_to(real)
    done = pnyx("integrate", "cursor", "--write")
    assert done.code == 0
    assert "mcp.json.bak" in done.out
    assert link.is_symlink()
    assert (real.parent / "mcp.json.bak").read_text() == old
    assert "// mine" in real.read_text()
    assert json.loads(real.read_text().replace("// mine", ""))["mcpServers"].keys() == {"git", "pnyx"}
    assert {stat.S_IMODE(file.stat().st_mode) for file in real.parent.iterdir()} == {0o600}
    # A second change does not replace the first copy.
    real.write_text(real.read_text().replace('"type": "stdio"', '"type": "sse"'))
    assert pnyx("integrate", "cursor", "--write").code == 0
    assert (real.parent / "mcp.json.bak").read_text() == old
    assert (real.parent / "mcp.json.bak2").exists()


def test_a_pipe_or_a_device_is_not_read(home: Path) -> None:
    (home / ".cursor").mkdir()
    os.mkfifo(home / ".cursor" / "mcp.json")
    done = pnyx("integrate", "cursor", "--write")
    assert (done.code, done.out) == (2, "")
    assert "mcp.json is no regular file; nothing was changed" in done.err
    assert "broken file" in pnyx("integrate").out


def test_half_a_copy_is_not_left_on_a_full_disk(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".cursor").mkdir()
    file = home / ".cursor" / "mcp.json"
    file.write_text("{}")
    monkeypatch.setattr(Path, "write_bytes", refuse)
    done = pnyx("integrate", "cursor", "--write")
    assert (done.code, done.out) == (2, "")
    assert "mcp.json cannot be written: No space left on device" in done.err
    assert (file.read_text(), os.listdir(file.parent)) == ("{}", ["mcp.json"])


def refuse(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", "line 1, column 2"),
        (b"[]", "something else where a table"),
        (b"\xff\xfe{\x00}\x00", "is not UTF-8"),
        (b'{"mcpServers": {"pnyx": {"url": "http://127.0.0.1:8642/mcp"}}}', "with url"),
    ],
)
def test_a_file_that_cannot_be_merged_is_left_alone(home: Path, content: bytes, problem: str) -> None:
    (home / ".cursor").mkdir()
    file = home / ".cursor" / "mcp.json"
    file.write_bytes(content)
    done = pnyx("integrate", "cursor", "--write")
    assert (done.code, done.out) == (2, "")
    assert problem in done.err
    assert "mcp.json" in done.err
    assert file.read_bytes() == content
    assert sorted(os.listdir(home / ".cursor")) == ["mcp.json"]
    assert not (home / ".cursor" / "commands").exists()


def test_a_projects_file_is_for_every_machine(home: Path, tmp_path: Path) -> None:
    done = pnyx("integrate", "claude-code", "--write", "--project")
    assert done.code == 0, done.err
    entry = json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]["pnyx"]
    assert (entry["command"], entry["args"]) == ("pnyx", ["mcp"])
    assert entry["env"] == {"PNYX_MCP_WAIT_S": "540"}
    assert (tmp_path / ".claude" / "commands" / "pnyx.md").exists()
    assert list(home.rglob("*")) == []


def test_the_server_reads_the_same_settings_as_this_command(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert pnyx("integrate", "codex", "--write").code == 0
    entry = tomllib.loads((home / ".codex" / "config.toml").read_text())["mcp_servers"]["pnyx"]
    assert entry["env"]["PNYX_CONFIG"] == str(tmp_path / "lab.toml")
    assert entry["env"]["XDG_DATA_HOME"] == str(tmp_path / "data")
    assert entry["env_vars"] == ["LAB_KEY"]
    assert Path(entry["command"]).is_absolute()


def test_a_stored_key_needs_the_address_of_the_keyring_and_no_variable(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/1/bus")
    monkeypatch.delenv("LAB_KEY")
    assert "DBUS" not in pnyx("integrate", "codex").out
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "data" / "pnyx").mkdir(parents=True)
    (tmp_path / "data" / "pnyx" / "keys.json").write_text('["LAB_KEY"]')
    shown = pnyx("integrate", "codex")
    assert tomllib.loads(shown.out)["mcp_servers"]["pnyx"]["env_vars"] == ["DBUS_SESSION_BUS_ADDRESS"]
    assert "DBUS" not in shown.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("curser",), "did you mean cursor"),
        (("--write",), "name the assistant"),
        (("cline", "--project"), "no settings for one project"),
    ],
)
def test_wrong_use_says_what_to_do(home: Path, arguments: tuple[str, ...], problem: str) -> None:
    done = pnyx("integrate", *arguments)
    assert done.code == 2
    assert problem in done.err


@pytest.mark.parametrize("write", [(), ("--write",)])
def test_a_server_that_could_not_start_is_said_with_what_to_install(
    home: Path, monkeypatch: pytest.MonkeyPatch, write: tuple[str, ...]
) -> None:
    needs = "cannot start `pnyx mcp` yet: it needs the extra 'mcp' (missing: mcp); install it with: "
    assert needs not in pnyx("integrate", "claude-code", *write).err
    monkeypatch.setitem(sys.modules, "mcp", None)
    done = pnyx("integrate", "claude-code", *write)
    assert done.code == 0
    assert f"pnyx: Claude Code {needs}" in done.err.replace("\n", " ")


def test_the_entry_starts_this_installation_and_no_other_one(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def command(*folders: Path) -> str:
        monkeypatch.setenv("PATH", os.pathsep.join(map(str, folders)))
        document = pnyx("integrate", "cursor", "--json").json
        return str(document["settings"]["mcpServers"]["pnyx"]["command"])

    own, linked, other = tmp_path / "own", tmp_path / "linked", tmp_path / "other"
    for folder in (own, linked, other):
        folder.mkdir()
    for program in (own / "pnyx", other / "pnyx"):
        program.touch(0o755)
    (linked / "pnyx").symlink_to(own / "pnyx")
    monkeypatch.setattr(sys, "executable", str(own / "python"))
    assert command(other) == str(own / "pnyx")
    # As uv and pipx install a tool: the link stays where it is when the tool is installed again.
    assert command(linked, other) == str(linked / "pnyx")
    assert command(tmp_path) == str(own / "python")
