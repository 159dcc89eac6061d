"""What the README shows works: its Python runs, its settings load, its commands and flags exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from pnyx.config import load
from pnyx.interfaces.cli import cli

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_python_examples_run_and_print_decisions(tmp_path: Path) -> None:
    debate, review = (printed(example, tmp_path) for example in blocks("python"))
    assert debate == ["consensus", "2", "yes", "8"]
    assert review == ["408"]


def printed(example: str, tmp_path: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", example],
        capture_output=True,
        text=True,
        env={**os.environ, "PNYX_DATABASE": str(tmp_path / "a.db")},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_settings_load(tmp_path: Path) -> None:
    (example,) = blocks("toml")
    (tmp_path / "given.toml").write_text(example)
    settings = load(env={"PNYX_CONFIG": str(tmp_path / "given.toml")}, cwd=tmp_path)
    assert settings.budget.run_usd == 1.0
    assert settings.panel.seats[0] == "lab:alpha"


@pytest.mark.parametrize("line", re.findall(r"^(?:\.venv/bin/)?pnyx .*", README, re.MULTILINE))
def test_commands_and_flags_exist(line: str) -> None:
    words = line.removeprefix(".venv/bin/").split("#")[0].split()
    command = cli.get_command(click.Context(cli), words[1].rstrip(","))
    assert command is not None, line
    known = {flag for option in command.params for flag in option.opts}
    for flag in re.findall(r"(?<!\S)--?[a-z][a-z-]*", " ".join(words[2:])):
        if words[1] != "runs,":
            assert flag in known, f"{line}: {flag}"


def test_every_page_it_links_to_is_there() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
