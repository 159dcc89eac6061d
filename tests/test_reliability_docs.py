"""The page about reliability names tests that exist, and every test of `faults`."""

from __future__ import annotations

import re

from tests.protocols.test_specification import TESTS, written
from tests.support.sources import ROOT

NAMED = re.findall(r"`(\w[\w/]*\.py)::(\w+)`", (ROOT / "docs" / "reliability.md").read_text("utf-8"))


def test_the_page_about_reliability_names_tests_that_exist() -> None:
    assert NAMED
    assert [(page, name) for page, name in NAMED if name not in written(page)] == []


def test_every_fault_that_is_tried_is_on_the_page() -> None:
    pages = sorted((TESTS / "faults").glob("test_*.py"))
    tried = {(f"faults/{path.name}", name) for path in pages for name in written(f"faults/{path.name}")}
    assert tried - set(NAMED) == set()
