"""The canonical text of words: without case, articles, markup and punctuation that only separates."""

from __future__ import annotations

import re
import unicodedata

from ..markup.notation import plain
from ..regex import regex

__all__ = ["fold_words", "strip_edges", "without_accents"]

_EDGES = regex(
    r"""^[\s"'.,;:!?\u00a1\u00bf\u060c\u061b\u061f\u06d4\u0964\u3001]+(?<![.,](?=\d))"""
    r"""|(?:[\s"'.,;:?\u060c\u061b\u061f\u06d4\u0964\u3001]|(?<![\d)])(?<!\b[a-z])!)+$"""
)
"""Marks around an answer; the ! of a factorial is none, and neither is the point of .5."""
_WRAPPED = regex(r"\(([^(),]*)\)|\[([^\[\],]*)\]|\{([^{},]*)\}|<([^<>,=]*)>")


def strip_edges(text: str) -> str:
    """`text` in plain notation, without surrounding punctuation and brackets."""
    while True:
        before, text = text, plain(text)
        if wrapped := _WRAPPED.fullmatch(text):
            text = next(filter(None, wrapped.groups()), text)
        text = _EDGES.sub("", text) or text
        if text == before:
            return text


def without_accents(text: str) -> str:
    """`text` with the base letters of Latin letters with accents: `sao paulo` of `são paulo`."""
    letters = unicodedata.normalize("NFD", text)
    bare = "".join(c for c in letters if not "\u0300" <= c <= "\u036f")
    return bare.translate(_BASE)


_BASE = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "Ø": "O", "Ł": "L", "Đ": "D"}
)

_INITIALS = regex(r"\b(?:[^\W\d_]\.\s?)+[^\W\d_]\b\.?")
_REWRITES = tuple(
    (regex(pattern), new)
    for pattern, new in (
        # Lists: brackets around three or more items have no meaning; around two they may be an interval.
        (r"^(?:\{([^{}]*,[^{}]*)\}|\[([^\[\]]*,[^\[\]]*,[^\[\]]*)\]|\(([^()]*,[^()]*,[^()]*)\))$", r"\1\2\3"),
        (r"(?<=\d)\s+(?:and|&)\s+(?=[+-]?\d)", ", "),
        (r"(,[^,]*[^\s,])(?:\s*,)?\s+(?:and|&)\s+(?=[^,]+$)", r"\1, "),
        (r'"|(?<!\w)\'|\'(?!\w)', ""),
        ("∞", "infinity"),
        (r"\s*([+×/^=<>≤≥≠≈±|→])\s*", r"\1"),
        (r"(?<=\d)\s*:\s*(?=\d)", ":"),
        (r"\bpi\b|(?<=\d)pi\b", "π"),
        (r"(?<=\d)[\s×]*(?=π)", ""),
        # A dash next to a digit or bracket or between two letters is a minus; between words, punctuation.
        (r"(?<=[\d)])\s+-\s+(?=[\w(])|(?<=[\w)])\s+-\s+(?=[\d(])", "-"),
        (r"(?<=\b[^\W\d_])\s+-\s+(?=[^\W\d_]\b)", "-"),
        (r"(?<=[^\W\d_]{2})-(?=[^\W\d_])|(?<=[^\W\d_])-(?=[^\W\d_]{2})|\s-+(?=\s)", " "),
        (r"(?<=[\d)\]}])(?!,\d{3}(?!\d))\s*[,;]\s*(?=[\d(\[{+.√π-])", ", "),
        (r"(?<![\d)\]}])[,;]|(?<=[)\]}])[,;](?!\s[\d(\[{+.√π-])", " "),
        (r"[.:!?]+(?=\s|$)", ""),
        (r"\s&\s", " and "),
        (r"^(?:(?:the|an?)\s+)+(?=\S)(?!(?:or|and)\b)|(?<=\s)(?:the|an)\s+(?=\S)", ""),
    )
)


def fold_words(text: str) -> str:
    """`text` without case, articles and punctuation that only separates words."""
    words = _INITIALS.sub(lambda m: re.sub(r"[.\s]", "", m[0]), text.casefold())
    for pattern, new in _REWRITES:
        words = pattern.sub(new, words)
    return words.strip() or text
