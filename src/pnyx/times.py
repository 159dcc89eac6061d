"""Times and durations as pnyx writes and reads them."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from functools import lru_cache

__all__ = ["UNITS", "now", "parse_duration", "stamp"]

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
"""Unit -> seconds."""


def now(ahead_s: float = 0.0) -> str:
    """Return the time in UTC, ISO 8601 with milliseconds. ahead_s: of another clock."""
    second, rest = divmod(time.time_ns() + round(ahead_s * 1e9), 1_000_000_000)
    return f"{_second(second)}.{rest // 1_000_000:03d}Z"


@lru_cache(maxsize=2)  # many events have the same second
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat()


def stamp(moment: datetime) -> str:
    """Return a moment as `now` writes it; one without a zone is local time."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


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
