"""Dates and times of day, in the notations of many languages, as ISO 8601."""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import cache

from ...caching.regex import regex
from ..words import months, table, weekdays
from .number_words import read_numeral

__all__ = ["differ_in_weekday", "read_date", "read_weekday"]

_NUMERIC = tuple(
    regex(form)
    for form in (
        r"(?P<y>\d{4})-(?P<m>\d\d)",
        r"(?P<y>\d{4})(?P<gap>[-/.])(?P<m>\d{1,2})(?P=gap)(?P<d>\d{1,2})",
        r"(?P<one>\d{1,2})(?P<gap>[-/.])(?P<two>\d{1,2})(?P=gap)(?P<y>\d{4})",
        r"--(?P<m>\d\d)-(?P<d>\d\d)",
    )
)
_MONTH = regex(r"(?P<m>0[1-9])[/.](?P<y>(?:1[5-9]|20)\d\d)")
"""A month with its zero, `03/2020`; `3/2020` is a fraction."""
_WEEK = regex(r"(?P<y>[12]\d{3})-?W(?P<week>\d\d)-?(?P<day>[1-7])")
_DAY_OF_YEAR = regex(r"(?P<y>[12]\d{3})-(?P<day>[0-3]\d\d)")
"""The other dates of ISO 8601: a day of a week and a day of a year."""
_PIECE = regex(
    r"\s*(?:(?P<number>\d{1,4})|(?P<word>(?:[^\W\d_]|[\u0300-\u036f\u05f3\u064b-\u0655\u0900-\u0963\u0970-\u0dff\u0e31-\u0e4e])+(?:['’.-][^\W\d_]+)*\.?)|(?P<mark>[,.،/-]|º|ª|°))"
)
_LEAP_YEAR = 2000
MAX_CHARS = 60


def read_date(text: str, *, day_first: bool = False) -> str | None:
    """The date in ISO 8601, complete or not (`2024-03`, `--03-05`), or a year with `BC`; None for other text.

    A date in digits is read only if one order of day and month is possible: `03/05/2024` stays text unless
    `day_first`.
    """
    if len(text) > MAX_CHARS:
        return None
    text = _CASE_ENDING.sub("", text)
    if "年" in text or "月" in text:
        text = _CHINESE_PART.sub(_part_in_digits, text)
    if not any(map(str.isdigit, text)) and (place := _DAY_IN_WORDS.search(text)):
        text = f"{text[: place.start()]}{_PLACES[place[1].casefold()]}{text[place.end() :]}"
    if not any(map(str.isdigit, text)):
        return None
    for form in _NUMERIC:
        if match := form.fullmatch(text):
            return _numeric(match.groupdict(), day_first)
    if month := _MONTH.fullmatch(text):
        return f"{month['y']}-{month['m']}"
    if iso := _other_iso(text):
        return iso
    if year := _before_christ(text):
        return year
    return _in_words(text)


_CASE_ENDING = regex(r"(?<=\d)['’](?:[td][ea]n?|y?[ea]|n?[iıuü]n|y?[iıuü])$")
"""What Turkish writes behind a year: `29 Ekim 1923'te`."""
_CHINESE_PART = regex(r"[〇零一二三四五六七八九十]{1,4}(?=[年月日号號])")


def _part_in_digits(match: re.Match[str]) -> str:
    numeral = read_numeral(match[0])
    return str(numeral[0]) if numeral else match[0]


def _other_iso(text: str) -> str | None:
    """The date of `2024-W10-2` or `2024-065`; None if there is none."""
    try:
        if week := _WEEK.fullmatch(text):
            return date.fromisocalendar(int(week["y"]), int(week["week"]), int(week["day"])).isoformat()
        if day := _DAY_OF_YEAR.fullmatch(text):
            found = date(int(day["y"]), 1, 1) + timedelta(int(day["day"]) - 1)
            return found.isoformat() if found.year == int(day["y"]) else None
    except ValueError:
        return None
    return None


_ONES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_TEENS = ("tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth")
_PLACES = {
    name: n
    for n, name in enumerate(
        (
            *(*_ONES, *_TEENS, "eighteenth", "nineteenth", "twentieth"),
            *(f"twenty-{one}" for one in _ONES),
            *("thirtieth", "thirty-first"),
        ),
        1,
    )
}
_DAY_IN_WORDS = regex(rf"\b({'|'.join(sorted(_PLACES, key=len, reverse=True))})\b(?= of [A-Z]|$)", 2)


