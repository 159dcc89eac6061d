"""Canonical forms of short answers for comparison: numbers, dates, times, options, yes and no, text."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from datetime import date
from typing import Literal

from ..markup.notation import plain
from ..regex import regex
from .quantities import Quantity, read_quantity

__all__ = ["Answer", "normalise", "read", "same"]

MAX_CHARS = 200
"""Characters of a short answer; a longer one is compared as text, without case and repeated spaces."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A parsed answer. text: its canonical text, which parses to itself. quantity: set for a number.

    label: the letter of an option that is followed by its text, as in `B. Paris`.
    """

    kind: Literal["date", "time", "number", "truth", "option", "text"]
    text: str
    quantity: Quantity | None = None
    label: str = ""


def normalise(value: str) -> str:
    """The canonical text of an answer: equal for equal answers in different notations.

    Numbers become exact rationals (`1,000` equals `1e3`; `50%` equals `1/2`, but not `50`) with the symbol of
    their unit, which is not converted. Dates become ISO 8601, complete or not (`2024-03-05`, `2024-03`,
    `--03-05`); `03/05/2024` stays text. Times become 24-hour times (`9:05` and `9:05 am` are `09:05`, `9 pm`
    is `21:00`), and options capital letters. Other text loses its case, its articles and the punctuation
    without meaning.
    """
    return read(value).text


def same(a: str, b: str) -> bool:
    """Whether two answers are equal: the same canonical text, or quantities that convert to each other.

    A part that only one of them has is no difference: a unit (`12`, `12 km`), or the text of an option (`B`,
    `B. Paris`). The relation is reflexive and symmetric but not transitive: `12` equals `12 km` and `12 kg`.
    """
    one, two = read(a), read(b)
    if one.quantity and two.quantity:
        return one.quantity.matches(two.quantity)
    return _spell_out(one) == _spell_out(two) or _label_matches(one, two) or _label_matches(two, one)


def _spell_out(answer: Answer) -> str:
    # Not part of the canonical text, where "sun" would become a day.
    return _WEEKDAYS.get(answer.text, answer.text)


def _label_matches(one: Answer, two: Answer) -> bool:
    return two.kind == "option" and one.label == two.text


@functools.lru_cache(maxsize=1024)
def read(value: str) -> Answer:
    """Parse `value` as the first kind that fits all of it, in the order of `Answer.kind`."""
    flat = " ".join(value.casefold().split())
    if len(flat) > MAX_CHARS:
        return Answer("text", flat)
    text = _strip_edges(value)
    label = match[1].upper() if (match := _LABELLED.match(text)) else ""
    while True:
        if found := _date(text) or _time(text) or _number(text) or _truth(text) or _option(text):
            return found
        shorter = _strip_edges(_fold_words(text))
        if shorter == text:
            return Answer("text", text, label=label)
        text = shorter


_WEEKDAYS = {
    short: f"{day}day"
    for day in ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")
    for short in (day, day[:3], day[:4], f"on {day}day")
}
_LABELLED = regex(r"([A-Za-z])(?:[.:]| -(?!\s+[A-Za-z]$))\s+\S")
_EDGES = regex(r"""^[\s"'.,;:!?]+(?<![.,](?=\d))|[\s"'.,;:!?]+$""")
_WRAPPED = regex(r"\(([^(),]*)\)|\[([^\[\],]*)\]|\{([^{},]*)\}|<([^<>,]*)>")


def _strip_edges(text: str) -> str:
    """`text` in plain notation, without surrounding punctuation and brackets."""
    while True:
        before, text = text, plain(text)
        if wrapped := _WRAPPED.fullmatch(text):
            text = next(filter(None, wrapped.groups()), text)
        text = _EDGES.sub("", text) or text
        if text == before:
            return text


_MONTHS = {
    name: n
    for n, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul",
            "august aug", "september sept sep", "october oct", "november nov", "december dec",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_D, _M, _Y = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?", rf"(?P<m>{'|'.join(_MONTHS)})\.?", r"(?P<y>\d{4})"
_DATES = tuple(
    regex(
        rf"(?:(?:on|in)\s+)?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+)?(?:the\s+)?{form}",
        re.IGNORECASE,
    )
    for form in (
        r"(?P<y>\d{4})-(?P<m>\d\d)",
        r"(?P<y>\d{4})(?P<gap>[-/.])(?P<m>\d{1,2})(?P=gap)(?P<d>\d{1,2})",
        r"(?P<one>\d{1,2})(?P<gap>[-/.])(?P<two>\d{1,2})(?P=gap)(?P<y>\d{4})",
        r"--(?P<m>\d\d)-(?P<d>\d\d)",
        rf"{_M}\s+{_D}(?:(?:\s*,\s*|\s+){_Y})?",
        rf"{_D}(?:\s+of)?[\s-]+{_M}(?:(?:\s*,\s*|[\s-]+){_Y})?",
        rf"{_M}(?:\s*,\s*|\s+(?:of\s+)?){_Y}",
        rf"{_Y}(?:\s*,\s*|\s+){_M}(?:\s+{_D})?",
    )
)
_LEAP_YEAR = 2000


def _date(text: str) -> Answer | None:
    match = next(filter(None, (form.fullmatch(text) for form in _DATES)), None)
    if match is None:
        return None
    parts = match.groupdict()
    year = parts.get("y")
    if one := parts.get("one"):
        # 03/05 is in March or in May, depending on the writer; it is a date only if one of them exists.
        orders = {(one, parts["two"]), (parts["two"], one)}
        found = {d for month, day in orders if (d := _calendar(year, month, day))}
        return Answer("date", found.pop()) if len(found) == 1 else None
    text = _calendar(year, parts["m"], parts.get("d"))
    return Answer("date", text) if text else None


def _calendar(year: str | None, month: str, day: str | None) -> str:
    """The date in ISO 8601; empty if it does not exist."""
    number = _MONTHS.get(month.lower()) or int(month)
    try:
        iso = date(int(year or _LEAP_YEAR), number, int(day or 1)).isoformat()
    except ValueError:
        return ""
    return (iso if year else f"-{iso[4:]}") if day else iso[:7]


_TIME = regex(
    r"(?:at\s+)?(?P<hour>\d{1,2})(?::(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?|(?=\s?[ap]\.?\s?m))"
    r"(?:\s?(?P<half>[ap])\.?\s?m\.?)?",
    re.IGNORECASE,
)


def _time(text: str) -> Answer | None:
    """`text` as a time of day, or as a duration in the same notation."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hour, half = int(match["hour"]), (match["half"] or "").lower()
    if hour > 24 or (half and not 1 <= hour <= 12):
        return None
    hour = hour % 12 + 12 * (half == "p") if half else hour
    return Answer("time", ":".join((f"{hour:02}", match["minute"] or "00", *filter(None, [match["second"]]))))


_MINUS = regex(r"^(?:minus|negative)\s+(?=[$€£¥₹]?\.?\d)", re.IGNORECASE)
_ORDINAL = regex(r"^(?:option|choice|number|no\.|#)\s*(?=\d)", re.IGNORECASE)


def _number(text: str) -> Answer | None:
    quantity = read_quantity(_MINUS.sub("-", _ORDINAL.sub("", text)))
    canonical = str(quantity)
    # A canonical text must parse to itself: "a dozen May" is a date, and a long text is compared as text.
    if quantity is None or len(canonical) > MAX_CHARS or _date(canonical):
        return None
    return Answer("number", canonical, quantity)


_TRUTH = regex(
    r"(yes|no|true|false)(?:\s*[,;:(]|\s+-|[.!]\s(?!\s*\d))(?!\s*(?:yes|no|true|false|and|or)\b)",
    re.IGNORECASE,
)


def _truth(text: str) -> Answer | None:
    if text.lower() in ("yes", "no", "true", "false"):
        return Answer("truth", text.lower())
    match = _TRUTH.match(text)
    return Answer("truth", match[1].lower()) if match else None


_LETTER = regex(
    r"(?:(?:option|choice|answer|alternative|letter)\s+)?[(\[]?([A-Z])(?:[)\]][.:]?|[.:])?"
    r"|(?:\(([A-Z])\)|\[([A-Z])\]|([A-Z])\)|(?:option|choice)\s+\(?([A-Z])\)?(?:\s*[.:,]|\s+-))"
    r"(?!\s*(?:(?:and|or)\b|[,&]|\(?[A-Z]\))).+",
    re.IGNORECASE,
)
_LETTERS = regex(r"\(?[A-Z]\)?(?:(?:\s*[,;&]\s*|\s+)(?:and\s+)?\(?[A-Z]\)?)+", re.IGNORECASE)


def _option(text: str) -> Answer | None:
    if match := _LETTER.fullmatch(text):
        return Answer("option", next(filter(None, match.groups())).upper())
    if _LETTERS.fullmatch(text):
        letters = re.findall(r"\b[A-Z]\b", text.upper())
        return Answer("option", ", ".join(letters))
    return None


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


def _fold_words(text: str) -> str:
    """`text` without case, articles and punctuation that only separates words."""
    words = _INITIALS.sub(lambda m: re.sub(r"[.\s]", "", m[0]), text.casefold())
    for pattern, new in _REWRITES:
        words = pattern.sub(new, words)
    return words.strip() or text
