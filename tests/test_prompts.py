"""Prompt files: strict slots, and pinned hashes, so that a changed prompt is a decision."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from pnyx.errors import PromptError
from pnyx.prompts import ROOT, load

PINS = Path(__file__).parent / "prompts.json"


def hashes() -> dict[str, str]:
    return {
        str(path.relative_to(ROOT).with_suffix("")): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(ROOT.rglob("*.md"))
    }


def test_every_prompt_is_the_one_that_was_decided_on() -> None:
    """After a deliberate change: `python -m tests.test_prompts`, and say in the commit what it does."""
    assert hashes() == json.loads(PINS.read_text("utf-8"))


def test_a_missing_file_a_missing_slot_and_a_spare_slot_raise(tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("{{question}} on {{today}}")
    with pytest.raises(PromptError, match="cannot be read"):
        load("nope", tmp_path)
    with pytest.raises(PromptError, match="has the slots"):
        load("p", tmp_path)(question="Q")
    with pytest.raises(PromptError, match="has the slots"):
        load("p", tmp_path)(question="Q", today="D", more="M")
    assert load("p", tmp_path)(question="{{today}}", today="D").render().text == "{{today}} on D\n"


def test_a_short_variant_has_the_same_slots(tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("{{question}}")
    (tmp_path / "p.short.md").write_text("{{other}}")
    with pytest.raises(PromptError, match="other slots"):
        load("p", tmp_path)


def test_every_prompt_that_shows_material_says_what_its_marks_mean() -> None:
    for path in ROOT.rglob("*.md"):
        raw = path.read_text("utf-8")
        if any(f"{{{{{slot}}}}}" in raw for slot in ("proposal", "challenges", "previous")):
            assert "{{nonce}}" in raw, path.name


if __name__ == "__main__":
    PINS.write_text(json.dumps(hashes(), indent=1) + "\n", "utf-8")
