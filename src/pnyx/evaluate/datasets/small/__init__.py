"""Questions of medium difficulty for models of 0.1 to 1.5 billion parameters; every fourth is a choice."""

from __future__ import annotations

from ..drawing import Dataset
from . import numbers, reasoning, times, words

__all__ = ["DATASET"]

DATASET = Dataset(
    {
        "sums": numbers.SUMS,
        "calendar": times.CALENDAR,
        "stories": words.STORIES,
        "comparisons": numbers.COMPARISONS,
        "letters": words.LETTERS,
        "percent": numbers.PERCENT,
        "clock": times.CLOCK,
        "order": reasoning.ORDER,
        "units": times.UNITS,
        "sequences": reasoning.SEQUENCES,
    },
    size=240,
    endless=True,
)
