"""Entries have the form that each assistant reads, and merging loses nothing of a settings file."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import jsonschema
import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from pnyx.errors import NotFound, UsageError
from pnyx.interfaces.integrate import jsonc
from pnyx.interfaces.integrate.assistants import Assistant, Surroundings, assistant, assistants
from pnyx.interfaces.integrate.settings_files import has_entry, merged, shown
from tests.interfaces import integrations
from tests.support.properties import examples

SCHEMAS = tomllib.loads((Path(__file__).parent / "schemas.toml").read_text())
ALL = pytest.mark.parametrize("one", assistants().values(), ids=list(assistants()))
NAMES = st.lists(st.from_regex(r"[A-Z][A-Z0-9_]{0,20}", fullmatch=True), max_size=3, unique=True)
ARGV = ["/opt/my tools/pnyx", "mcp"]


def around(platform: str = "linux", **env: str) -> Surroundings:
    return Surroundings(env=env, platform=platform, home=Path("/home/ada"), here=Path("/home/ada/code"))


def value_of(one: Assistant, text: str) -> Any:
    """A settings file as its client reads it."""
    match one.format:
        case "toml":
            return tomllib.loads(text)
        case "yaml":
            return yaml.safe_load(text)
        case _:
            return jsonc.parse(text)


def entry_of(one: Assistant, text: str) -> Any:
    value = value_of(one, text)
    for key in one.place:
        value = value[key]
    return value[0] if isinstance(value, list) else value["pnyx"]


@cache
def validator(name: str) -> Any:
    (found,) = (form for form in SCHEMAS.values() if name in form["assistants"])
    schema = {"type": "object", "additionalProperties": False, **found["schema"]}
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@ALL
@examples(15)
@given(variables=NAMES, folder=st.text(min_size=1, max_size=9).filter(lambda text: text.isprintable()))
def test_an_entry_has_the_keys_and_types_that_the_client_reads(
    one: Assistant, variables: list[str], folder: str
) -> None:
    entry = one.entry([f"/{folder}/pnyx", "mcp"], variables, {"PNYX_CONFIG": f"/{folder}/x.toml"})
    text = shown(one, entry)
    assert entry_of(one, text) == entry
    validator(one.name).validate(entry)
    assert f"/{folder}/pnyx" in (entry["command"][0], entry["command"])


@ALL
def test_a_call_may_wait_for_less_time_than_the_client_does(one: Assistant) -> None:
    entry = one.entry(ARGV, [], {})
    limits = {"timeout": 1000 if one.name not in ("cline", "roo") else 1, "connectionTimeout": 1000}
    limits["tool_timeout_sec"] = 1
    seconds = [entry[key] / unit for key, unit in limits.items() if key in entry]
    env = entry.get("env") or entry.get("environment") or {}
    if not seconds:  # the client has no such setting: the default of 45 s is below its minute
        assert "PNYX_MCP_WAIT_S" not in env
    else:
        assert float(env["PNYX_MCP_WAIT_S"]) < seconds[0] == 600


@ALL
def test_no_value_of_a_variable_is_in_an_entry(one: Assistant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "sk-secret")
    text = shown(one, one.entry(ARGV, ["LAB_KEY"], {}))
    assert "sk-secret" not in text
    assert ("LAB_KEY" in text) is (one.name != "claude-desktop")


ROO = "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"
OTHERS: dict[str, str] = {
    "json": """{
  // of mine
  "theme": "dark", /* not light */
  "PLACE": {
    "other": {"command": "other", "args": ["-x",],}, // keep
  },
}
""",
    "toml": """# of mine
model = "gpt-5"   # keep

[PLACE.other]
command = "other"   # why

