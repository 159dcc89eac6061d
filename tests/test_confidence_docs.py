"""docs/confidence.md is correct: its example prints what it says, and its fields are those of results."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pnyx.reliability.calibration import ENOUGH, CalibratedConfidence
from tests.support.examples import blocks, run_example

PAGE = Path(__file__).parents[1] / "docs/confidence.md"


def test_the_example_prints_what_the_page_says(tmp_path: Path) -> None:
    (example,), (printed,) = blocks(PAGE, "python"), blocks(PAGE, "text")
    assert list(run_example(example, tmp_path)) == printed.strip().splitlines()


def test_the_page_has_the_fields_and_the_least_number_of_outcomes() -> None:
    text = PAGE.read_text("utf-8")
    shown = json.loads(re.findall(r"`(\{\"n\".*?\})`", text)[0])
    made = CalibratedConfidence(0.8, 0.7, 0.9, 57, 41, "beta")
    assert shown.keys() == made.to_dict("voting", ["a"], None).keys()
    assert f"`{made.rule}`" in text
    assert f"**{ENOUGH} or more outcomes" in text
