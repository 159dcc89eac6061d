"""Names that are like a mistyped one, for error messages."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["among", "closest", "nearest"]


def closest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """Return the known name most similar to `name`, or else one that has all words of the other.

    likeness: minimal similarity, 0 to 1.
    """
    # For errors only.
    from difflib import get_close_matches

    names = list(known)
    if found := get_close_matches(name, names, 1, likeness):
        return found[0]
    words = _words(name)
    return next((one for one in names if words and (w := _words(one)) and (w <= words or words <= w)), None)


def _words(name: str) -> set[str]:
    """The words of a name that say something: "reasoning" and "effort" of `reasoning_effort`."""
    return {word for word in re.split(r"[\W_]+", name.lower()) if len(word) > 2}


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return "; did you mean …?" with the known name most similar to `name`, or an empty text."""
    found = closest(name, known, likeness)
    return f"; did you mean {found}?" if found else ""


def among(name: str, known: Iterable[str], there: str) -> str:
    """Return what follows "no such name": the most similar one, and then `there`, which lists all."""
    hint = nearest(name, known)
    return f"{hint} {there[0].upper()}{there[1:]}" if hint else f"; {there}"
