"""Test sets: those that pnyx brings along, and files of one's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from reprlib import repr as brief
from typing import Any

from ..core.text import is_text
from ..errors import UsageError
from .datasets import NAMES, load
from .items import GRADERS, Item
from .report.tables import read_table

__all__ = ["known_set", "read_items"]

TEXTS = ("id", "question", "target", "choices", "category")
FIELDS = (*TEXTS, "grader", "tolerance")


def known_set(name: str, *, seed: int = 0, limit: int | None = None) -> list[Item] | None:
    """The questions of a set that pnyx brings, or of a file; None for what may be a task of Inspect's.

    limit: only so many, the first ones. Raises `UsageError` for a file that cannot be read or is not there.
    """
    if name in NAMES:
        return load(name, seed=seed, limit=limit)
    path = Path(name)
    if path.suffix in (".csv", ".jsonl", ".gz"):
        return read_items(path)[:limit]
    file = Path(name.partition("@")[0])
    if not name.strip() or (not file.exists() and _is_path(name)):
        told = f"a .csv or .jsonl file, one of {', '.join(NAMES)}, or a task of Inspect's"
        wrong = f"there is no file {file}" if name.strip() else "the name is empty"
        raise UsageError(f"{wrong}; DATASET is {told}: PACKAGE/NAME, FILE.py or FILE.py@NAME")
    if file.is_file() and file.suffix not in (".py", ".ipynb"):
        raise UsageError(f"{file}: wanted a .csv or .jsonl file, or a .py file with a task of Inspect's")
    return None


def _is_path(name: str) -> bool:
    """Whether it can only be meant for a file, and not for a task that a package registers with Inspect."""
    path = Path(name.partition("@")[0])
    # Tasks of Hugging Face stand beneath hf/, and a version may end a name: `arc_1.1`.
    depth = 3 if name.startswith("hf/") else 2
    return name.startswith(("/", ".", "~")) or len(path.parts) > depth or path.suffix[1:2].isalpha()


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
    item = Item(
        id=str(given.get("id", line)),
        question=_text("question", given["question"]),
        target=_text("target", given["target"]),
        choices=_choices(given.get("choices", ())),
        category=None if category is None else str(category),
        grader=grader,
        tolerance=_tolerance(given.get("tolerance", 1e-6)),
    )
    if odd := [name for name in TEXTS if not is_text("".join(getattr(item, name) or ()))]:
        raise UsageError(f"{odd[0]} holds NUL or half a character, which no host takes; remove it")
    return item


def _text(name: str, value: object) -> str:
    if isinstance(value, list | dict) or (isinstance(value, float) and not isfinite(value)):
        raise UsageError(f"{name} is one text or number, not {brief(value)}")
    return value if isinstance(value, str) else json.dumps(value)


def _choices(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, list | tuple):
        raise UsageError('choices are a JSON list, such as ["red", "green"]')
    return tuple(_text("a choice", choice) for choice in value)


def _tolerance(value: object) -> float:
    try:
        tolerance = float(str(value))
    except ValueError:
        tolerance = -1.0
    if not 0 <= tolerance < 1:
        raise UsageError(f"tolerance is a relative error from 0 to below 1, not {brief(value)}")
    return tolerance
