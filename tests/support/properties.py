"""How many examples a property is tried with."""

from __future__ import annotations

import os
from typing import Any

import hypothesis

THOROUGH = os.environ.get("PNYX_THOROUGH") == "1"
"""Whether properties are tried with ten times as many examples, other ones in every run; and tests with every
row of a table, of which some are enough to show the same."""

MORE = 10 if THOROUGH else 1
USUAL = 40


def load_profile() -> None:
    """Load the settings of every property. The same examples in every usual run, so that a red build means a
    change and not bad luck."""
    hypothesis.settings.register_profile(
        "pnyx", max_examples=USUAL * MORE, derandomize=not THOROUGH, deadline=None, database=None
    )
    hypothesis.settings.load_profile("pnyx")


def examples(count: int, **others: Any) -> hypothesis.settings:
    """The settings of a property that has its own number of examples: `count` in a usual run."""
    return hypothesis.settings(max_examples=count * MORE, **others)
