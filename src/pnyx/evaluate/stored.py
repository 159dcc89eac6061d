"""The logs that evaluations leave in the data folder: each in the folder of its evaluation, by its name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ..core.caching.regex import regex
from ..errors import NotFound, UsageError
from .analysis.log import Log

__all__ = ["LOG", "StoredEvaluation", "find_log", "stored_evaluations"]

LOG = "log.jsonl"
MOST_HEAD = 1_000_000
"""Characters of the first line of a log, which describes the comparison."""
_NAME = regex(r"eval-[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class StoredEvaluation:
    """An evaluation whose log is stored. questions: planned for each arm; None: unknown. Times: ISO 8601."""

    id: str
    dataset: str
    models: tuple[str, ...]
    arms: tuple[str, ...]
    questions: int | None
    started: str
    updated_at: str


def stored_evaluations(folder: Path) -> list[StoredEvaluation]:
    """The evaluations with a log below `folder`, the last written first, without unreadable ones."""
    return sorted(_read_heads(folder), key=lambda one: (one.updated_at, one.id), reverse=True)


def _read_heads(folder: Path) -> Iterator[StoredEvaluation]:
    for file in folder.glob(f"*/{LOG}"):
        if not _NAME.fullmatch(file.parent.name):
            continue
        try:
            with file.open(encoding="ascii") as lines:
                head = Log.parse([lines.readline(MOST_HEAD)], str(file))
            written = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        except (OSError, UnicodeDecodeError, UsageError):
            continue
        arms = tuple(arm.name for arm in head.arms)
        updated_at = written.isoformat(timespec="seconds").replace("+00:00", "Z")
        yield StoredEvaluation(
            file.parent.name, head.dataset, head.models, arms, head.planned, head.started, updated_at
        )


def find_log(folder: Path | None, id: str) -> Path:
    """The log of an evaluation below `folder`; None: of nobody's. Raises `NotFound`."""
    # The name is a whole one, so it cannot lead out of the folder.
    file = folder / id / LOG if folder is not None and _NAME.fullmatch(id) else None
    if file is None or not file.is_file():
        raise NotFound(f"no evaluation {json.dumps(id[:40])} is stored here; `pnyx eval` stores them")
    return file
