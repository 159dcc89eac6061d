"""Ranges and ratios of two numbers: `3-5`, `between 3 and 5`, `3:2`."""

from __future__ import annotations

import functools
from fractions import Fraction

from ...caching.regex import regex
from .quantities import Quantity, read_quantity
from .units import NONE

__all__ = ["read_range", "read_ratio"]

_RANGE = regex(
    r"(?:from |between |de |von |entre |zwischen )?(?P<low>[^\s\d]?\d[\d.,]*\s?%?[^\d\s-]{0,3})"
    r"(?:\s*(?:-|–|to|until|bis|à|a|до|～|~|至|到)\s*|\s+(?:and|und|et|y|e|и)\s+)(?P<high>[^\s\d]?\d.*)",
    2,
)
_BETWEEN = regex(r"between|entre|zwischen", 2)
_AND = regex(r"\s(?:and|und|et|y|e|и)\s", 2)
MAX_PARTS = 8
_PARTS = regex(r"\s*:\s*|\s+to\s+|\s+zu\s+|\s*比\s*|\s+à\s+", 2)
_RATIO = regex(r"(?P<one>[\w.,]+)\s*(?::|/|\bto\b|\bzu\b|比|à)\s*(?P<two>[\w.,]+)", 2)


@functools.lru_cache(maxsize=4096)
def read_range(text: str) -> tuple[Quantity, Quantity] | None:
    """The two ends of a range, the lower one first; None for other text."""
    match = _RANGE.fullmatch(text)
    if match is None or (_AND.search(text) and not _BETWEEN.match(text)):
        return None
    low, high = read_quantity(match["low"].strip()), read_quantity(match["high"].strip())
    if low is None or high is None:
        return None
    if low.unit is NONE and high.unit is not NONE:
        low = Quantity(low.value, high.unit)
    # 10-20% is 10% to 20%.
    if "%" in match["high"] or "percent" in match["high"]:
        low = low if "%" in match["low"] else Quantity(low.value / 100, low.unit)
    return (low, high) if low.value < high.value else None


@functools.lru_cache(maxsize=4096)
def read_ratio(text: str) -> tuple[Fraction, ...] | None:
    """The numbers of a ratio over the last of them; None for other text."""
    parts = _PARTS.split(text.strip())
    if 2 < len(parts) <= MAX_PARTS:
        each = [read_quantity(part) for part in parts]
        known = [part.value for part in each if part is not None and part.unit is NONE]
        return tuple(value / known[-1] for value in known) if len(known) == len(each) and known[-1] else None
    match = _RATIO.fullmatch(text)
    found = match and (read_quantity(match["one"]), read_quantity(match["two"]))
    if not found or found[0] is None or found[1] is None or not found[1].value:
        return None
    return (found[0].value / found[1].value, Fraction(1))
