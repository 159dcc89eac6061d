"""A spec is resolved from the request, then the settings, then the defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pnyx.config.load import load
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve

THREE_ROUNDS, ONE_ROUND, SIX_ROUNDS = 3, 1, 6


@pytest.fixture
def embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings, no key, and a model file that exists."""
    (tmp_path / "mine.gguf").write_bytes(b"GGUF")
    monkeypatch.setenv("PNYX_MODELS", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("embedded")
@pytest.mark.parametrize(
    ("requested", "configured", "rounds"),
    [
        ({}, None, ONE_ROUND),
        ({}, "4", 4),
        ({"preset": "quick"}, "4", ONE_ROUND),
        ({"preset": "deep"}, "4", SIX_ROUNDS),
        ({"preset": "deep"}, None, SIX_ROUNDS),
        ({"options": {"rounds": 2}}, "4", 2),
        ({"models": ["ollama:a*3"]}, None, THREE_ROUNDS),
    ],
)
def test_the_request_overrides_the_settings_and_these_the_default_panels_preset(
    monkeypatch: pytest.MonkeyPatch, requested: dict[str, Any], configured: str | None, rounds: int
) -> None:
    if configured:
        monkeypatch.setenv("PNYX_CONSENSUS_ROUNDS", configured)
    assert resolve(RunRequest(question="Why?", **requested), load()).options["rounds"] == rounds
