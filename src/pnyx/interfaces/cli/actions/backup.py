"""The actions of `pnyx backup` and `pnyx restore`."""

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
    output.note(f"{_describe(rows)} saved. Load them into an empty database with: pnyx restore {file}")
    output.out.line(str(file))
    return 0


def restore(file: Path) -> int:
    output = streams()
    rows = with_records(open_settings(), lambda stored: stored.restore(file), create=True)
    output.note(f"{_describe(rows)} restored")
    return 0


def _describe(rows: Mapping[str, int]) -> str:
    return f"{quantity(rows['runs'], 'run')} with {quantity(rows['events'], 'event')}"
