"""Rankings by place: `Ranking: 1) B, 2) A` and `First place: A. Second place: C.`"""

from __future__ import annotations

import re
from collections.abc import Iterator

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
_WORD = "|".join(_ORDINALS)
_PLACE = regex(
    rf"[\s,;.*_-]{{0,6}}(?:(?:in|my)\s+)?(?:(?P<word>{_WORD})|(?P<digit>\d)(?:st|nd|rd|th))\s+(?:place|choice|rank)"
    r"[*_]*\s*(?:[:=-]|goes to|is)[\s*_]*",
    re.IGNORECASE,
)


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


def _run(
    text: str, start: int, at: int, form: re.Pattern[str], names: Labels, author: str
) -> Iterator[tuple[int, tuple[str, ...]]]:
    places = dict[int, str]()
    count = 0
    while place := form.match(text, at):
        one = names.first(text[place.end() : place.end() + 60])
        if one is None or not one.label:
            break
        count += 1
        places[_number(place)] = one.label
        at = place.end() + len(text[place.end() : place.end() + 60]) - len(one.rest)
    order = tuple(places[n] for n in sorted(places))
    before = text[text.rfind("\n", 0, start) + 1 : start]
    if (
        count == len(places) == len(set(order)) > 1
        and sorted(places) == [*range(1, count + 1)]
        and (_VOTE.match(before) or not is_reported(before, author=author))
    ):
        yield start, order


def _number(place: re.Match[str]) -> int:
    found = place.groupdict()
    if word := found.get("word"):
        return _ORDINALS.index(word.casefold()) + 1
    return int(next(filter(None, (found.get(name) for name in ("a", "b", "c", "digit")))))
