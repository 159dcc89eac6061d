"""The README is correct and short: its Python runs, its settings load, its links exist."""

from __future__ import annotations

import re
from pathlib import Path

from pnyx.config.load import load
from tests.support.examples import blocks, links, run_example

README = Path(__file__).parents[1] / "README.md"


def test_it_has_at_most_120_lines() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= 120


def test_the_python_example_runs_and_prints_a_decision(tmp_path: Path) -> None:
    (debate,) = (run_example(example, tmp_path) for example in blocks(README, "python"))
    assert debate == ["consensus 2 yes 8"]


def test_its_commands_of_make_are_there_and_its_server_has_the_run_of_the_demo() -> None:
    text, rules = README.read_text("utf-8"), (README.parent / "Makefile").read_text("utf-8")
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE))
    assert {"demo", "test"} <= named
    assert [name for name in named if not re.search(rf"^{name}:", rules, re.MULTILINE)] == []
    (database,) = re.findall(r"PNYX_DATABASE=(\S+) .venv/bin/pnyx serve", text)
    assert f"$(CURDIR)/{database}" in rules.partition("\ndemo:")[2].partition("\n\n")[0]


def test_the_settings_load(tmp_path: Path) -> None:
    (example,) = blocks(README, "toml")
    (tmp_path / "settings.toml").write_text(example)
    settings = load(env={"PNYX_CONFIG": str(tmp_path / "settings.toml")}, cwd=tmp_path)
    assert settings.budget.run_usd == 1.0
    assert settings.panel.seats[0] == "lab:alpha"


def test_every_file_that_it_links_to_exists() -> None:
    assert [target for target in links(README) if not target.exists()] == []