@cache
def _eras() -> tuple[re.Pattern[str], re.Pattern[str]]:
    # The full stop at the end may be that of the sentence.
    names = {name for word in table("dates")["before_christ"] for name in (word, word.rstrip("."))}
    words = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return (
        re.compile(rf"(\d{{1,4}})(?:\s?年)?\s*(?:{words})\.?", re.IGNORECASE),
        re.compile(rf"(?:{words})\s*(\d{{1,4}})(?:\s?[年년])?", re.IGNORECASE),
    )


def _before_christ(text: str) -> str | None:
    match = next((found for form in _eras() if (found := form.fullmatch(text))), None)
    return f"{int(match[1])} BC" if match else None


def _numeric(parts: dict[str, str | None], day_first: bool) -> str | None:
    year, one, two = parts.get("y"), parts.get("one"), parts.get("two")
    if one and two:
        if day_first or parts.get("gap") == ".":
            # Nobody who writes points between them writes the month first.
            ordered = _calendar(year, int(two), one)
            if ordered:
                return ordered
        # 03/05 is in March or in May, depending on the writer.
        found = {d for month, day in {(one, two), (two, one)} if (d := _calendar(year, int(month), day))}
        return found.pop() if len(found) == 1 else None
    return _calendar(year, int(parts["m"] or 0), parts.get("d"))


def _calendar(year: str | None, month: int, day: str | None) -> str | None:
    """The date in ISO 8601; None if it does not exist."""
    try:
        iso = date(int(year or _LEAP_YEAR), month, int(day or 1)).isoformat()
    except ValueError:
        return None
    return (iso if year else f"-{iso[4:]}") if day else iso[:7]


@cache
def _roles() -> tuple[dict[str, str], dict[str, str], frozenset[str], tuple[str, ...]]:
    words = table("dates")
    return words["after"], words["before"], frozenset(words["fillers"]), tuple(words["ordinals"])


def _in_words(text: str) -> str | None:
    """A date with the name of its month, or with 年, 月 and 日 or their kin after its numbers."""
    after, before, fillers, ordinals = _roles()
    found: dict[str, str] = {}
    loose: list[str] = []
    role, end, named = "", 0, False
    pieces = _pieces(text)
    if pieces is None:
        return None
    for n, (kind, piece) in enumerate(pieces):
        behind = pieces[n + 1][1].casefold() if n + 1 < len(pieces) else ""
        if kind == "number":
            place = after.get(behind) or role
            role = ""
            if place:
                if place in found:
                    return None
                found[place], named = piece, named or place != "year"
            else:
                loose.append(piece)
        elif kind == "word":
            word = piece.casefold()
            bare = word.rstrip(".")
            follows = n > 0 and pieces[n - 1][0] == "number"
            if word in before:
                role = before[word]
            elif month := months().get(bare):
                if "month" in found:
                    return None
                found["month"], named = str(month), True
            elif not (
                (follows and (word in after or word in ordinals or bare in ordinals))
                or word in fillers
                or bare in weekdays()
            ):
                return None
        elif piece not in ",.،-/" and piece not in ordinals:
            return None
        end = n
    return _placed(found, loose) if named and "month" in found and end else None


def _placed(found: dict[str, str], loose: list[str]) -> str | None:
    for piece in loose:
        role = "year" if len(piece) == 4 else "day"
        if role in found or len(piece) == 3:
            return None
        found[role] = piece
    if "year" in found and len(found["year"]) != 4:
        return None
    if not {"year", "day"} & found.keys():
        return None
    return _calendar(found.get("year"), int(found["month"]), found.get("day"))


def _pieces(text: str) -> list[tuple[str, str]] | None:
    out: list[tuple[str, str]] = []
    end = 0
    while match := _PIECE.match(text, end):
        kind = match.lastgroup or ""
        out.append((kind, match[kind]))
        end = match.end()
    return out if not text[end:].strip() and len(out) <= 14 else None


def read_weekday(text: str) -> int | None:
    """The number of the weekday that `text` names, 0 for Monday; None for other text."""
    words = text.casefold().removeprefix("on ").rstrip(".")
    return weekdays().get(words, _SHORT_DAYS.get(words))


def differ_in_weekday(one: str, two: str) -> bool:
    """Whether two dates name two weekdays: `Friday, 14 March` is no `Thursday, 14 March`."""
    mine, theirs = (
        {day for word in _LETTERS.findall(text) if (day := read_weekday(word)) is not None}
        for text in (one, two)
    )
    return bool(mine) and bool(theirs) and mine.isdisjoint(theirs)


_LETTERS = regex(r"[^\W\d_]+")
_SHORT_DAYS = {
    short: n
    for n, day in enumerate(("mon", "tues", "wednes", "thurs", "fri", "satur", "sun"))
    for short in (day, day[:3], day[:4], f"{day}day")
}
