"""A table that is printed in parts, since a list of all runs may be long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...render.terminal import columns, cut
from .output import Stream

__all__ = ["Table", "clip_end"]

ALIGNED = 1000
"""Rows that are aligned with each other: 100,000 at once would take 200 MB."""


class Table:
    """Prints rows, and lines below each. right: the numbers of right-aligned columns."""

    def __init__(self, stream: Stream, heads: Sequence[str], right: Sequence[int] = ()) -> None:
        self.heads = heads
        self._stream, self._right = stream, right
        self._rows: list[tuple[Sequence[str], Sequence[str]]] = []
        self._printed = False

    def add(self, row: Sequence[str], below: Iterable[str] = ()) -> None:
        """Add a row. below: lines that are already safe and painted."""
        self._rows.append((row, list(below)))
        if len(self._rows) == ALIGNED:
            self._print()

    def end(self) -> bool:
        """Print what is left. Return whether the table has any row."""
        if self._rows:
            self._print()
        return self._printed

    def _print(self) -> None:
        head, *lines = (
            clip_end(line, self._stream.width)
            for line in columns([self.heads, *(row for row, _ in self._rows)], self._right)
        )
        printed = [] if self._printed else [self._stream.paint(head, "bold")]
        for line, (_, below) in zip(lines, self._rows, strict=True):
            printed += [line, *below]
        self._stream.lines(printed)
        self._rows, self._printed = [], True


def clip_end(line: str, width: int | None) -> str:
    """A safe line, cut to the width of a terminal; None: to none."""
    return line if width is None else cut(line, width)
