"""Test sets: those that pnyx brings along, and files of one's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import UsageError
from .datasets import NAMES, load
from .items import GRADERS, Item
from .tables import read_table

__all__ = ["known_set", "read_items"]

FIELDS = ("id", "question", "target", "choices", "category", "grader", "tolerance")


def known_set(name: str, *, seed: int = 0, limit: int | None = None) -> list[Item] | None:
    """The questions of a set that pnyx brings, or of a file; None where the name is neither.

    limit: only so many, the first ones. Raises `UsageError` for a file that cannot be read.
    """
    if name in NAMES:
        return load(name, seed=seed, limit=limit)
    path = Path(name)
    if path.suffix in (".csv", ".jsonl", ".gz"):
        return read_items(path)[:limit]
    return None


def read_items(path: Path) -> list[Item]:
    """The questions of a CSV or JSON Lines file: {question, target, choices?, category?, id?, grader?}.

    choices: a JSON list, in CSV as text. Without an id a question is known by its line. Raises `UsageError`
    with the line.
    """
    items: dict[str, Item] = {}
    for line, row in read_table(path):
        try:
            item = _item(row, line)
        except UsageError as exc:
            raise UsageError(f"{path}, line {line}: {exc}") from exc
        if item.id in items:
            raise UsageError(f"{path}, line {line}: the question {item.id} comes a second time")
        items[item.id] = item
    if not items:
        raise UsageError(f"{path} holds no question")
    return list(items.values())


def _item(row: Mapping[str, Any], line: int) -> Item:
    given = {name: value for name, value in row.items() if value not in (None, "")}
    if spare := [name for name in given if name not in FIELDS]:
        raise UsageError(f"unknown field {spare[0]!r}; a question has: {', '.join(FIELDS)}")
    if missing := [name for name in ("question", "target") if name not in given]:
        raise UsageError(f"there is no {missing[0]}")
    grader = given.get("grader")
    if grader is not None and grader not in GRADERS:
        raise UsageError(f"unknown grader {grader!r}; there are: {', '.join(GRADERS)}")
    category = given.get("category")
    return Item(
        id=str(given.get("id", line)),
        question=str(given["question"]),
        target=_text(given["target"]),
        choices=_choices(given.get("choices", ())),
        category=None if category is None else str(category),
        grader=grader,
        tolerance=_tolerance(given.get("tolerance", 1e-6)),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _choices(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = None
    if not isinstance(value, list | tuple):
        raise UsageError('choices are a JSON list, such as ["red", "green"]')
    return tuple(_text(choice) for choice in value)


def _tolerance(value: object) -> float:
    try:
        tolerance = float(str(value))
    except ValueError:
        tolerance = -1.0
    if not 0 <= tolerance < 1:
        raise UsageError(f"tolerance is a relative error from 0 to below 1, not {value!r}")
    return tolerance
