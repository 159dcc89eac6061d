"""What a project file may not set without trust: models that the user has not named, files, larger limits."""

from __future__ import annotations

import itertools
import re
import subprocess
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx import protocols as known
from pnyx.config.layers import Key, Layer, Value, flatten
from pnyx.config.load import load
from pnyx.config.project_rules import SEATS, is_restricted, needs_trust
from pnyx.config.schema import SECTIONS
from pnyx.errors import ConfigError, UsageError
from pnyx.interfaces.cli.actions.integrate import _argv
from pnyx.interfaces.process.open_settings import open_settings
from pnyx.providers.catalogue import parse_seats
from pnyx.providers.embedded.weights_sources import _client
from tests.support.sources import ROOT

OWN = """
[panel]
seats = ["openai:small", "lab:alpha*3"]
[providers.lab]
kind = "openai"
base_url = "http://127.0.0.1:9000/v1"
[models."openai:priced"]
input_price = 1
output_price = 1
[panels.careful]
seats = ["openai:careful"]
judge = "openai:judge"
[run]
retries = 5
[consensus]
rounds = 4
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a project file, of a user with settings."""
    user = tmp_path / "home" / ".config" / "pnyx"
    user.mkdir(parents=True)
    (user / "config.toml").write_text(OWN)
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("PNYX_CONFIG", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(folder)
    return folder / "pnyx.toml"


@pytest.mark.parametrize(
    "text",
    [
        '[panel]\nseats = ["openai:small", "openai:priced", "openai:careful", "openai:judge"]',
        '[panel]\nseats = ["lab:alpha*10"]',
        '[panel]\nseats = ["embedded:smollm2-135m*3"]',
        '[panels.x]\nseats = ["lab:alpha"]\njudge = "openai:judge"',
        "[run]\nretries = 5\nseed = 7\ntemperature = 2.0\ndeadline_s = 600",
        '[run]\nprotocol = "voting"\nlanguage = "de"\nhedge = false',
        "[consensus]\nrounds = 4",
        "[sample]\nsamples = 16",
        '[panels.x]\nprotocol = "sample"\noptions = { samples = 16 }',
        "[panels.x]\noptions = { rounds = 3 }",
        '[panels.x]\npreset = "quick"\neffort = "none"',
        '[run]\nprotocol = "council"',
        '[panels.x]\nprotocol = "moa"',
        "[sample]\nadaptive = true",
        '[voting]\naggregation = "majority"',
        '[run]\nreasoning_effort = "none"',
    ],
)
def test_what_the_user_has_set_up_needs_no_trust(project: Path, text: str) -> None:
    project.write_text(text)
    open_settings()


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('[panel]\nseats = ["embedded:./evil.gguf"]', "panel.seats"),
        ('[panel]\nseats = ["embedded:/srv/evil"]', "panel.seats"),
        ('[run]\nreasoning_effort = "high"', "run.reasoning_effort"),
        ('[run.phases.propose]\nreasoning_effort = "low"', "run.phases.propose.reasoning_effort"),
        ('[panels.x]\neffort = "medium"', "panels.x.effort"),
        ('[panels.careful]\npreset = "deep"', "panels.careful.preset"),
        ('[panel]\nseats = ["embedded:~/evil.gguf*2"]', "panel.seats"),
        ('[panel]\nseats = ["embedded:sub/evil"]', "panel.seats"),
        ('[panel]\nseats = [" embedded:../evil.gguf"]', "panel.seats"),
        ('[panels.x]\njudge = "embedded:./evil.gguf"', "panels.x.judge"),
        ('[panel]\nseats = ["openai:dearest*100"]', "panel.seats"),
        ('[panel]\nseats = ["openai:small", "openai:other"]', "panel.seats"),
        ('[panel]\nseats = ["lab:alpha*11"]', "panel.seats"),
        ('[panels.x]\nseats = ["lab:alpha*6", "openai:small*5"]', "panels.x.seats"),
        ('[panels.x]\nseats = ["anthropic:other"]', "panels.x.seats"),
        ("[run]\nretries = 6", "run.retries"),
        ("[run]\nhedge = true", "run.hedge"),
        ("[run]\ndeadline_s = 601.0", "run.deadline_s"),
        ("[run]\nmax_output_tokens = 8192", "run.max_output_tokens"),
        ("[run]\nthinking_tokens = 1", "run.thinking_tokens"),
        ("[run.phases.vote]\nthinking_tokens = 5000", "run.phases.vote.thinking_tokens"),
        ("[consensus]\nrounds = 5", "consensus.rounds"),
        ('[consensus]\nrounds = "20"', "consensus.rounds"),
        ("[sample]\nsamples = 100", "sample.samples"),
        ('[panels.x]\nprotocol = "sample"\noptions = { samples = 17 }', "panels.x.options.samples"),
        ("[panels.x]\noptions = { rounds = 20 }", "panels.x.options.rounds"),
        ("[sample]\nadaptive = false", "sample.adaptive"),
        ("[voting]\nswap = true", "voting.swap"),
        ('[aggregate]\naggregators = "each"', "aggregate.aggregators"),
        ('[panels.x]\nprotocol = "decompose"\noptions = { inner = "council" }', "panels.x.options.inner"),
    ],
)
def test_other_models_files_and_larger_limits_need_trust(project: Path, text: str, keys: str) -> None:
    project.write_text(text)
    with pytest.raises(ConfigError) as caught:
        open_settings()
    assert str(caught.value).startswith(f"pnyx.toml sets {keys}, which")
    assert str(caught.value).endswith("run `pnyx trust`")


