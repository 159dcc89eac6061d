"""The files of a run in words, for every interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...core.context.files import file_tokens
from ...core.events import Event, RunStarted
from ...phrases import first_of
from ...run.spec import Spec
from .transcript import quantity

__all__ = ["file_words", "files_of", "summary_words", "total_words"]


def files_of(events: Iterable[Event]) -> tuple[Mapping[str, Any], ...]:
    """The rows of a run's files; none for a run without files, or of an earlier version."""
    started = next((event for event in events if isinstance(event, RunStarted)), None)
    return () if started is None else started.files


def _size_words(size: int) -> str:
    """A number of bytes, as in "3.1 kB"."""
    for unit, least in (("MB", 1_000_000), ("kB", 1_000)):
        if size >= least:
            return f"{size / least:,.1f} {unit}"
    return quantity(size, "byte")


def file_words(row: Mapping[str, Any]) -> str:
    """A file with its size, how it was read, and the SHA-256 of the original."""
    note = f", {row['note']}" if row.get("note") else ""
    return f"{row['name']}, {_size_words(row['size'])}{note}, sha256 {row['sha256']}"


def summary_words(rows: Sequence[Mapping[str, Any]]) -> str:
    """The files on one line: the first ones with their sizes, and the number of others."""
    shown = [
        f"{row['name']} ({_size_words(row['size'])}{', ' + row['note'] if row.get('note') else ''})"
        for row in rows
    ]
    return f"files: {first_of(shown)}"


def total_words(spec: Spec) -> str:
    """What the files of a run add up to."""
    size, tokens = sum(one.size for one in spec.files), file_tokens(spec.files)
    return f"{quantity(len(spec.files), 'file')}, {_size_words(size)}, at most {tokens:,} tokens in a prompt"
