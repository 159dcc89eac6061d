"""Read files of recorded answers of models to questions. The format is in docs/evaluation.md."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from reprlib import repr as brief
from typing import Any

from ...core.answers.same.equivalence import normalise
from ...errors import UsageError
from ...reliability.accuracy import AnsweredQuestion
from ..report.tables import read_table

__all__ = ["NOT_ASKED", "read_recorded"]

NOT_ASKED = "NA"
"""The cell of a model that was not asked this question. An empty cell is an abstention."""

MOST_OPTIONS = 1_000_000
"""The most options of a question. A larger number probably belongs in another column."""

ID, OPTIONS = ("id", "question_id"), ("options", "n_options")
FIELDS = {*ID, *OPTIONS, "gold", "category"}

canonical = lru_cache(maxsize=1 << 16)(normalise)


def read_recorded(
    path: Path, models: Sequence[str] = (), where: Mapping[str, str] | None = None
) -> list[AnsweredQuestion]:
    """The questions of a CSV or JSONL file (also `.gz`) that all of `models` were asked, in the file's order.

    models: the models to read, in the order that breaks ties; empty for all. where: column -> the value that
    a row must have. Answers are normalised, so `1,000` and `1000` are equal.

    Raises `UsageError` with the line number if the file cannot be read or lacks one of the models.
    """
    where = where or {}
    questions: list[AnsweredQuestion] = []
    seen: set[str] = set()
    panel, found = list(models), False
    for line, row, answers in _rows(path, where):
        if any(not _is(_cell(row, name, line, path), value) for name, value in where.items()):
            continue
        found = True
        id = str(_first(row, ID, line, path))
        if id in seen:
            raise UsageError(f"{path}, line {line}: the question {id} appears twice")
        seen.add(id)
        panel = panel or list(answers)
        if not models and (more := answers.keys() - set(panel)):
            raise UsageError(
                f"{path}, line {line}: it has an answer of {min(more)}, which the first line does not have"
            )
        if unknown := [m for m in panel if m not in answers]:
            advice = f"write {NOT_ASKED} if it was not asked"
            raise UsageError(f"{path}, line {line}: no answer of {unknown[0]}; {advice}")
        if all(str(answers[m]).strip() != NOT_ASKED for m in panel):
            questions.append(_answered(row, {m: answers[m] for m in panel}, line, path))
    if where and not found:
        conditions = " and ".join(f"{name}={value}" for name, value in where.items())
        raise UsageError(f"{path} has no row with {conditions}")
    if not questions:
        raise UsageError(f"{path} has no question that all models of the panel were asked")
    return questions


def _rows(path: Path, where: Collection[str]) -> Iterator[tuple[int, Mapping[str, Any], Mapping[str, Any]]]:
    """Line number, fields, and answers by model: the object `answers` in JSON, all other columns in CSV."""
    is_json = Path(path.stem if path.suffix == ".gz" else path.name).suffix == ".jsonl"
    for line, row in read_table(path):
        answers = (
            row.get("answers") if is_json else {n: v for n, v in row.items() if n not in (*FIELDS, *where)}
        )
        if not isinstance(answers, dict):
            raise UsageError(f"{path}, line {line}: a line must be an object with an object `answers`")
        yield line, row, answers


def _answered(row: Mapping[str, Any], answers: Mapping[str, Any], line: int, path: Path) -> AnsweredQuestion:
    options = next((row[name] for name in OPTIONS if row.get(name) not in (None, "")), None)
    count = None if options is None else _count(options)
    if count == 0:
        problem = f"{brief(options)} is not a number of options"
        raise UsageError(
            f"{path}, line {line}: {problem}; write 2 to {MOST_OPTIONS:,}, or nothing for an open question"
        )
    gold = _text(_cell(row, "gold", line, path))
    if gold is None:
        raise UsageError(f"{path}, line {line}: the gold answer is missing")
    for name, value in {"gold": row["gold"], **answers}.items():
        if isinstance(value, list | dict):
            raise UsageError(f"{path}, line {line}: {name} must be one text or number, not {brief(value)}")
    texts = {model: _text(answer) for model, answer in answers.items()}
    return AnsweredQuestion(texts, gold, count, _text(row.get("category"), plain=True))


def _count(options: Any) -> int:
    """The number of options; 0 if the value is invalid."""
    try:
        count = float(str(options))
    except ValueError:
        return 0
    return int(count) if 2 <= count <= MOST_OPTIONS and count == int(count) else 0


def _text(value: Any, *, plain: bool = False) -> str | None:
    """The text of a cell, normalised unless `plain`; None for an empty one."""
    text = "" if value is None else str(value).strip()
    return (text if plain else canonical(text) or text) or None


def _is(cell: Any, value: str) -> bool:
    """Whether a cell equals `value`. JSON values compare as JSON, numbers by value; null is also empty."""
    if isinstance(cell, str):
        return cell == value
    if cell is None:
        return value in ("", "null")
    try:
        return bool(json.loads(value) == cell) and isinstance(cell, bool) == (value in ("true", "false"))
    except ValueError:
        return False


def _cell(row: Mapping[str, Any], name: str, line: int, path: Path) -> Any:
    return _first(row, (name,), line, path)


def _first(row: Mapping[str, Any], names: Sequence[str], line: int, path: Path) -> Any:
    for name in names:
        if name in row:
            return row[name]
    raise UsageError(f"{path}, line {line}: the column `{names[0]}` is missing")
