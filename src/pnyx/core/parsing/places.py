"""Rankings by place: `Ranking: 1) B, 2) A` and `First place: A. Second place: C.`"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ..answers.words import table
from ..caching.regex import regex
from .attribution import is_reported
from .directives import Labels

__all__ = ["placed"]

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_HEADING = regex(r"\brank\w*\b[^:\n]{0,60}:[\s*_]*(?=[(#\d])", re.IGNORECASE)
_VOTE = regex(r"\W*(?:finali[sz]ed?|revise|split)\b", re.IGNORECASE)
"""The start of a line on which a seat votes, so that what follows is its own."""
_NUMBER = regex(
    r"[\s,;.*_]{0,4}(?:\((?P<a>\d)\)|#?(?P<b>\d)(?:[.):]|(?:st|nd|rd|th)\b:?)|#(?P<c>\d)\b)[\s*_]*"
)
_LINES = regex(r"^(?=[^\n]*[:\uff1a=])", re.MULTILINE)
_CHINESE = regex(r"第([一二三四五六七八九1-9])[名位]?")
_WORD = "|".join(_ORDINALS)
_PLACE = regex(
    rf"[\s,;.*_-]{{0,6}}(?:(?:in|my)\s+)?(?:(?P<word>{_WORD})|(?P<digit>\d)(?:st|nd|rd|th))\s+(?:place|choice|rank)"
    r"[*_]*\s*(?:[:=-]|goes to|is)[\s*_]*",
    re.IGNORECASE,
)


_PLACE_IN_WORDS = regex(
    r"[\s,;.\uff0c\uff1b\u3001\u3002*_|-]{0,6}(?P<phrase>[^\W_][^\n:\uff1a=,;.*_|]{0,24})[*_]*\s?[:\uff1a=][\s*_]*"
)
"""A place in any language before its label: `Second:`, `Platz 2:`, `第二名：`, `второе место:`."""


@cache
def _numbered_place() -> re.Pattern[str]:
    nouns = "|".join(map(re.escape, table("ordinals")["nouns"]["place"]))
    return re.compile(rf"(?:{nouns}) ?#?(\d)|(\d)(?:st|nd|rd|th|[.)])? ?(?:{nouns})?", re.IGNORECASE)


@cache
def _ordinals() -> dict[str, int]:
    """The word of a place, with and without the noun -> its number, in the languages of `ordinals.json`."""
    words = table("ordinals")
    found = {word: n for n, word in enumerate(_ORDINALS, 1)}
    for code, row in words["words"].items():
        for n, names in enumerate(row[: len(_ORDINALS)], 1):
            for name in names.split("|"):
                for ending in ("", *words["endings"].get(code, ())):
                    found.setdefault(f"{name}{ending}", n)
    return found


def placed(text: str, names: Labels, author: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the start and the labels, best first, of each run of two or more places in `text`.

    text: the author's own lines. The places must be 1, 2, … and each label stands at one of them; else there
    is no ranking.
    """
    for heading in _HEADING.finditer(text):
        yield from _run(text, heading.start(), heading.end(), _NUMBER, names, author)
    end = 0
    while (start := _PLACE.search(text, end)) is not None:
        end = start.end()
        line = text[text.rfind("\n", 0, start.start() + 1) + 1 : start.start()].strip(" *_-.,;")
        if not line or text[start.start()] in ".;\n":
            yield from _run(text, start.start(), start.start(), _PLACE, names, author)
            return
    for begins in _LINES.finditer(text):
        found = [*_run(text, begins.start(), begins.start(), _PLACE_IN_WORDS, names, author)]
        yield from found
        if found:
            return


def _run(
    text: str, start: int, at: int, form: re.Pattern[str], names: Labels, author: str
) -> Iterator[tuple[int, tuple[str, ...]]]:
    places = dict[int, str]()
    count = 0
    while place := form.match(text, at):
        behind = text[place.end() : place.end() + 60].split("\n", 1)[0]
        one = names.first(behind)
        number = _number(place)
        if one is None or not one.label or not number:
            break
        count += 1
        if number in places:
            break  # a place with two labels: there is no ranking
        places[number] = one.label
        at = place.end() + len(behind) - len(one.rest)
    order = tuple(places[n] for n in sorted(places))
    before = text[text.rfind("\n", 0, start) + 1 : start]
    if (
        count == len(places) == len(set(order)) > 1
        and sorted(places) == [*range(1, count + 1)]
        and (_VOTE.match(before) or not is_reported(before, author=author))
    ):
        yield start, order


def _number(place: re.Match[str]) -> int:
    """The number of a place; 0 for words that are none."""
    found = place.groupdict()
    if phrase := found.get("phrase"):
        phrase = " ".join(phrase.casefold().split())
        if digits := _numbered_place().fullmatch(phrase):
            return int(digits[1] or digits[2])
        if chinese := _CHINESE.fullmatch(phrase):
            return "一二三四五六七八九".find(chinese[1]) + 1 or int(chinese[1])
        first, _, noun = phrase.partition(" ")
        known = not noun or noun in table("ordinals")["nouns"]["place"] or noun == "choice"
        return _ordinals().get(first, 0) if known else 0
    if word := found.get("word"):
        return _ORDINALS.index(word.casefold()) + 1
    return int(next(filter(None, (found.get(name) for name in ("a", "b", "c", "digit")))))
