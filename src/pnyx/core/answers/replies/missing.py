"""Words that stand where an answer belongs and give none: `N/A`, `unknown`, `The answer is obvious.`

The words are in `words/no_answers.json`. The question decides: one that offers such a word, or asks for a
word, makes it an answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from ...caching.regex import regex
from ..reading.hints import hints_of
from ..words import table

__all__ = ["is_missing", "is_offered", "is_vague"]

_MISSING = regex(
    r"(?:n\s?/\s?a|n\.\s?a\.?|not (?:applicable|available)|unsure|tb[ad]"
    r"|to be (?:determined|decided|announced)"
    r"|(?:there (?:is|exists) )?no (?:(?:one|single|simple|definite|final) )?(?:short )?answer"
    r"(?: (?:exists|here|(?:to|for) .*))?|(?:i(?: am|['\u2019]m) )?not sure"
    r"|i (?:really |honestly )?(?:do not|don['\u2019]t) know(?: the answer)?"
    r"|i(?: am|['\u2019]m)? (?:cannot|can(?:['\u2019]t| not)|unable to)"
    r" (?:answer|say|tell|help|give|provide)\b.*)"
    r"(?:\s*[(;:.!].*|,\s.*|\s+-+\s.*)?",
    re.IGNORECASE | re.DOTALL,
)
"""Without `cannot be determined`, which says something of the question."""
_EDGES = " .!。！،।"
_MAX_CHARS = 40
"""Characters of the longest word of the table, and more."""


def is_missing(value: str, question: str | None) -> bool:
    """Whether `value` says that there is no answer: `N/A`, `TBD`, `I don't know`, 不知道.

    `unknown` and its kin do so only where there is a question that does not offer one of them, and `none`
    where it asks for an explanation. Without a question they may be one of its options.
    """
    low = _folded(value)
    short = len(low) <= _MAX_CHARS
    if _MISSING.fullmatch(value) or low in _sentences():
        return not (short and question and _contains(question, low))
    if not short or not question or _is_asked_for(value, question):
        return False
    if low in _all("unknown"):
        return not _has_any("unknown", question)
    return low in _all("none") and bool(_open_forms().search(question))


def is_vague(value: str, languages: Sequence[str]) -> bool:
    """Whether `value` only says what the answer is like, in one of `languages`: `obvious`, `as follows`."""
    low = _folded(value)
    return any(low in table("no_answers")[code]["vague"] for code in languages if code in table("no_answers"))


def _is_asked_for(value: str, question: str | None) -> bool:
    """Whether `question` has the word `value`, or asks for a word or for what a program prints."""
    if not question:
        return False
    hints = hints_of(question)
    return (
        hints.printed or hints.verbatim or _contains(question, _folded(value)) or _has_any("words", question)
    )


def is_offered(value: str, question: str | None) -> bool:
    """Whether `value` gives no answer by itself, and `question` makes it one."""
    low = _folded(value)
    if not question or not low or len(low) > _MAX_CHARS:
        return False
    if low in _all("unknown") and _has_any("unknown", question):
        return True
    return (low in _all("vague") or low in _all("unknown")) and _is_asked_for(value, question)


def _contains(question: str, low: str) -> bool:
    # The plain search rules nearly all words out, at a hundredth of the time.
    return (
        bool(low) and low in question.casefold() and bool(re.search(_bounded(low), question, re.IGNORECASE))
    )


@lru_cache(maxsize=256)
def _has_any(kind: str, question: str) -> bool:
    """Whether the question has one of the words of a kind."""
    return any(_contains(question, word) for word in _all(kind))


def _folded(value: str) -> str:
    return value.strip(_EDGES).casefold()


@cache
def _sentences() -> frozenset[str]:
    return frozenset(_folded(one) for words in table("answers").values() for one in words["unknown"])


@cache
def _all(kind: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_folded(word) for row in table("no_answers").values() for word in row[kind]))


@cache
def _open_forms() -> re.Pattern[str]:
    forms = "|".join(sorted(map(re.escape, _all("open")), key=len, reverse=True))
    return re.compile(rf"\A\W*(?:{forms})(?!\w)", re.IGNORECASE)


def _bounded(word: str) -> str:
    """A pattern of `word`, whose neighbours are no letters where its script has spaces."""
    spaced = word[:1].isascii() or not _joined(word[0])
    return rf"(?<!\w){re.escape(word)}(?!\w)" if spaced else re.escape(word)


def _joined(character: str) -> bool:
    """Whether a character is of a script that writes no spaces, or joins endings to words."""
    return "\u3040" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7af"
