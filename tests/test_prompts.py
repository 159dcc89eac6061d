"""Prompt files: strict slots, and pinned hashes, so that no prompt changes by accident."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from pnyx.errors import PromptError
from pnyx.prompts import ROOT, load
from tests.run.previous_version import ends

PINS = Path(__file__).parent / "prompts.json"


def hashes() -> dict[str, str]:
    return {
        str(path.relative_to(ROOT).with_suffix("")): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(ROOT.rglob("*.md"))
    }


def test_every_prompt_has_its_pinned_hash() -> None:
    """After a deliberate change, run `python -m tests.test_prompts` and explain the change in the commit.

    It also stores again how runs of an earlier version end with the prompts as they are now.
    """
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


def test_a_short_variant_may_leave_out_slots_and_has_no_others(tmp_path: Path) -> None:
    (tmp_path / "q.md").write_text("{{question}} on {{today}}")
    (tmp_path / "q.short.md").write_text("{{question}}")
    draft = load("q", tmp_path)(question="Q", today="D")
    assert [draft.render(short=short).text for short in (False, True)] == ["Q on D\n", "Q\n"]
    (tmp_path / "p.md").write_text("{{question}}")
    (tmp_path / "p.short.md").write_text("{{other}}")
    with pytest.raises(PromptError, match="other slots"):
        load("p", tmp_path)


def test_every_prompt_with_material_explains_its_marks() -> None:
    for path in ROOT.rglob("*.md"):
        raw = path.read_text("utf-8")
        if any(f"{{{{{slot}}}}}" in raw for slot in ("context", "texts", "reply", "plan", "one", "two")):
            assert "{{nonce}}" in raw or path.name.startswith("camps."), path.name


if __name__ == "__main__":
    PINS.write_text(json.dumps(hashes(), indent=1) + "\n", "utf-8")
    ends.main()
