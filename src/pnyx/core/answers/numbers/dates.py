"""Dates and times of day, in the notations of many languages, as ISO 8601."""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import cache

from ...caching.regex import regex
from ..words import months, table, weekdays
from .number_words import ENGLISH, read_numeral

__all__ = ["read_date", "read_time", "read_weekday"]

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


_CLOCK = regex(r"(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?")


@cache
def _clock_words() -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = table("dates")

    def choice(name: str) -> str:
        return "|".join(map(re.escape, sorted(words[name], key=len, reverse=True)))

    half = rf"(?:(?P<am>{choice('morning')})|(?P<pm>{choice('evening')}))"
    before = half.replace("<am>", "<am_before>").replace("<pm>", "<pm_before>")
    hours, minutes = rf"{choice('hours')}|o'?clock", choice("minutes")
    lead = rf"(?:(?:at|um|à|a las|às|kl\.?|klockan|om|в|saat|pukul)\s+)?(?:{before}\s*)?"
    clock = re.compile(
        rf"{lead}(?P<hour>\d{{1,2}})[:.](?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?"
        rf"(?:\s*(?:{half}))?(?P<unit>\s*(?:{hours})\.?)?",
        re.IGNORECASE,
    )
    words_only = re.compile(
        rf"{lead}(?P<hour>\d{{1,2}})\s*(?:(?P<unit>{hours})\.?\s*(?:(?P<minute>\d{{1,2}})\s*(?P<min_unit>{minutes})?\.?|(?P<half_hour>半))?)?"
        rf"(?:\s*{half})?",
        re.IGNORECASE,
    )
    return clock, words_only


def read_time(text: str) -> str | None:
    """A time of day, or a duration in the same notation, as `09:05` or `09:05:30`; None for other text."""
    if len(text) > MAX_CHARS:
        return None
    text = _CHINESE_HOUR.sub(_in_digits, text)
    if not any(map(str.isdigit, text)):
        return _spoken(text.casefold().removeprefix("at ").strip())
    text = _ZONE.sub("", text)
    clock, words = _clock_words()
    if match := clock.fullmatch(text):
        parts = match.groupdict()
        # 14.30 alone is a number.
        if "." in text[: match.end("minute")] and ":" not in text and not (parts["unit"] or _half(parts)):
            return None
        return _time_of(parts)
    match = words.fullmatch(text)
    if match is None:
        return None
    parts = match.groupdict()
    if not parts["unit"] and not _half(parts):
        return None
    # 14 h is a duration, and so is 1 h 30 min; 14h30, 14 Uhr and 14時30分 are times of day.
    unit = (parts["unit"] or "").casefold()
    latin = (
        unit.isascii() and unit not in ("uhr", "uur", "klockan", "ore", "o'clock", "oclock") and bool(unit)
    )
    if latin and not _half(parts) and (not parts["minute"] or parts["min_unit"] or len(parts["minute"]) != 2):
        return None
    if parts["half_hour"]:
        parts["minute"] = "30"
    return _time_of(parts)


_CHINESE_HOUR = regex(
    r"[零一二三四五六七八九十两兩〇]{1,4}(?=[点點时時分])|(?<=[点點时時])[一三]刻|(?<=[点點时時])整"
)


def _in_digits(match: re.Match[str]) -> str:
    """The Chinese numeral of an hour, or a quarter, in digits."""
    if match[0].endswith("刻"):
        return "15分" if match[0][0] == "一" else "45分"
    numeral = read_numeral(match[0])
    return str(numeral[0]) if numeral else ""


def _half(parts: dict[str, str | None]) -> str:
    """The half of the day that is written: `a`, `p` or nothing."""
    if parts["am"] or parts["am_before"]:
        return "a"
    return "p" if parts["pm"] or parts["pm_before"] else ""


