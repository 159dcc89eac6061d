"""Draw the state diagrams of protocols as SVG, so that the site needs no script for them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from html import escape
from itertools import pairwise
from typing import NamedTuple

__all__ = ["svg"]

# Pixels. A label stands above a line as long as LABEL, in lines of WRAP characters.
BOX_WIDTH, BOX_HEIGHT, ROW, LABEL, WRAP, LINE, LANE, TOP = 120, 34, 92, 150, 20, 14, 14, 24
EDGE = re.compile(r"^\s*(\S+) --> (\S+?)(?:: (.+))?$", re.MULTILINE)


class Edge(NamedTuple):
    source: str
    target: str
    label: str


def svg(mermaid: str) -> str:
    """The SVG of a Mermaid state diagram: phases from top to bottom, what goes back on the left.

    Leaves out `failed`, to which every phase leads, and the marks of start and end.
    """
    edges = [
        Edge(source, target, label)
        for source, target, label in EDGE.findall(mermaid)
        if "[*]" not in (source, target) and target != "failed"
    ]
    names = [
        name for name in dict.fromkeys(name for edge in edges for name in edge[:2]) if name != "complete"
    ]
    rows = {name: row for row, name in enumerate([*names, "complete"])}
    ahead = [edge for edge in edges if rows[edge.target] > rows[edge.source] + 1]
    back = [edge for edge in edges if rows[edge.target] <= rows[edge.source]]
    drawing = _Drawing(rows, left=len(back), right=len(ahead))
    parts = [drawing.box(name) for name in rows]
    for source, target in pairwise(rows):
        parts += [drawing.down(edge) for edge in edges if edge[:2] == (source, target)]
    for side, group in ((1, ahead), (-1, back)):
        # The longest way runs outermost, so that no line crosses another.
        group.sort(key=lambda edge: abs(rows[edge.target] - rows[edge.source]))
        parts += [drawing.around(edge, side, lane) for lane, edge in enumerate(group)]
    title = "Phases: " + "; ".join(
        f"{edge.source} to {edge.target}" + (f", {edge.label}" if edge.label else "") for edge in edges
    )
    return drawing.document(title, parts)


class _Drawing:
    """left, right: how many lines run around the boxes on each side."""

    def __init__(self, rows: dict[str, int], left: int, right: int) -> None:
        self.rows = rows
        before, after = ((LABEL + LANE * (n + 1) if n else 8) for n in (left, right))
        self.middle = before + BOX_WIDTH / 2
        self.width = before + BOX_WIDTH + max(after, LABEL - BOX_WIDTH / 2 + 8)
        self.height = TOP + (len(rows) - 1) * ROW + BOX_HEIGHT + 8

    def document(self, title: str, parts: list[str]) -> str:
        head = (
            f'<svg class="phases" role="img" xmlns="http://www.w3.org/2000/svg" width="{self.width:g}" '
            f'viewBox="0 0 {self.width:g} {self.height:g}"><title>{escape(title)}</title>'
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
            'orient="auto"><path d="M0 0 8 4 0 8z" fill="currentColor"/></marker></defs>'
        )
        return f"<div>{head}{''.join(parts)}</svg></div>"

    def box(self, name: str) -> str:
        x, y = self.middle - BOX_WIDTH / 2, self._top(name)
        return (
            f'<rect x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"/>'
            f'<text class="phase" x="{self.middle:g}" y="{y + BOX_HEIGHT / 2 + 5:g}">{escape(name)}</text>'
        )

    def down(self, edge: Edge) -> str:
        start, end = self._top(edge.source) + BOX_HEIGHT, self._top(edge.target)
        lines = list(self._lines(edge.label))
        y = (start + end) / 2 - (len(lines) - 1) * LINE / 2 + 4
        return _arrow(f"M{self.middle:g} {start:g}V{end:g}") + _text(lines, self.middle + 8, y, "start")

    def around(self, edge: Edge, side: int, lane: int) -> str:
        """A line that leaves a box at its side. side: 1 for right, -1 for left."""
        edge_x = self.middle + side * BOX_WIDTH / 2
        lane_x = edge_x + side * (LABEL + LANE * lane)
        start = self._top(edge.source) + BOX_HEIGHT / 2 + 4
        end = self._top(edge.target) + BOX_HEIGHT / 2
        if edge.source == edge.target:
            end = start + 10
        path = f"M{edge_x:g} {start:g}H{lane_x:g}V{end:g}H{edge_x:g}"
        lines = list(self._lines(edge.label))
        y = start - 5 - (len(lines) - 1) * LINE
        return _arrow(path) + _text(lines, edge_x + side * 6, y, "start" if side > 0 else "end")

    def _top(self, name: str) -> float:
        return TOP + self.rows[name] * ROW - BOX_HEIGHT / 2

    @staticmethod
    def _lines(label: str) -> Iterator[str]:
        yield from textwrap.wrap(label, WRAP)


def _arrow(path: str) -> str:
    return f'<path class="way" d="{path}" marker-end="url(#arrow)"/>'


def _text(lines: list[str], x: float, y: float, anchor: str) -> str:
    spans = "".join(
        f'<tspan x="{x:g}" y="{y + n * LINE:g}">{escape(line)}</tspan>' for n, line in enumerate(lines)
    )
    return f'<text text-anchor="{anchor}">{spans}</text>' if lines else ""