HOSTILE: dict[str, Any] = {
    "panel.seats": ["openai:dearest"],
    "panels.*.seats": ["openai:dearest"],
    "panels.*.preset": "deep",
    "panels.*.options": {"rounds": 20},
    "panels.*.judge": "openai:dearest",
    "panels.*.roles": "redteam",
    "panels.*.effort": "high",
    "panels.*.budget": 100.0,
    "run.deadline_s": 86_400.0,
    "run.call_deadline_s": 3_600.0,
    "run.retries": 20,
    "run.hedge": True,
    "run.max_output_tokens": 64_000,
    "run.reasoning_effort": "high",
    "run.thinking_tokens": 32_000,
    "run.phases.*.reasoning_effort": "high",
    "run.phases.*.thinking_tokens": 32_000,
}
"""Setting -> a value that costs more, reads, runs or sends something, or takes longer than is usual."""
HARMLESS = {
    "run.protocol": "its options and limits are the user's own",
    "panels.*.protocol": "its options and limits are the user's own",
    "run.seed": "costs nothing",
    "run.temperature": "costs nothing",
    "run.language": "costs nothing",
}


def test_of_every_setting_it_is_decided_whether_a_project_needs_trust_for_it() -> None:
    """A new setting of the docs must be in a restricted section, or in one of the tables above."""
    rows = re.findall(r"^\| `([a-z_.*]+)` \|", (ROOT / "docs" / "configuration.md").read_text(), re.MULTILINE)
    assert len(rows) > 100
    settings = {row for row in rows if row.partition(".")[0] in SECTIONS}
    assert {row.partition(".")[0] for row in settings} == set(SECTIONS)
    open_ones = {row for row in settings if not is_restricted(tuple(row.split(".")))}
    assert open_ones - HARMLESS.keys() == {row for row in HOSTILE if row not in RESTRICTED_ROWS}
    for row, value in HOSTILE.items():
        key: Key = tuple("x" if part == "*" else part for part in row.split("."))
        project: Layer = {key: Value(value, "a file")}
        if isinstance(value, dict):
            project = {(*key, name): Value(one, "a file") for name, one in value.items()}
        assert needs_trust(project, {}, _usual) == project, row


RESTRICTED_ROWS = {"panels.*.roles", "panels.*.budget"}


def _usual(protocol: str, option: str) -> Any:
    options = known.get(protocol).options
    return options[option].default if option in options else inf


def test_every_option_of_every_protocol_needs_trust_for_another_value_that_is_not_less() -> None:
    for name in known.names():
        for option, one in known.get(name).options.items():
            others = [one.high] if one.high is not None else [not one.default, "another"]
            for value in others:
                if value != one.default:
                    project: Layer = {(name, option): Value(value, "a file")}
                    assert needs_trust(project, {}, _usual) == project, (name, option, value)


def test_a_variable_is_the_users_own_limit(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write_text("[run]\nretries = 9")
    monkeypatch.setenv("PNYX_RUN_RETRIES", "9")
    assert open_settings().run.retries == 9


def test_without_known_defaults_every_number_of_a_protocol_needs_trust(project: Path) -> None:
    project.write_text("[voting]\nrounds = 1")
    with pytest.raises(ConfigError, match="pnyx trust"):
        load()


@given(
    times=st.text("0123456789 +_\u0661\u0660", max_size=25)
    | st.builds(str.zfill, st.integers(0, 200).map(str), st.integers(0, 25))
)
def test_no_way_to_write_a_number_seats_more_than_may_be_seated_without_trust(times: str) -> None:
    seats = [f"lab:a*{times}"]
    try:
        count = len(parse_seats(seats))
    except UsageError:
        return  # refused in any folder
    own, project = _layer(panel={"seats": ["lab:a"]}), _layer(panel={"seats": seats})
    assert bool(needs_trust(project, own, _usual)) == (count > SEATS)


def _layer(**keys: Any) -> Layer:
    return flatten(keys, "a file")


REFS = st.lists(
    st.sampled_from(["lab:a", "lab:b", "embedded:small", "embedded:./small", "lab:a*3", "openai:x*9"]),
    max_size=4,
)


@given(theirs=REFS, own=REFS, number=st.integers(0, 99), limit=st.none() | st.integers(0, 99))
def test_what_the_user_has_too_needs_no_trust_and_more_of_their_own_never_needs_more(
    theirs: list[str], own: list[str], number: int, limit: int | None
) -> None:
    project = _layer(panel={"seats": theirs}, run={"retries": number})
    mine = _layer(panel={"seats": own}, run={} if limit is None else {"retries": limit})

    def usual(protocol: str, option: str) -> None:
        return None

    assert not needs_trust(project, project, usual)
    found = needs_trust(project, mine, usual)
    assert (("run", "retries") in found) == (number > (3 if limit is None else limit))
    both = mine | {("panels", "both", "seats"): Value([*own, *theirs], "a file")}
    assert needs_trust(project, both, usual).keys() <= found.keys()
    refs = set(itertools.chain(*(ref.split("*")[:1] for ref in theirs)))
    named = set(itertools.chain(*(ref.split("*")[:1] for ref in own)))
    if refs - named - {"embedded:small"}:
        assert ("panel", "seats") in found


def test_no_command_that_pnyx_writes_or_starts_takes_modules_from_the_working_directory() -> None:
    started = re.compile(r"""sys\.executable\)?\}?"?,? (?:"-m"|-m )""")
    sources = [path for path in (ROOT / "src" / "pnyx").rglob("*.py") if started.search(path.read_text())]
    assert sources == []


def test_a_module_of_a_hostile_folder_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("pnyx", "click", "pip"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the module of the folder')\n")
    with monkeypatch.context() as patch:
        patch.setattr("shutil.which", lambda name, path=None: None)
        start = _argv(project=False)
    done = subprocess.run([*start[:-1], "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run([*_client()[:-1], "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
