"""Figures and names as a person reads them. What is absent is a dash, a price that is not known "unknown"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size

from ...core.regex import regex
from ...core.sycophancy.plain import INVISIBLE

__all__ = ["amount", "clip", "interval", "listed", "number", "p_value", "percent", "points", "shown", "usd"]

NONE = "–"  # noqa: RUF001 (stands in a table where there is no figure)
_HIDDEN = regex(f"[{INVISIBLE}]")


def shown(text: str) -> str:
    """Somebody else's text as one line of characters that can be seen and move nothing."""
    return _HIDDEN.sub("\ufffd", " ".join(text.split()))


def clip(text: str, width: int) -> str:
    """`text` as `shown` in at most `width` cells, its middle left out: families share beginnings."""
    line = shown(text)
    if cell_len(line) <= width:
        return line
    head = width // 2
    return set_cell_size(line, head) + "…" + set_cell_size(line[::-1], width - head - 1)[::-1]


def percent(share: float | None) -> str:
    """A fraction of 1 in percent, without its sign: "78.3"."""
    return NONE if share is None else f"{100 * share:.1f}"


def interval(given: Mapping[str, float] | None) -> str:
    """The ends of an interval of a share, in percent: "[70.1, 84.8]"."""
    return NONE if given is None else f"[{percent(given['low'])}, {percent(given['high'])}]"


def points(given: Mapping[str, float] | None) -> str:
    """A difference of shares with its interval, in points: "+5.8 [+1.7, +10.0]"."""
    if given is None:
        return NONE
    # Rounded first, so that nothing is told as -0.0.
    mean, low, high = (f"{round(100 * given[name], 1) + 0.0:+.1f}" for name in ("mean", "low", "high"))
    return f"{mean} [{low}, {high}]"


def p_value(p: float | None) -> str:
    return NONE if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def number(value: float | None, digits: int = 2) -> str:
    return NONE if value is None else f"{value:,.{digits}f}"


def amount(value: float | None) -> str:
    """Tokens or calls of a mean question: whole from a hundred on."""
    return (
        NONE if value is None else f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"
    )


def usd(cost: float | None) -> str:
    """An amount in USD with as many digits as it needs; what is not known is never shown as nothing."""
    if cost is None:
        return "unknown"
    if cost == 0:
        return "$0"
    return f"${cost:,.2f}" if cost >= 1 else f"${cost:.4f}" if cost >= 0.0001 else f"${cost:.1e}"


def listed(names: Sequence[Any]) -> str:
    """ "a", "a and b", "a, b and c"."""
    told = [str(name) for name in names]
    return " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
