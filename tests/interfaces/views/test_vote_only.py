"""The line that shows the vote before a debate. The page writes the same one: web/tests/vote.test.ts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pnyx.interfaces.views.vote_only import vote_line

CASES = json.loads((Path(__file__).parents[3] / "web/tests/vote_lines.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["line"] or f"none {n}" for n, case in enumerate(CASES)])
def test_the_vote_before_a_debate_stands_beside_its_result(case: dict[str, Any]) -> None:
    assert vote_line(case["result"]) == case["line"]
