"""What is known about an answer, in the words of the terminal and of the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pnyx.interfaces.views.certainty import certainty
from pnyx.interfaces.views.outcome import headline

CASES = json.loads((Path(__file__).parents[3] / "web/tests/certainty.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_agreement_objections_rigor_and_confidence_are_worded(case: dict[str, Any]) -> None:
    assert certainty(case["result"]) == case["words"]


def test_samples_of_one_model_are_never_called_seats_that_agree() -> None:
    result = {**CASES[1]["result"], "rounds": 1, "converged": None}
    assert headline(result) == "consensus of samples of one model after 1 round"
    assert "agree" not in certainty(result)["agreement"]


def test_the_same_objections_again_are_called_stalled() -> None:
    result = {**CASES[5]["result"], "rounds": 2, "converged": True}
    assert headline(result) == "stalled after 2 rounds: the same objections again"
