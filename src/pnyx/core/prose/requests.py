"""What a request asks for, as far as its words show it: a short answer, an opinion, a text, or several parts.

The words are in `words/requests.json`, in some twenty languages. A wrong finding is worse than none, so a
text to be written needs a verb and a noun for it, and whatever is counted or has options is a short answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Literal, TypeAlias

from ..answers.reading.hints import hints_of
from ..answers.words import table
from ..caching.regex import regex
from .language import language_of

__all__ = ["RequestKind", "request_kind"]

RequestKind: TypeAlias = Literal["checkable", "open", "writing", "compound"]

_CHARS = 2_000
"""Characters of a request that are searched: what it asks for stands at its start or end."""
_FORMULA = regex(r"\d\s*[-+*/^×÷=<>]\s*\(?\d|[=≠≤≥]")
_LETTER = regex(r"[a-zà-ɏḀ-ỿЀ-ӿ]")
"""Of scripts whose words are matched whole. Elsewhere words have no spaces between them, or other letters."""


@lru_cache(maxsize=256)
def request_kind(text: str) -> RequestKind | None:
    """Return what `text` asks for, or None if no word in it shows that. As in `prompts/auto/route.md`."""
    hints, low = hints_of(text), f"{text[:_CHARS]} {text[_CHARS:][-_CHARS:]}".casefold()
    languages = _languages(low)
    if hints.options or hints.numbered:
        return "checkable"
    if _has(low, "compound", languages):
        return "compound"
    if hints.counted or hints.printed or _FORMULA.search(low) or _has(low, "measured", languages):
        return "checkable"
    if _has(low, "programs", languages) and (_has(low, "write", languages) or _has(low, "open", languages)):
        return "open"
    if _has(low, "write", languages) and _has(low, "texts", languages):
        return "writing"
    return "open" if _has(low, "open", languages) else None


def _languages(low: str) -> Sequence[str]:
    """The languages whose words count: that of the text, or all if it is not known or has no words here."""
    language = language_of(low)
    return (language,) if language in table("requests") else tuple(table("requests"))


def _has(low: str, kind: str, languages: Sequence[str]) -> bool:
    return any(_pattern(kind, language).search(low) for language in languages)


@cache
def _pattern(kind: str, language: str) -> re.Pattern[str]:
    return regex("|".join(_word(word) for word in table("requests")[language][kind]))


def _word(word: str) -> str:
    stem = word.casefold().removesuffix("-")
    if not _LETTER.match(stem):
        return re.escape(stem)
    return rf"(?<!\w){re.escape(stem)}" + ("" if word.endswith("-") or not stem[-1].isalpha() else r"(?!\w)")
