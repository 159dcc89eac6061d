"""Long questions for strong models, in six categories of twenty, with targets computed exactly."""

from __future__ import annotations

from ..drawing import Dataset
from . import arithmetic, dates, facts, logic, strings, units

__all__ = ["DATASET"]

DATASET = Dataset(
    {
        "arithmetic": arithmetic.ARITHMETIC,
        "logic": logic.LOGIC,
        "strings": strings.STRINGS,
        "dates": dates.DATES,
        "units": units.UNITS,
        "facts": facts.FACTS,
    },
    size=6 * len(facts.FACTS),
)
