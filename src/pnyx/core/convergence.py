"""How much a round of challenges repeats the one before, by the words in common; meaning is not compared."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence

from .regex import regex

__all__ = ["jaccard", "overlap", "words"]

_MARKUP = regex(r"(?<=\])\([^()\s]*\)|<[^<>\s][^<>]*>|^[ \t>]*(?:[-*+]|\d+[.)])[ \t]+", re.MULTILINE)
"""Link targets, tags and list markers: the parts of Markdown whose letters or digits are not words."""

_WORD = regex(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"  # Scripts without spaces: each character is a word.
    r"|\d+(?:[.,]\d+)*(?![^\W\d_])"
    r"|[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+(?:'[^\W_]+)*"
)


def jaccard(a: str, b: str) -> float:
    """The words in both texts divided by the words in either, 0 to 1; 1 if neither text has a word."""
    return _similarity(_words(a), _words(b))


def overlap(now: Sequence[str], before: Sequence[str]) -> float:
    """The mean over `now` of the highest `jaccard` with any text of `before`; 0 if either is empty."""
    if not now or not before:
        return 0.0
    earlier = [_words(text) for text in before]
    return sum(max(_similarity(own, other) for other in earlier) for own in map(_words, now)) / len(now)


def words(text: str) -> list[str]:
    """The words of `text` in order, case-folded; a character of a script without spaces is a word."""
    plain = _MARKUP.sub(" ", unicodedata.normalize("NFKC", text)).replace("\u2019", "'")
    return _WORD.findall(plain.casefold())


@functools.lru_cache(maxsize=64)  # the texts of this round are `before` in the next
def _words(text: str) -> frozenset[str]:
    return frozenset(words(text))


def _similarity(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0
