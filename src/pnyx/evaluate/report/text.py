"""The report as plain text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len

from .formats import clip, shown
from .sheets import Sheet, about, sheets

__all__ = ["WIDTH", "render"]

WIDTH = 110
"""The most columns of a line that is not on a terminal."""
NAME, HEADING = 12, 16
"""The fewest cells of a row's name, and the most of a column's heading."""
GAP = "  "


def render(document: Mapping[str, Any], width: int = WIDTH) -> str:
    """The verdict, then the tables, in lines of `width` columns. Untrusted text has no control characters."""
    lines = [*_wrapped(about(document), width), ""]
    for sentence in document["verdict"]:
        lines += _wrapped(sentence, width, "- ")
    for sheet in sheets(document):
        lines += ["", sheet.title.upper(), *_table(sheet, width), *_wrapped(sheet.note, width, "  ", "  ")]
    return "\n".join(lines)


def _wrapped(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    hang = rest or " " * len(first)
    # Wide characters take two cells, and textwrap counts one: wrap such text at half the width.
    wide = cell_len(shown(text)) > len(shown(text))
    return textwrap.wrap(shown(text), width // (1 + wide), initial_indent=first, subsequent_indent=hang)


def _table(sheet: Sheet, width: int) -> Iterator[str]:
    """Aligned columns. Those that do not fit into the line follow below, with the names repeated."""
    head = [sheet.head[0], *(clip(name, HEADING) for name in sheet.head[1:])]
    cells = [head, *([shown(cell) for cell in row] for row in sheet.rows)]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    start = 1
    while start < len(widths):
        end, room = start, width - min(widths[0], NAME)
        while end < len(widths) and (end == start or room >= len(GAP) + widths[end]):
            room -= len(GAP) + widths[end]
            end += 1
        name = max(min(widths[0], min(widths[0], NAME) + room), 1)
        for row in cells:
            yield _line([clip(row[0], name), *row[start:end]], [name, *widths[start:end]])
        start = end


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *figures = (" " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True))
    texts = [cells[0] + first, *(blank + cell for blank, cell in zip(figures, cells[1:], strict=True))]
    return GAP.join(texts).rstrip()