[tui]
theme = 'dark'
""",
}


@ALL
def test_what_is_in_a_file_stays_with_its_comments(one: Assistant) -> None:
    text = OTHERS.get(one.format, "").replace("PLACE", one.place[0])
    before = value_of(one, text)
    after = merged(one, text, one.entry(ARGV, [], {}))
    assert merged(one, after, one.entry(ARGV, [], {})) == after
    value = value_of(one, after)
    assert has_entry(one, after)
    assert entry_of(one, after) == one.entry(ARGV, [], {})
    if one.format != "yaml":
        assert not has_entry(one, text)
        assert not has_entry(one, "")
        del value[one.place[0]]["pnyx"]
        assert value == before
        lines = [line.strip().rstrip(",") for line in text.splitlines()]
        kept = [line.strip().rstrip(",") for line in after.splitlines()]
        assert all(line in kept for line in lines)


@ALL
def test_an_entry_keeps_what_its_owner_added(one: Assistant) -> None:
    if one.format == "yaml":
        return  # the file is ours
    mine = one.document({"command": "old", "mine": True, "env": {"MORE": "1"}, "environment": {"MORE": "1"}})
    text = json.dumps(mine)
    if one.format == "toml":
        text = '[mcp_servers.pnyx]\ncommand = "old"\nmine = true # yes\nenv = { MORE = "1" }\n'
    entry = one.entry(ARGV, ["LAB_KEY"], {})
    after = entry_of(one, merged(one, text, entry))
    assert after["mine"] is True
    assert after["command"] == entry["command"]
    env = "environment" if "environment" in one.server else "env"
    assert after[env] == {"MORE": "1", **entry.get(env, {})}


BROKEN = {
    "json": ['{"a": }', "{", "[1", '{"a": 1} x', "nothing"],
    "toml": ["a = ", "[a", "a = 1\na = 2", "[mcp_servers]\nx = 1\n[mcp_servers]"],
}


@ALL
def test_a_broken_file_is_refused(one: Assistant) -> None:
    for text in BROKEN.get(one.format, ()):
        with pytest.raises(UsageError, match="it cannot be read"):
            merged(one, text, one.entry(ARGV, [], {}))
    if one.format == "json":
        for text in ("[]", f'{{"{one.place[0]}": []}}'):
            with pytest.raises(UsageError, match="something else where a table"):
                merged(one, text, one.entry(ARGV, [], {}))
        remote = json.dumps(one.document({"url": "http://127.0.0.1:8642/mcp"}))
        with pytest.raises(UsageError, match="has a server 'pnyx' with url"):
            merged(one, remote, one.entry(ARGV, [], {}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "model = 'gpt-5'",
        "mcp_servers = {}",
        'mcp_servers = { other = { command = "x" } } # keep\n',
        'mcp_servers.other.command = "x"\nmodel = "m"\n',
        '[mcp_servers]\n\n[mcp_servers.other] # keep\ncommand = "x"\n\n[[hooks]]\na = 1\n[[hooks]]\na = 2',
        '[mcp_servers.other]\ncommand = "x"\n[tui]\ntheme = "dark"\n[mcp_servers.third]\ncommand = "y"\n',
        '[mcp_servers.pnyx]\ncommand = "old"\n# about the arguments\nargs = ["x"]\n[tui]\na = 1\n',
        '[mcp_servers.pnyx.env]\nMORE = "1"\n[other]\nx = 1\n',
        'mcp_servers.pnyx.command = "old"\nmodel = "m"\n',
        '[mcp_servers."pnyx"]\r\ncommand = "old" # mine\r\n',
    ],
)
def test_every_way_to_write_a_table_keeps_its_values(text: str) -> None:
    one = assistant("codex")
    entry = one.entry(ARGV, ["LAB_KEY"], {})
    before = tomllib.loads(text)
    try:
        after = merged(one, text, entry)
    except UsageError as exc:  # only this form, which the library for TOML changes
        assert "add it by hand" in str(exc)  # noqa: PT017
        assert text.startswith("mcp_servers.pnyx")
        return
    value = tomllib.loads(after)
    old = before.get("mcp_servers", {}).pop("pnyx", {})
    new = value["mcp_servers"].pop("pnyx")
    assert new == {**old, **entry, "env": {**old.get("env", {}), **entry["env"]}}
    assert value == {"mcp_servers": {}, **before}
    assert merged(one, after, entry) == after
    assert all(
        comment in after for comment in ("# keep", "# mine", "# about the arguments") if comment in text
    )


@pytest.mark.parametrize(
    ("name", "platform", "env", "path"),
    [
        ("claude-code", "linux", {}, "~/.claude.json"),
        ("vscode", "linux", {}, "~/.config/Code/User/mcp.json"),
        ("vscode", "darwin", {}, "~/Library/Application Support/Code/User/mcp.json"),
        ("vscode", "win32", {"APPDATA": "/appdata"}, "/appdata/Code/User/mcp.json"),
        ("vscode", "win32", {}, "~/AppData/Roaming/Code/User/mcp.json"),
        ("claude-desktop", "darwin", {}, "~/Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "win32", {"APPDATA": "/a"}, "/a/Claude/claude_desktop_config.json"),
        ("roo", "linux", {}, f"~/.config/{ROO}"),
        ("codex", "linux", {"CODEX_HOME": "/codex"}, "/codex/config.toml"),
        ("codex", "win32", {}, "~/.codex/config.toml"),
        ("cline", "darwin", {"CLINE_DIR": "~/cline"}, "~/cline/data/settings/cline_mcp_settings.json"),
        ("opencode", "darwin", {}, "~/.config/opencode/opencode.json"),
        ("opencode", "linux", {"XDG_CONFIG_HOME": "/x"}, "/x/opencode/opencode.json"),
        ("gemini", "linux", {}, "~/.gemini/settings.json"),
        ("continue", "linux", {}, "~/.continue/mcpServers/pnyx.yaml"),
        ("cursor", "linux", {}, "~/.cursor/mcp.json"),
    ],
)  # fmt: skip
def test_the_file_is_where_the_client_reads_it(
    name: str, platform: str, env: dict[str, str], path: str
) -> None:
    found = assistant(name).file(around(platform, **env))
    assert str(PurePosixPath(found)) == path.replace("~", "/home/ada", 1)


def test_the_file_of_a_project_is_in_its_folder(tmp_path: Path) -> None:
    here = Surroundings(env={}, platform="linux", home=tmp_path, here=tmp_path / "code")
    assert assistant("claude-code").file(here, project=True) == tmp_path / "code" / ".mcp.json"
    with pytest.raises(UsageError, match="no settings for one project"):
        assistant("claude-desktop").file(here, project=True)


def test_the_file_that_exists_counts(tmp_path: Path) -> None:
    here = Surroundings(env={}, platform="linux", home=tmp_path, here=tmp_path)
    assert assistant("opencode").file(here, project=True).name == "opencode.json"
    (tmp_path / "opencode.jsonc").write_text("{}")
    assert assistant("opencode").file(here, project=True).name == "opencode.jsonc"


def test_a_mistyped_name_gets_a_suggestion() -> None:
    with pytest.raises(NotFound, match="did you mean cursor"):
        assistant("curser")
    with pytest.raises(NotFound, match="there are: claude-code, cursor"):
        assistant("emacs")


def test_the_files_in_integrations_are_those_of_the_table() -> None:
    for path, text in integrations.written().items():
        assert path.read_text("utf-8") == text, f"{path}: run python -m tests.interfaces.integrations"


def test_every_assistant_has_a_schema_and_a_source() -> None:
    named = [name for form in SCHEMAS.values() for name in form["assistants"]]
    assert sorted(named) == sorted(assistants())
    assert all(one.source and one.call and one.keys for one in assistants().values())
