"""Durations as people write them: 90d, 12h."""

from __future__ import annotations

import math

__all__ = ["UNITS", "parse_duration"]

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
"""Unit -> seconds."""


def parse_duration(text: str) -> float:
    """Return the seconds of a number of s, m, h, d or w, such as 7d. Raises `ValueError`."""
    number, unit = text.strip()[:-1], text.strip()[-1:]
    problem = f"{text[:40]!r} is no duration; write a number with s, m, h, d or w, such as 7d"
    try:
        seconds = float(number) * UNITS[unit]
    except (ValueError, KeyError):
        raise ValueError(problem) from None
    if not (math.isfinite(seconds) and 0 <= seconds <= 1e10):
        raise ValueError(problem)
    return seconds
