"""The README is correct and short: its Python runs, its settings load, its commands and links exist."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from pnyx.config.load import load
from pnyx.interfaces.cli import cli
from tests.support.examples import blocks, links, run_example

README = Path(__file__).parents[1] / "README.md"
COMMANDS = README.parent / "docs" / "how-to" / "commands.md"
LINES = [
    line
    for page in (README, COMMANDS)
    for line in re.findall(
        r"^(?:\.venv/bin/|git diff.* \| )?(pnyx .*)", page.read_text("utf-8"), re.MULTILINE
    )
    if not line.startswith("pnyx puts")
]


def test_it_has_at_most_120_lines() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= 120


def test_the_python_example_runs_and_prints_a_decision(tmp_path: Path) -> None:
    (debate,) = (run_example(example, tmp_path) for example in blocks(README, "python"))
    assert debate == ["consensus 2 yes 8"]


def test_the_settings_load(tmp_path: Path) -> None:
    (example,) = blocks(README, "toml")
    (tmp_path / "settings.toml").write_text(example)
    settings = load(env={"PNYX_CONFIG": str(tmp_path / "settings.toml")}, cwd=tmp_path)
    assert settings.budget.run_usd == 1.0
    assert settings.panel.seats[0] == "lab:alpha"


@pytest.mark.parametrize("line", LINES)
def test_commands_and_flags_exist(line: str) -> None:
    words = line.split("#")[0].split()
    command = cli.get_command(click.Context(cli), words[1])
    assert command is not None, line
    known = {flag for option in command.params for flag in option.opts}
    for flag in re.findall(r"(?<!\S)--?[a-z][a-z-]*", " ".join(words[2:])):
        assert flag in known, f"{line}: {flag}"


def test_every_file_that_it_links_to_exists() -> None:
    assert [target for target in links(README) if not target.exists()] == []
