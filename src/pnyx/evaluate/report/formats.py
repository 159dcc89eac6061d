"""Format figures and names for people. A missing value is a dash, a missing price "unknown"."""

from __future__ import annotations

from collections.abc import Mapping

from rich.cells import cell_len, set_cell_size

from ...core.caching.regex import regex
from ...core.models import money
from ...core.sycophancy.plain import INVISIBLE

__all__ = ["amount", "clip", "interval", "number", "p_value", "percent", "points", "shown", "usd"]

NONE = "–"  # noqa: RUF001 (the dash of an empty cell)
_HIDDEN = regex(f"[{INVISIBLE}]")


def shown(text: str) -> str:
    """Untrusted text as one line of visible characters, without control characters."""
    return _HIDDEN.sub("\ufffd", " ".join(text.split()))


def clip(text: str, width: int) -> str:
    """`text` as `shown`, in at most `width` cells. Cuts the middle: names in a family share their start."""
    line = shown(text)
    if cell_len(line) <= width:
        return line
    head = width // 2
    return set_cell_size(line, head) + "…" + set_cell_size(line[::-1], width - head - 1)[::-1]


def percent(share: float | None) -> str:
    """A fraction of 1 in percent, without the percent sign: "78.3"."""
    return NONE if share is None else f"{100 * share:.1f}"


def interval(values: Mapping[str, float] | None) -> str:
    """The ends of an interval of a share, in percent: "[70.1, 84.8]"."""
    return NONE if values is None else f"[{percent(values['low'])}, {percent(values['high'])}]"


def points(values: Mapping[str, float] | None) -> str:
    """A difference of shares with its interval, in points: "+5.8 [+1.7, +10.0]"."""
    if values is None:
        return NONE
    # Round first, so that -0.0 never appears.
    mean, low, high = (f"{round(100 * values[name], 1) + 0.0:+.1f}" for name in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}]"


def p_value(p: float | None) -> str:
    return NONE if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def number(value: float | None, digits: int = 2) -> str:
    return NONE if value is None else f"{value:,.{digits}f}"


def amount(value: float | None) -> str:
    """Mean tokens or calls of a question: whole numbers from 100."""
    return (
        NONE if value is None else f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"
    )


def usd(cost: float | None) -> str:
    """An amount in USD in a column of costs."""
    return "unknown" if cost is None else money(cost)
