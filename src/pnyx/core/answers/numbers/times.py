"""Times of day and durations in the same notation, in digits and in words of many languages."""

from __future__ import annotations

import re
from functools import cache

from ...caching.regex import regex
from ..words import table
from .number_words import ENGLISH, read_numeral

__all__ = ["read_time"]

MAX_CHARS = 60


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
    if spoken := _SPOKEN_DIGITS.fullmatch(text):
        hour = int(spoken["hour"])
        half = (spoken["half"] or "").replace(".", "").casefold().strip()
        name = next((name for name, n in _HOURS.items() if n == hour), "")
        time = name and _spoken(f"{spoken['minutes'].casefold()} {name}")
        late = 12 if half in ("pm", "in the evening", "in the afternoon") and time and time < "12" else 0
        return f"{int(time[:2]) + late:02}{time[2:]}" if time else None
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
_PAST += r"|(?:[a-z]+(?:-[a-z]+)?|[1-5]?\d) minutes?"
_PART = r"(?: in the (?:morning|afternoon|evening))?"
_SPOKEN = regex(
    rf"(?:(?P<past>{_PAST}) (?:past|after) |(?P<to>{_PAST}) (?:to|before) )(?P<hour>\w+)(?P<half>{_PART})"
    rf"|(?P<full>\w+) o'?clock(?P<half_full>{_PART})"
)
_SPOKEN_DIGITS = regex(
    r"(?:at )?(?P<minutes>(?:half|(?:a )?quarter|twenty-five|twenty|ten|five) (?:past|after)"
    r"|(?:a )?quarter to|(?:[a-z]+(?:-[a-z]+)?|[1-5]?\d) minutes? (?:past|after|to|before))"
    r" (?P<hour>1[0-2]|[1-9])(?P<half> ?[ap]\.?m\.?| in the (?:morning|afternoon|evening))?",
    2,
)
"""A time with an hour in digits: `quarter past 8`. `5 to 9` is a range."""
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
    minute = _minutes(match["past"] or match["to"]) if match["hour"] else 0
    if minute is None:
        return None
    total = hour % 12 * 60 + (minute if match["past"] or match["full"] else -minute) + late * 720
    if total < 60 and not (match["half"] or match["half_full"]):
        total += 720  # a quarter to one, and half past twelve
    return f"{total // 60 % 24:02}:{total % 60:02}"


def _minutes(words: str) -> int | None:
    """The minutes of `half`, `a quarter`, `twenty` or `10 minutes`; None for another word."""
    words = words.removeprefix("a ").removesuffix("s").removesuffix(" minute")
    if words.isdigit():
        return int(words)
    tens, _, ones = words.partition("-")
    if ones and tens in ENGLISH and ones in ENGLISH:
        return ENGLISH[tens] + ENGLISH[ones]
    return _MINUTES.get(words, ENGLISH.get(words))


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


@cache
def _parts_of_day() -> dict[str, str]:
    """What stands behind an hour, with the space before it -> evening or morning."""
    return {
        f" {word}": part
        for part in ("evening", "morning")
        for word in table("dates")[part]
        if len(word) > len("abend")
    }


def _spoken_abroad(text: str) -> str | None:
    """A time in words of another language: `halb drei`, `trois heures et quart du soir`."""
    if text.endswith(tuple(_parts_of_day())):
        ending = next(word for word in _parts_of_day() if text.endswith(word))
        time = _spoken_abroad(text.removesuffix(ending).rstrip())
        late = 12 if _parts_of_day()[ending] == "evening" and time and time < "12" else 0
        return f"{int(time[:2]) + late:02}{time[2:]}" if time else None
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
