"""What Inspect must not do in an evaluation.

It takes a second to import, so the tests do it, and not each process that collects them.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest


def test_no_env_file_of_a_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # See the top of the file.
    from inspect_ai._eval.context import init_runtime_context

    from pnyx.evaluate.execution import run

    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    (tmp_path / ".env").write_text("PLANTED_PROXY=http://127.0.0.1:9\n")
    assert run.evaluate is not None
    init_runtime_context()
    assert "PLANTED_PROXY" not in os.environ


def test_our_scorer_opens_no_files_if_code_can_grade(home: Path) -> None:
    # See the top of the file.
    from inspect_ai.model import ModelName, ModelOutput
    from inspect_ai.scorer import Target
    from inspect_ai.solver import TaskState

    from pnyx.evaluate.execution.inspect_plugin import same_answer

    facts: dict[str, Any] = {
        "question": "1 + 1?",
        "choices": [],
        "category": None,
        "grader": None,
        "tolerance": 0.0,
    }
    output = ModelOutput.from_content("m", "Final answer: 2")
    state = TaskState(ModelName("m/m"), "q", 1, "1 + 1?", [], output=output, metadata=facts)
    scored = same_answer()
    score = asyncio.run(scored(state, Target("2")))
    assert score is not None
    assert score.value == "C"
    assert list(home.iterdir()) == []
