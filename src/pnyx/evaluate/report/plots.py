"""Draw plots as inline SVG, without script, font or outside resource. Colours are classes of the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

from .formats import clip, shown

__all__ = ["Bar", "Dot", "Line", "Scale", "bars", "forest", "lines", "scatter", "text", "ticks"]

WIDTH = 720
NAME = 30
"""Cells of a name next to a plot."""
MAGNITUDE = 8
"""The ratio of the largest to the smallest cost above which the scale is logarithmic."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A figure with its interval. look: the class that colours it. y: only for a scatter plot."""

    name: str
    x: float
    low: float = 0.0
    high: float = 0.0
    y: float = 0.0
    look: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """Points joined in their order. marks: (x, y, share of the largest), drawn as circles."""

    name: str
    points: Sequence[tuple[float, float]] = ()
    marks: Sequence[tuple[float, float, float]] = ()
    look: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """Two counts, drawn to the right and to the left of a middle line."""

    name: str
    right: int
    left: int


@dataclass(frozen=True, slots=True)
class Scale:
    """A map from a range of values to a range of pixels. log: use logarithms."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> str:
        ends = (self.low, self.high, value)
        low, high, place = map(log10, ends) if self.log else ends
        return f"{self.start + (place - low) / (high - low) * (self.end - self.start):.1f}"

    def ticks(self, most: int = 6) -> list[float]:
        if not self.log:
            return ticks(self.low, self.high, most)
        powers = range(floor(log10(self.low)), ceil(log10(self.high)))
        steps = (1, 2, 5) if len(powers) <= 2 else (1, 3) if len(powers) <= 3 else (1,)
        found = [float(f"{step}e{power}") for power in powers for step in steps]
        return [tick for tick in found if self.low <= tick <= self.high]


def text(value: object) -> str:
    """`value` as HTML text: escaped, and on one line."""
    return escape(shown(str(value)))


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """At most `most` round numbers from `low` to `high`, evenly spaced."""
    if not high > low:
        return [low]
    least = (high - low) / most
    unit = 10.0 ** floor(log10(least))
    step = next(unit * times for times in (1, 2, 2.5, 5, 10, 20) if (high - low) / (unit * times) <= most - 1)
    return [round(k * step, 12) + 0.0 for k in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def _svg(height: float, title: str, parts: Iterable[str], width: int = WIDTH) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height:.0f}" width="{width}" role="img" aria-label="{text(title)}">'
        f"<title>{text(title)}</title>{''.join(parts)}</svg>"
    )


def _text(x: str | float, y: str | float, content: str, anchor: str = "middle", look: str = "") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" class="{look}">{text(content)}</text>'


def _rule(x1: str | float, y1: str | float, x2: str | float, y2: str | float, look: str = "grid") -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" class="{look}"/>'


def forest(title: str, dots: Sequence[Dot], unit: str, zero: float | None, signed: bool = False) -> str:
    """Figures in rows with their intervals, as shares of 1, and a line at `zero`."""
    ends = [end for dot in dots for end in (dot.low, dot.high)] + ([] if zero is None else [zero])
    low, high = min(ends), max(ends)
    room = max(high - low, 0.02) * 0.06
    # A share stays within 0 and 1.
    bounds = (low - room, high + room) if signed else (max(0.0, low - room), min(1.0, high + room))
    x, top, step = Scale(*bounds, 250, WIDTH - 70), 14, 24
    bottom = top + step * len(dots)
    parts = []
    for tick in x.ticks(9):
        parts.append(_rule(x.at(tick), top - 6, x.at(tick), bottom))
        parts.append(
            _text(x.at(tick), bottom + 16, f"{100 * tick:{'+' if signed and tick else ''}g}", look="tick")
        )
    parts.append(_text((x.start + x.end) / 2, bottom + 34, unit, look="axis"))
    if zero is not None:
        parts.append(_rule(x.at(zero), top - 6, x.at(zero), bottom, "zero"))
    for row, dot in enumerate(dots):
        y = top + step * row + 8
        parts.append(
            f'<g class="{dot.look}"><title>{text(dot.name)}</title>'
            f"{_text(240, y + 4, clip(dot.name, NAME), 'end')}"
            f"{_rule(x.at(dot.low), y, x.at(dot.high), y, 'reach')}"
            f'<circle cx="{x.at(dot.x)}" cy="{y}" r="4.5"/></g>'
        )
        parts.append(_text(WIDTH - 6, y + 4, f"{100 * dot.x:{'+' if signed else ''}.1f}", "end", "figure"))
    return _svg(bottom + 42, title, parts)


def scatter(dots: Sequence[Dot], across: str, money: bool) -> str:
    """The cost of arms (x) and their accuracy (y, a share of 1, with its interval)."""
    least, most = min(dot.x for dot in dots), max(dot.x for dot in dots) or 1.0
    low, high = min(dot.low for dot in dots), max(dot.high for dot in dots)
    apart = least > 0 and most / least > MAGNITUDE
    x = Scale(least / 1.3 if apart else 0.0, most * (1.3 if apart else 1.06), 56, WIDTH - 190, apart)
    y = Scale(max(0.0, low - 0.02), min(1.0, high + 0.02), 320, 14)
    parts = []
    for tick in x.ticks():
        parts.append(_rule(x.at(tick), y.end, x.at(tick), y.start))
        parts.append(_text(x.at(tick), y.start + 18, f"${tick:g}" if money else f"{tick:,g}", look="tick"))
    for tick in y.ticks():
        parts.append(_rule(x.start, y.at(tick), x.end, y.at(tick)))
        parts.append(_text(x.start - 8, float(y.at(tick)) + 4, f"{100 * tick:g}", "end", "tick"))
    parts.append(
        _text((x.start + x.end) / 2, y.start + 38, f"{across}{', logarithmic' if apart else ''}", look="axis")
    )
    last: dict[int, float] = {}
    for dot in sorted(dots, key=lambda d: -d.y):
        left, height = float(x.at(dot.x)), float(y.at(dot.y))
        # Names of neighbouring points move down.
        beside = range(int(left // 12) - 13, int(left // 12) + 14)
        label = max([height + 4, *(last[place] + 14 for place in beside if place in last)])
        last[int(left // 12)] = label
        parts.append(
            f'<g class="{dot.look}"><title>{text(dot.name)}</title>'
            f"{_rule(left, y.at(dot.low), left, y.at(dot.high), 'faint')}"
            f'<circle cx="{left}" cy="{height}" r="5"/>'
            f"{_rule(left + 5, height, left + 10, label - 4, 'faint')}"
            f"{_text(left + 12, f'{label:.1f}', clip(dot.name, 24), 'start')}</g>"
        )
    return _svg(y.start + 46, "Cost and right answers", parts)


def lines(
    title: str,
    drawn: Sequence[Line],
    across: str,
    up: str,
    top: float = 1.0,
    diagonal: bool = False,
    width: int = WIDTH,
) -> str:
    """Lines over [0, 1], up to `top`. diagonal: draw a square plot with the line of perfect calibration."""
    height, most = (width - 64, 4) if diagonal else (300, 6)
    x, y = Scale(0.0, 1.0, 46, width - 14), Scale(0.0, top, height + 10, 10)
    parts = []
    for tick in x.ticks(most):
        parts.append(_rule(x.at(tick), y.end, x.at(tick), y.start))
        parts.append(_text(x.at(tick), y.start + 16, f"{100 * tick:g}", look="tick"))
    for tick in y.ticks(most):
        parts.append(_rule(x.start, y.at(tick), x.end, y.at(tick)))
        parts.append(_text(x.start - 6, float(y.at(tick)) + 4, f"{100 * tick:g}", "end", "tick"))
    parts.append(_text((x.start + x.end) / 2, y.start + 33, across, look="axis"))
    middle = (y.start + y.end) / 2
    parts.append(
        f'<g transform="rotate(-90 12 {middle:.0f})">{_text(12, f"{middle:.0f}", up, look="axis")}</g>'
    )
    if diagonal:
        parts.append(_rule(x.at(0), y.at(0), x.at(1), y.at(1), "zero"))
    for line in drawn:
        parts.append(f'<g class="{line.look}"><title>{text(line.name)}</title>')
        if line.points:
            path = " ".join(f"{x.at(across_)},{y.at(up_)}" for across_, up_ in line.points)
            parts.append(f'<polyline points="{path}" class="reach"/>')
        parts += [
            f'<circle cx="{x.at(left)}" cy="{y.at(up_)}" r="{2.5 + 5 * share**0.5:.1f}"/>'
            for left, up_, share in line.marks
        ]
        parts.append("</g>")
    return _svg(y.start + 40, title, parts, width)


def bars(title: str, drawn: Sequence[Bar], right: str, left: str) -> str:
    """Bars to the right and left of a middle line, each with its count."""
    most = max(max(bar.right, bar.left) for bar in drawn) or 1
    middle, room, top, step = (WIDTH + 250) / 2, (WIDTH - 250) / 2 - 40, 26, 24
    parts = [_text(middle - 8, 14, left, "end", "axis"), _text(middle + 8, 14, right, "start", "axis")]
    for row, bar in enumerate(drawn):
        y, ours, theirs = top + step * row, room * bar.right / most, room * bar.left / most
        parts.append(
            f"<g><title>{text(bar.name)}</title>{_text(240, y + 13, clip(bar.name, NAME), 'end')}"
            f'<rect x="{middle:.1f}" y="{y}" width="{ours:.1f}" height="16" class="won"/>'
            f'<rect x="{middle - theirs:.1f}" y="{y}" width="{theirs:.1f}" height="16" class="lost"/>'
            f"{_text(f'{middle + ours + 6:.1f}', y + 13, str(bar.right), 'start', 'figure')}"
            f"{_text(f'{middle - theirs - 6:.1f}', y + 13, str(bar.left), 'end', 'figure')}</g>"
        )
    bottom = top + step * len(drawn)
    parts.append(_rule(middle, top - 4, middle, bottom, "zero"))
    return _svg(bottom + 6, title, parts)
