"""Lists of names in words."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["first_of", "listed"]


def listed(names: Sequence[object]) -> str:
    """Return "a", "a and b" or "a, b and c"."""
    texts = list(map(str, names))
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def first_of(names: Sequence[str], most: int = 5) -> str:
    """Return at most `most` names, and the number of the others: "a, b and 1,200 more"."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")
