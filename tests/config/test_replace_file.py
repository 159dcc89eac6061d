"""A file is replaced completely or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pnyx.config.replace_file import replace_file


def test_a_file_is_made_for_its_owner_and_replaced_with_the_mode_that_is_given(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    replace_file(path, "one\r\n")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"one\r\n", 0o600)
    replace_file(path, "zwölf", 0o644)
    assert (path.read_text("utf-8"), path.stat().st_mode & 0o777) == ("zwölf", 0o644)
    assert os.listdir(tmp_path) == ["settings.json"]


def test_a_failure_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "settings.json"
    replace_file(path, "old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_file(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["settings.json"]