def _time_of(parts: dict[str, str | None]) -> str | None:
    hour, minute, half = int(parts["hour"] or 0), int(parts["minute"] or 0), _half(parts)
    if hour > 24 or minute > 59 or (half and not 1 <= hour <= 12):
        return None
    hour = hour % 12 + 12 * (half == "p") if half else hour
    second = parts.get("second")
    # 14:30:00 says no more than 14:30.
    return ":".join((f"{hour:02}", f"{minute:02}", *([second] if second and second != "00" else [])))


_ZONE = regex(r"(?<=\d)\s*(?:UTC|GMT|Z)$")
_PAST = r"half|(?:a )?quarter|twenty-five|twenty|ten|five"
_PART = r"(?: in the (?:morning|afternoon|evening))?"
_SPOKEN = regex(
    rf"(?:(?P<past>{_PAST}) past |(?P<to>{_PAST}) to )(?P<hour>\w+)(?P<half>{_PART})"
    rf"|(?P<full>\w+) o'?clock(?P<half_full>{_PART})"
)
_MINUTES = {"half": 30, "quarter": 15, "twenty": 20, "ten": 10, "five": 5, "twenty-five": 25}
_HOURS = {name: n for name, n in ENGLISH.items() if 1 <= n <= 12}


def _spoken(text: str) -> str | None:
    """A time in English words: `noon`, `quarter past three`."""
    if text in ("noon", "midday", "12 noon"):
        return "12:00"
    if text == "midnight":
        return "00:00"
    if time := _spoken_abroad(text):
        return time
    match = _SPOKEN.fullmatch(text)
    hour = match and _HOURS.get(match["hour"] or match["full"])
    if match is None or not hour:
        return None
    late = (match["half"] or match["half_full"] or "").endswith(("afternoon", "evening"))
    minute = _MINUTES[(match["past"] or match["to"]).removeprefix("a ")] if match["hour"] else 0
    total = hour % 12 * 60 + (minute if match["past"] or match["full"] else -minute) + late * 720
    total = total if late or hour < 12 or match["to"] else total + 720
    return f"{total // 60 % 24:02}:{total % 60:02}"


@cache
def _abroad() -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = table("dates")
    before = "|".join(map(re.escape, words["half_before"]))
    parts = [
        (name, "|".join(map(re.escape, words[name])))
        for name in ("half_after", "quarter_after", "quarter_to")
    ]
    after = "|".join(f"(?P<{name}>{choice})" for name, choice in parts)
    hours = "|".join(map(re.escape, sorted(words["hours"], key=len, reverse=True)))
    return (
        re.compile(rf"(?:um |om |kl |klockan )?(?:{before}) (?P<hour>\w+)"),
        re.compile(rf"(?:à |a |las |às |alle |le )*(?P<hour>\w+)(?: (?:{hours}))? (?:{after})"),
    )


def _spoken_abroad(text: str) -> str | None:
    """A time in words of another language: `halb drei`, `trois heures et quart`."""
    before, after = _abroad()
    match = before.fullmatch(text)
    if match and match["hour"] in _HOURS:
        return None  # half three is 3:30 for some
    match = match or after.fullmatch(text)
    if match is None:
        return None
    numeral = read_numeral(match["hour"])
    if numeral is None or numeral[1] != len(match["hour"]) or not 1 <= numeral[0] <= 12:
        return None
    parts = {name: part for name, part in match.groupdict().items() if part}
    minutes = (
        30
        if "half_after" in parts
        else 15
        if "quarter_after" in parts
        else -15
        if "quarter_to" in parts
        else -30
    )
    total = (numeral[0] * 60 + minutes) % 720 or 720
    return f"{total // 60:02}:{total % 60:02}"


def read_weekday(text: str) -> int | None:
    """The number of the weekday that `text` names, 0 for Monday; None for other text."""
    words = text.casefold().removeprefix("on ").rstrip(".")
    return weekdays().get(words, _SHORT_DAYS.get(words))


_SHORT_DAYS = {
    short: n
    for n, day in enumerate(("mon", "tues", "wednes", "thurs", "fri", "satur", "sun"))
    for short in (day, day[:3], day[:4], f"{day}day")
}
