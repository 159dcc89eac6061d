"""Read files of questions and answers: CSV with a header, or JSON Lines, optionally compressed."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from ...errors import UsageError

__all__ = ["Rows", "read_table"]

Rows = Iterator[tuple[int, Mapping[str, Any]]]


def read_table(path: Path) -> Rows:
    """The line number and fields of each row. Raises `UsageError` with the number of an invalid line."""
    kind = Path(path.stem if path.suffix == ".gz" else path.name).suffix
    if kind not in (".csv", ".jsonl"):
        raise UsageError(f"{path} must be a .csv or .jsonl file, optionally with .gz")
    line = 0
    try:
        with _open(path) as file:
            for line, row in _csv_rows(file, path) if kind == ".csv" else _json_rows(file, path):
                yield line, row
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as exc:
        place = f" after line {line}" if line else ""
        reason = getattr(exc, "strerror", None) or exc
        raise UsageError(f"cannot read {path}{place}: {reason}{_advice(exc)}") from exc


def _advice(exc: Exception) -> str:
    match exc:
        case UnicodeDecodeError():
            return "; save it as UTF-8"
        case csv.Error():
            return "; a quote may be left open"
        case gzip.BadGzipFile() | EOFError() | zlib.error():
            return "; it is damaged, or not a gzip file: compress it again"
    return ""


def _open(path: Path) -> IO[str]:
    opener = gzip.open if path.suffix == ".gz" else open
    return opener(path, "rt", encoding="utf-8-sig", newline="")


def _csv_rows(file: Iterable[str], path: Path) -> Rows:
    reader = csv.DictReader(file)
    names = list(filter(None, reader.fieldnames or ()))
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"{path}: two columns have the name {twice[0]!r}; rename one")
    for row in reader:
        if None in row or None in row.values():
            problem = (
                "more cells than there are columns" if None in row else "fewer cells than there are columns"
            )
            raise UsageError(f"{path}, line {reader.line_num}: {problem}; a cell with a comma needs quotes")
        yield reader.line_num, {name: value for name, value in row.items() if name}


def _json_rows(file: Iterable[str], path: Path) -> Rows:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as exc:
            raise UsageError(f"{path}, line {number} is not JSON: {exc}") from exc
        if not isinstance(row, dict):
            raise UsageError(f"{path}, line {number}: a line must be a JSON object")
        yield number, row
