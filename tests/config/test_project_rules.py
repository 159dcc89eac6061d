"""What a project file may not set without trust: models that the user has not named, files, larger limits."""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.config.layers import Layer, Value, flatten
from pnyx.config.load import load
from pnyx.config.project_rules import needs_trust
from pnyx.errors import ConfigError
from pnyx.interfaces.cli.actions.integrate import _argv
from pnyx.interfaces.open_settings import open_settings
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
        '[run]\nprotocol = "voting"\nlanguage = "de"\nhedge = true',
        "[consensus]\nrounds = 4",
        "[sample]\nsamples = 16",
        '[panels.x]\nprotocol = "sample"\noptions = { samples = 16 }',
        "[panels.x]\noptions = { rounds = 3 }",
        '[panels.x]\npreset = "quick"\neffort = "none"',
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
        ("[run]\ndeadline_s = 601.0", "run.deadline_s"),
        ("[run]\nmax_output_tokens = 8192", "run.max_output_tokens"),
        ("[run]\nthinking_tokens = 1", "run.thinking_tokens"),
        ("[run.phases.vote]\nthinking_tokens = 5000", "run.phases.vote.thinking_tokens"),
        ("[consensus]\nrounds = 5", "consensus.rounds"),
        ('[consensus]\nrounds = "20"', "consensus.rounds"),
        ("[sample]\nsamples = 100", "sample.samples"),
        ('[panels.x]\nprotocol = "sample"\noptions = { samples = 17 }', "panels.x.options.samples"),
        ("[panels.x]\noptions = { rounds = 20 }", "panels.x.options.rounds"),
    ],
)
def test_other_models_files_and_larger_limits_need_trust(project: Path, text: str, keys: str) -> None:
    project.write_text(text)
    with pytest.raises(ConfigError) as caught:
        open_settings()
    assert str(caught.value).startswith(f"pnyx.toml sets {keys}, which")
    assert str(caught.value).endswith("run `pnyx trust`")


def test_a_variable_is_the_users_own_limit(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write_text("[run]\nretries = 9")
    monkeypatch.setenv("PNYX_RUN_RETRIES", "9")
    assert open_settings().run.retries == 9


def test_without_known_defaults_every_number_of_a_protocol_needs_trust(project: Path) -> None:
    project.write_text("[voting]\nrounds = 1")
    with pytest.raises(ConfigError, match="pnyx trust"):
        load()


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
        patch.setattr("shutil.which", lambda name: None)
        start = _argv(project=False)
    done = subprocess.run([*start[:-1], "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run([*_client()[:-1], "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
