"""Test sets: the ones that pnyx includes, and the user's own files."""

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

__all__ = ["find_items", "read_items"]

TEXTS = ("id", "question", "target", "choices", "category")
FIELDS = (*TEXTS, "grader", "tolerance")


def find_items(name: str, *, seed: int = 0, limit: int | None = None) -> list[Item] | None:
    """The questions of an included set or of a file; None if `name` may be a task of Inspect.

    limit: return only the first `limit` questions. Raises `UsageError` if the file is missing or unreadable.
    """
    if name in NAMES:
        return load(name, seed=seed, limit=limit)
    path = Path(name)
    if path.suffix in (".csv", ".jsonl", ".gz"):
        return read_items(path)[:limit]
    file = Path(name.partition("@")[0])
    if not name.strip() or (not file.exists() and _is_path(name)):
        forms = f"a .csv or .jsonl file, one of {', '.join(NAMES)}, or an Inspect task"
        problem = f"there is no file {file}" if name.strip() else "the name is empty"
        raise UsageError(f"{problem}; DATASET is {forms}: PACKAGE/NAME, FILE.py or FILE.py@NAME")
    if file.is_file() and file.suffix not in (".py", ".ipynb"):
        raise UsageError(f"{file}: DATASET must be a .csv or .jsonl file, or a .py file with an Inspect task")
    return None


def _is_path(name: str) -> bool:
    """Whether `name` can only be a file, and not a task that a package registers with Inspect."""
    path = Path(name.partition("@")[0])
    # Tasks of Hugging Face are below hf/, and a name may end with a version: `arc_1.1`.
    depth = 3 if name.startswith("hf/") else 2
    return name.startswith(("/", ".", "~")) or len(path.parts) > depth or path.suffix[1:2].isalpha()


def read_items(path: Path) -> list[Item]:
    """The questions of a CSV or JSON Lines file: {question, target, choices?, category?, id?, grader?}.

    choices: a JSON list, in CSV as text. The default id is the line number. Raises `UsageError` with the
    number of the invalid line.
    """
    items: dict[str, Item] = {}
    for line, row in read_table(path):
        try:
            item = _item(row, line)
        except UsageError as exc:
            raise UsageError(f"{path}, line {line}: {exc}") from exc
        if item.id in items:
            raise UsageError(f"{path}, line {line}: the question {item.id} appears twice")
        items[item.id] = item
    if not items:
        raise UsageError(f"{path} has no questions")
    return list(items.values())


def _item(row: Mapping[str, Any], line: int) -> Item:
    values = {name: value for name, value in row.items() if value not in (None, "")}
    if unknown := [name for name in values if name not in FIELDS]:
        raise UsageError(f"unknown field {unknown[0]!r}; a question has: {', '.join(FIELDS)}")
    if missing := [name for name in ("question", "target") if name not in values]:
        raise UsageError(f"the field {missing[0]} is missing")
    grader = values.get("grader")
    if grader is not None and grader not in GRADERS:
        raise UsageError(f"unknown grader {grader!r}; choose one of: {', '.join(GRADERS)}")
    category = values.get("category")
    item = Item(
        id=str(values.get("id", line)),
        question=_text("question", values["question"]),
        target=_text("target", values["target"]),
        choices=_choices(values.get("choices", ())),
        category=None if category is None else str(category),
        grader=grader,
        tolerance=_tolerance(values.get("tolerance", 1e-6)),
    )
    if odd := [name for name in TEXTS if not is_text("".join(getattr(item, name) or ()))]:
        raise UsageError(f"{odd[0]} contains a NUL or half a character, which hosts reject; remove it")
    return item


def _text(name: str, value: object) -> str:
    if isinstance(value, list | dict) or (isinstance(value, float) and not isfinite(value)):
        raise UsageError(f"{name} must be one text or number, not {brief(value)}")
    return value if isinstance(value, str) else json.dumps(value)


def _choices(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, list | tuple):
        raise UsageError('choices must be a JSON list, such as ["red", "green"]')
    return tuple(_text("a choice", choice) for choice in value)


def _tolerance(value: object) -> float:
    try:
        tolerance = float(str(value))
    except ValueError:
        tolerance = -1.0
    if not 0 <= tolerance < 1:
        raise UsageError(f"tolerance must be a relative error of at least 0 and below 1, not {brief(value)}")
    return tolerance
