"""What Inspect must not do in an evaluation."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from inspect_ai._eval.context import init_runtime_context

from pnyx.evaluate.execution import run


def test_no_env_file_of_a_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    (tmp_path / ".env").write_text("PLANTED_PROXY=http://127.0.0.1:9\n")
    assert run.evaluate is not None
    init_runtime_context()
    assert "PLANTED_PROXY" not in os.environ
