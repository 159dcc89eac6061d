"""The files of a question on the command line: what the flags name, read and shown."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from ...config.schema import Settings
from ...core.files import File, Source
from ...files.read import read_files
from .terminal.output import Output

__all__ = ["read_paths"]


def read_paths(settings: Settings, output: Output, paths: Iterable[Path]) -> tuple[File, ...]:
    """Read files of this machine. Raises `UsageError`."""
    sources = [Source(path=str(path)) for path in paths]
    if not sources:
        return ()
    read = asyncio.run(read_files(sources, settings.context, paths=True))
    for note in read.notes:
        output.note(f"note: {note}")
    return read.files
