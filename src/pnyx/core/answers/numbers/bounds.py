"""Bounds of a number: `at least 3`, `≥ 3`, `3 or more`, in the words of many languages."""

from __future__ import annotations

from functools import cache

from ...caching.regex import regex
from ..words import table

__all__ = ["split_bound"]

MAX_CHARS = 80

_SIGN = regex(r"(?P<sign>[≥≤⩾⩽]|>=|<=|=>|=<|[<>]|\\[gl]eqslant|\\[gl]eq?(?![a-z])|\\[gl]t(?![a-z]))\s*")
_SIGNS = {
    "⩾": "≥", ">=": "≥", "=>": "≥", "\\geqslant": "≥", "\\geq": "≥", "\\ge": "≥", "\\gt": ">",
    "⩽": "≤", "<=": "≤", "=<": "≤", "\\leqslant": "≤", "\\leq": "≤", "\\le": "≤", "\\lt": "<",
}  # fmt: skip
_UNSPACED = "\u2e80"
"""From this character on, scripts write no space between words."""


def split_bound(text: str) -> tuple[str, str] | None:
    """The sign of a bound (≥, ≤, > or <) and what it bounds; None for other text.

    `at least 3 km` is `≥` and `3 km`, and so is `3 km or more`.
    """
    if not 1 < len(text) <= MAX_CHARS:
        return None
    if match := _SIGN.match(text):
        sign = match["sign"]
        return _SIGNS.get(sign, sign), text[match.end() :]
    low = text.casefold()
    for word, sign in _phrases("before") if low.startswith(_words("before")) else ():
        if low.startswith(word) and (word[-1] >= _UNSPACED or low[len(word) : len(word) + 1] == " "):
            return sign, text[len(word) :].strip()
    for word, sign in _phrases("after") if low.endswith(_words("after")) else ():
        if low.endswith(word) and (word[0] >= _UNSPACED or low[: -len(word)].endswith((" ", ", "))):
            return sign, text[: -len(word)].rstrip(" ,")
    return None


@cache
def _phrases(place: str) -> tuple[tuple[str, str], ...]:
    """The phrases before or after a number with their signs, the longest first."""
    found = {phrase: sign for sign, row in table("bounds").items() for phrase in row[place]}
    return tuple(sorted(found.items(), key=lambda item: -len(item[0])))


@cache
def _words(place: str) -> tuple[str, ...]:
    """The phrases alone, most of which no text has: to look for them together takes less."""
    return tuple(phrase for phrase, _ in _phrases(place))
