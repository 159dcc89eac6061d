"""Yes, no, true and false in many languages, alone or before an explanation."""

from __future__ import annotations

import re
from functools import cache

from ...caching.regex import regex
from ..words import table

__all__ = ["read_truth"]

_AND_OR = regex(r"(?:and|or)\b", re.IGNORECASE)


@cache
def _explained() -> re.Pattern[str]:
    """A word of the table, what separates it from an explanation, and a word of the table behind that."""
    words = "|".join(map(re.escape, sorted(_words(), key=len, reverse=True)))
    return re.compile(
        rf"({words})(?:\s*[,;:(，、；：（،؛]|\s+[-–—]|[.!。！।۔]\s?(?!\s*\d)(?=\s|[^\x00-\x7f]))\s*(?P<then>(?:{words})(?!\w))?",
        re.IGNORECASE,
    )


@cache
def _condition() -> re.Pattern[str]:
    """How a condition starts: `yes, if it rains` is not the same as `yes, if it snows`."""
    words = sorted(table("truths")["conditions"], key=len, reverse=True)
    return re.compile(
        "|".join(re.escape(word) + (r"\b" if word[-1] < _UNSPACED else "") for word in words), 2
    )


_UNSPACED = "\u0e00"
"""From Thai on, scripts that put no spaces between words."""


@cache
def _words() -> dict[str, str]:
    truths = table("truths")
    return {word: truth for truth in ("yes", "no", "true", "false") for word in truths[truth]}


def read_truth(text: str) -> str | None:
    """`yes`, `no`, `true` or `false`; None for other text."""
    folded = text.casefold().strip()
    if truth := _words().get(folded):
        return truth
    if not any(mark in text for mark in _MARKS):
        return None
    match = _explained().match(text)
    if match is None or _AND_OR.match(text, match.end()) or _condition().match(text, match.end()):
        return None
    truth = _words()[match[1].casefold()]
    # `yes, that is right` is one answer; `yes, no` and `true, true` are lists.
    then = match["then"] and _words()[match["then"].casefold()]
    return truth if not then or (truth, then) in _CONFIRMED else None


_CONFIRMED = {("yes", "true"), ("no", "false")}
_MARKS = ",;:(，、；：（،؛-–—.!。！।۔"
