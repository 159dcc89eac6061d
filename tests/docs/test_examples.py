"""The examples of the documents run, and what is shown below a command is what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from pnyx.config.load import load
from tests.docs.examples import MARK, example_pages, normal, run_page, updated
from tests.support.examples import blocks
from tests.support.sources import ROOT

HINT = "python -m tests.docs.examples writes what is printed now; look at it before you commit it"


@pytest.mark.parametrize("page", example_pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_is_shown_is_what_the_commands_print(page: Path, tmp_path: Path) -> None:
    assert normal(run_page(page, tmp_path)) == normal(page.read_text("utf-8")), HINT


@pytest.mark.parametrize("page", example_pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_mark_of_an_example_is_read(page: Path) -> None:
    text = page.read_text("utf-8")
    assert len(MARK.findall(text)) == text.count("<!-- run -->") + text.count("<!-- file: ")


@pytest.mark.parametrize("block", blocks(ROOT / "docs" / "how-to" / "model-hosts.md", "toml"))
def test_the_settings_of_model_hosts_load(block: str, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text(block)
    settings = load(env={"PNYX_CONFIG": str(tmp_path / "settings.toml")}, cwd=tmp_path)
    assert settings.panel.seats


@pytest.mark.parametrize(
    ("shown", "output", "written"),
    [
        ("on 2026-01-01 in 2 s\n", "on 2026-02-02 in 3 s\n", "on 2026-01-01 in 2 s\n"),
        ("on 2026-01-01\nold\n", "on 2026-02-02\nnew  \n\n", "on 2026-01-01\nnew\n"),
        ("a 2 s\nb 2 s\n", "a 3 s\nnew 3 s\nb 3 s\n", "a 2 s\nnew 3 s\nb 2 s\n"),
        ("gone\n", "", ""),
        ("", "new 1 s\n", "new 1 s\n"),
    ],
)
def test_only_lines_that_changed_are_written(shown: str, output: str, written: str) -> None:
    assert updated(shown, output) == written
