"""What an answer repeats of its question: `port 443` for `Which port?`, a date where a year is asked for."""

from __future__ import annotations

from functools import cache, lru_cache

from ...caching.regex import regex
from ..numbers.dates import read_date
from ..reading.parse import read
from ..words import table

__all__ = ["without_repeated"]

_NAMED = regex(
    r"(?:the )?(?P<noun>[^\W\d_]{3,20}(?: [^\W\d_]{3,20}){0,2}?)(?: (?:no\.|nr\.|number|nummer|#))?(?: is|:)?"
    r" ?#?(?P<value>-?\d[\w.]{0,20})",
    2,
)
_ASKS = regex(
    r"\b(?:which|what|welche[mnrs]?|quel(?:le)?s?|qué|cuál(?:es)?|qual|quale|welke?|jak(?:i|a|ie|im|iej)"
    r"|któr\w{1,3}|как(?:ой|ая|ое|ом|им)|який|яка|яке|якому|vilken|vilket|hangi)\b(?P<rest>[^.?!\n]{0,80})",
    2,
)
_DATE_WITH_YEAR = regex(r"(?P<year>\d{4})-\d\d(?:-\d\d)?")
MAX_CHARS = 60
"""Characters of an answer that repeats something."""


def without_repeated(text: str, other: str, question: str) -> str:
    """`text` as `other` has it, without what the question already says; else `text` as it is.

    A number without the noun that the question asks for, or the year of a date. Whatever else `text` says
    remains.
    """
    if not other[:1].isdigit() or max(len(text), len(other)) > MAX_CHARS:
        return text
    if other.isdigit() and (year := _year(text)) and _asks_for_year(question):
        return year
    named = _NAMED.fullmatch(text.strip(" .!*"))
    # `minus 5` is a number of its own.
    if named and read(text).quantity is None and _asks_for(named["noun"].casefold(), question):
        return named["value"]
    return text


def _year(text: str) -> str:
    found = _DATE_WITH_YEAR.fullmatch(read_date(text) or "")
    return found["year"] if found else ""


@lru_cache(256)
def _asks_for_year(question: str) -> bool:
    folded = question.casefold()
    return any(words in folded for words in table("dates")["asked_year"])


@lru_cache(256)
def _asks_for(noun: str, question: str) -> bool:
    """Whether the question asks which one `noun` is. `before` is no noun, and `not` even less."""
    if _common_words() & set(noun.split()):
        return False
    named = regex(rf"(?:^|[^\w]){noun}s?(?![\w-])", 2)
    return any(named.search(match["rest"]) for match in _ASKS.finditer(question[:2000]))


@cache
def _common_words() -> frozenset[str]:
    """Words that no question asks for: the commonest ones, and those that bound or deny a number."""
    common = {word for words in table("languages")["words"].values() for word in words}
    bounds = {
        word
        for row in table("bounds").values()
        for phrases in row.values()
        for phrase in phrases
        for word in phrase.split()
    }
    denials = {word for words in table("answers").values() for word in words.get("deny", ())}
    return frozenset(common | bounds | denials)
