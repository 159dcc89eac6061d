"""Words of values in many languages: calendars, yes and no, scales, units. The tables are JSON files."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["decimal_marks", "months", "table", "weekdays"]


@cache
def table(name: str) -> Any:
    """The content of `name`.json."""
    return json.loads(files(__name__).joinpath(f"{name}.json").read_text("utf-8"))


@cache
def months() -> dict[str, int]:
    """Name of a month in small letters -> its number, without names of two months in two languages."""
    return _unambiguous("months", 1)


@cache
def weekdays() -> dict[str, int]:
    """Name of a weekday in small letters -> its number, 0 for Monday."""
    return _unambiguous("weekdays", 0)


@cache
def decimal_marks() -> dict[str, str]:
    """Language -> its decimal mark."""
    return {language: row["decimal"] for language, row in table("calendar").items()}


def _unambiguous(kind: str, first: int) -> dict[str, int]:
    found: dict[str, set[int]] = {}
    for row in table("calendar").values():
        for n, names in enumerate(row[kind], first):
            for name in names:
                found.setdefault(name, set()).add(n)
    return {name: numbers.pop() for name, numbers in found.items() if len(numbers) == 1}
