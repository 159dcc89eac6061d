"""How much a round of challenges repeats the one before, by the words in common; meaning is not compared."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence

from ..caching.regex import regex
from ..caching.remembering import CHARACTERS

__all__ = ["overlap", "words"]

_MARKUP = regex(r"(?<=\])\([^()\s]*\)|<[^<>\s][^<>]*>|^[ \t>]*(?:[-*+]|\d+[.)])[ \t]+", re.MULTILINE)
"""Link targets, tags and list markers: the parts of Markdown whose letters or digits are not words."""
_MARKER = regex(r"[ \t>]*(?:[-*+]|\d+[.)])[ \t]+")
"""A list marker at the start of a line."""
_ASCII_WORD = regex(r"\d+(?:[.,]\d+)*(?![a-z])|[a-z\d]+(?:'[a-z\d]+)*")
"""`_WORD` in a text that is in lower case and has only ASCII."""

_WORD = regex(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"  # Scripts without spaces: each character is a word.
    r"|\d+(?:[.,]\d+)*(?![^\W\d_])"
    r"|[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+(?:'[^\W_]+)*"
)


def overlap(now: Sequence[str], before: Sequence[str]) -> float:
    """How much the texts of `now` repeat those of `before`, 0 to 1; 0 if there are none of either.

    The mean over `now` of the highest similarity to a text of `before`: the words in both divided by the
    words in either (Jaccard), and 1 if neither text has a word.
    """
    if not now or not before:
        return 0.0
    earlier = [_words(text) for text in before]
    return sum(max(_similarity(own, other) for other in earlier) for own in map(_words, now)) / len(now)


def words(text: str) -> tuple[str, ...]:
    """The words of `text` in order, case-folded; a character of a script without spaces is a word."""
    return _recent_words(text) if len(text) <= CHARACTERS else _read_words(text)


def _read_words(text: str) -> tuple[str, ...]:
    if not text.isascii():
        plain = _MARKUP.sub(" ", unicodedata.normalize("NFKC", text)).replace("\u2019", "'")
        return tuple(_WORD.findall(plain.casefold()))
    # Most texts are in ASCII without links or tags: then no pattern is tried at each of their characters.
    if "](" in text or "<" in text:
        plain = _MARKUP.sub(" ", text)
    else:
        plain = "\n".join(map(_without_marker, text.split("\n")))
    return tuple(_ASCII_WORD.findall(plain.lower()))


_recent_words = functools.lru_cache(maxsize=16)(_read_words)
"""A reply is read several times, one right after the other."""


def _without_marker(line: str) -> str:
    marker = _MARKER.match(line)
    return f" {line[marker.end() :]}" if marker else line


@functools.lru_cache(maxsize=64)  # the texts of this round are `before` in the next
def _words(text: str) -> frozenset[str]:
    return frozenset(words(text))


def _similarity(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0
