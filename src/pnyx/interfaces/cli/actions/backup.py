"""What `pnyx backup` and `restore` do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...open_settings import open_settings
from ...views.transcript import quantity
from ..records import with_records
from ..terminal.output import streams

__all__ = ["backup", "restore"]


def backup(file: Path) -> int:
    output = streams()
    rows = with_records(open_settings(), lambda stored: stored.backup(file))
    output.note(f"{_told(rows)}; `pnyx restore {file}` puts them into an empty database")
    output.out.line(str(file))
    return 0


def restore(file: Path) -> int:
    output = streams()
    rows = with_records(open_settings(), lambda stored: stored.restore(file))
    output.note(f"{_told(rows)} restored")
    return 0


def _told(rows: Mapping[str, int]) -> str:
    return f"{quantity(rows['runs'], 'run')} with {quantity(rows['events'], 'event')}"
