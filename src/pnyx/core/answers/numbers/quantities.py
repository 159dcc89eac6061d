"""Exact numbers from text: `1,000`, `3/4`, `50%`, `$1.2 million`, `twelve`, `1 h 30 min`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from ...caching.regex import regex
from ..words import table
from .number_words import ENGLISH, read_numeral
from .spelled import BELOW_FIRST, read_spelled
from .units import NONE, Unit, read_unit

__all__ = ["Quantity", "read_quantity"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact number with its unit; `units.NONE` if it has none.

    way: the direction of a difference, as in `3 hours later` and `$20 profit`.
    """

    value: Fraction
    unit: Unit = NONE
    way: Literal["", "more", "less"] = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (str(self.value), self.unit.symbol, self.way)))

    @property
    def is_measured(self) -> bool:
        """Whether the unit is one of measure or money, rather than the name of what is counted."""
        return any(not name.startswith("count of") for name, _ in self.unit.dimensions)

    @property
    def _kelvin(self) -> Fraction | None:
        """The temperature in kelvin; None if the unit is not one of temperature."""
        scale = _TEMPERATURES.get(self.unit.symbol)
        return (self.value + scale[0]) * scale[1] if scale else None

    def matches(self, other: Quantity) -> bool:
        """Whether the quantities are equal in units that convert.

        A unit or a way that only one of them has is no difference.
        """
        if {self.way, other.way} == {"more", "less"}:
            return False
        if NONE in (self.unit, other.unit):
            return self.value == other.value
        if (mine := self._kelvin) is not None and (theirs := other._kelvin) is not None:
            return mine == theirs
        return any(
            mine.dimensions == theirs.dimensions and self.value * mine.factor == other.value * theirs.factor
            for mine in self.unit.meanings
            for theirs in other.unit.meanings
        )


_TEMPERATURES = {
    "°C": (Fraction("273.15"), Fraction(1)),
    "°F": (Fraction("459.67"), Fraction(5, 9)),
    "K": (Fraction(0), Fraction(1)),
}
"""Symbol -> what is added, and then the factor, to get kelvin."""

_CODES = (
    "usd", "eur", "gbp", "jpy", "cny", "inr", "chf", "cad", "aud",
    "rub", "krw", "brl", "try", "pln", "bdt", "vnd", "sek", "nok", "dkk", "mxn",
)  # fmt: skip
_LEAD = regex(
    r"(?:approximately|approx\b\.?|about|around|roughly|circa|exactly|precisely|just|equals|equal to|the"
    r"|a total of|(?:in|im|en|the year|year|jahr|année|año|im jahr|en el año|em|nel|in the year|ad|ce|anno)"
    r"(?=\s+\d{3,4}\b)|(?-i:AD|A\.D\.|CE)(?=\s+\d{1,4}\b)|an?(?=\s+(?:hundred|thousand|million|billion|trillion|dozen|half)\b))\s+"
    r"|[~≈≃]\s*",
    re.IGNORECASE,
)
_ENCLOSED = regex(r"(?<![\w)])\(\s*([+-]?[\d.,]+)\s*\)(?!\s*\^|[\w(!])")
_SIGNED = regex(
    rf"([+-]?)\s*((?:us|au|a|ca|c|r)?\$|rs\.?(?=\s*\d)|[€£¥₹₽₩₺৳₫]|(?:{'|'.join(_CODES)})\b)?\s*([+-]?)\s*",
    re.IGNORECASE,
)
_GROUPS = r"\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}|\d{1,3}(?: \d{3})+|\d{1,3}(?:['_]\d{3})+"
_DECIMAL = rf"(?:(?:(?:{_GROUPS}|\d+)(?:\.\d+|\.(?!\w))?|\.\d+)(?!\d|[ ,'_.]\d))"
_TENS = r"(?:e|\s*[\u00d7x]\s*10\s*\^)\s*\(?(?P<tens>[+-]?\d{1,4})\)?(?!\d)"
_FORMS = tuple(
    regex(form, re.IGNORECASE)
    for form in (
        r"(?P<whole>\d+)\s+(?:and\s+)?(?P<above>\d+)\s*/\s*(?P<below>\d+)(?![\d./])",
        r"(?P<base>\d{1,9})\s*\^\s*\(?(?P<power>[+-]?\d{1,4})\)?(?![\d./])",
        rf"(?P<above>{_DECIMAL})\s*/\s*(?P<below>[+-]?{_DECIMAL})(?!\s*[/^])",
        rf"(?P<above>{_DECIMAL}){_TENS}",
        rf"(?P<above>{_DECIMAL})",
    )
)
_EUROPEAN = regex(r"(?<![\d.,])\d{1,3}(?:(?:\.\d{3})+,\d+|(?:\.\d{3}){2,})(?![\d.,])")
_YEAR = regex(r"(?<=\d{4})年$|(?<=\d) (?:AD|CE|A\.D\.|C\.E\.)$")
_DECADE = regex(r"\d{3}0s\b")
_NAMED_DECADE = regex(r"the ['’]?\d0s", 2)
_MAX_DIGITS = 200
"""Digits of the longest power; a longer one stays text, since it would cost memory and time."""

_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
           "lakh": 10**5, "crore": 10**7, "dozen": 12, "k": 10**3, "bn": 10**9, "mn": 10**6}  # fmt: skip
_SCALE_ALONE = regex(r"(?:hundred|thousand|million|billion|trillion|dozen)\b", re.IGNORECASE)
_SCALE = regex(
    r"\s*(?:(hundred|thousand|million|billion|trillion|lakh|crore|dozen)s?|(bn|mn))\b|(k)\b", re.IGNORECASE
)
_MONEY_SCALES = {"m": 10**6, "mm": 10**6, "b": 10**9, "t": 10**12}
_MONEY_SCALE = regex(r"\s?(mm|m|b|t)\b", re.IGNORECASE)
_CAPITAL_SCALES = {"M": 10**6, "MM": 10**6, "G": 10**9}
_CAPITAL_SCALE = regex(r"(?:\s?(MM?)|(G))(?=$|\s)")
"""Capitals only: `5m` is five metres, and `5M` five million."""
_PERCENT = regex(
    r"\s*(?:%|per\s?cent\b|pct\b\.?|prozent\b|pour\s?cent\b|por\s?(?:ciento|cento)\b|per\s?cento\b"
    r"|procent\w*|процент\w*|відсот\w*|パーセント|퍼센트|프로|प्रतिशत|درصد|فیصد|بالمئة|بالمائة"
    r"|في المئة|في المائة|শতাংশ|phần trăm|persen\b|เปอร์เซ็นต์|(‰|per\s?mille\b))(?!\s*points?\b)",
    re.IGNORECASE,
)
_PERCENT_BEFORE = regex(r"(?:%|yüzde\b|百分之|ร้อยละ)\s*(?=\S)", re.IGNORECASE)
"""The sign before its number, as in Turkish and Chinese."""
_WAY = regex(
    r"\b(?:(?P<more>more|later|after|profit|gain|surplus)|less|fewer|earlier|before|ago|loss|debt|deficit)\b",
    re.IGNORECASE,
)
_ONLY_APART = frozenset("tydbk")
"""Symbols that are units only after a space: `3t` is usually a product, `4K` and `7B` a size."""

_LARGE = {name: _SCALES[name] for name in ("thousand", "million", "billion", "trillion")}
_SPELLED_WORD = regex(r"(?:^|(?<=\w)(?: |-|, ))([a-z]+)(?![^\W_])", re.IGNORECASE)
_PARTS = {
    name: Fraction(1, n)
    for n, names in {
        2: "half halves", 3: "third thirds", 4: "quarter quarters fourth fourths", 5: "fifth fifths",
        6: "sixth sixths", 7: "seventh sevenths", 8: "eighth eighths", 9: "ninth ninths",
        10: "tenth tenths", 100: "hundredth hundredths", 1000: "thousandth thousandths",
        10**6: "millionth millionths", 10**9: "billionth billionths", 10**12: "trillionth trillionths",
    }.items()
    for name in names.split()
}  # fmt: skip
_PART = regex(rf"[ -]({'|'.join(_PARTS)})\b", re.IGNORECASE)
_ARTICLE = regex(r"an?(?= )", re.IGNORECASE)
_AND_A_HALF = regex(r"\s+and\s+(?:a|one)[ -]half\b", re.IGNORECASE)


def read_quantity(text: str, decimal: str = "") -> Quantity | None:
    """The number in `text` with its unit; None if the whole text is not one number.

    text: in plain notation (see `notation.plain`), at most a few hundred characters. `5 ft 3 in` is 63 in.
    decimal: the decimal mark, `.` or `,`; without it, a comma is one unless three digits are behind it.
    """
    if height := _FEET.fullmatch(text):
        text = f"{height[1]} ft {height[2]} in"
    if angle := _MINUTES_OF_ARC.fullmatch(text):
        parts = (Fraction(angle[1]), Fraction(angle[2]) / 60, Fraction(angle[3] or 0) / 3600)
        return Quantity(sum(parts, Fraction()), read_unit("°") or NONE)
    if before := _PERCENT_BEFORE.match(text):
        text = f"{text[before.end() :]}%"
    if any(map(text.__contains__, BELOW_FIRST)) and (part := read_spelled(text)) is not None:
        return Quantity(part)
    if decimal == ",":
        # Where the decimal mark is a comma, a billion is a million millions.
        text = _LONG_SCALE.sub("trillion", text)
    if "," in text or (decimal == "," and "." in text):
        text = _with_points(text, decimal)
    return _single(text) or _compound(text)


_FEET = regex(r"(\d{1,2})\s?['′’]\s?(\d{1,2}(?:\.\d+)?)(?:\s?(?:[\"″”]|''))?")
_MINUTES_OF_ARC = regex(
    r"(\d{1,3})\s?°\s?([0-5]?\d(?:\.\d+)?)\s?['′’]?(?:\s?([0-5]?\d(?:\.\d+)?)\s?(?:[\"″”]|'')?)?"
)
_LONG_SCALE = regex(r"\b(?:billion|billón|billones)\b", re.IGNORECASE)
_COMMA_NUMBER = regex(r"(?<![\d.,])(\d{1,3}(?:[ .']\d{3})+|\d*),(\d+)(?![\d.,]\d|\d)")
_GROUPED_BY_POINTS = regex(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?![\d.,]\d|\d)")


def _with_points(text: str, decimal: str) -> str:
    """`text` with decimal points in place of decimal commas: `1 234,56` becomes `1234.56`."""
    if decimal == "." or "(" in text or "[" in text:
        return text

    def pointed(match: re.Match[str]) -> str:
        whole, places = match[1], match[2]
        if (
            not decimal
            and len(places) == 3
            and whole.isdigit()
            and len(whole) < 4
            and not whole.startswith("0")
        ):
            return match[0]
        return f"{re.sub(r'[^0-9]', '', whole) or 0}.{places}"

    if "," in text:
        text = _COMMA_NUMBER.sub(pointed, text)
    elif decimal == ",":
        text = _GROUPED_BY_POINTS.sub(lambda m: m[0].replace(".", ""), text)
    return text


_PIECE = regex(r"(?:(?:\s*,\s*|\s+)(?:and\s+)?|(?<=[a-z])(?=\d))?(\d[\d.,/]*\s*[a-z]+)\.?", re.IGNORECASE)
_MINUTES = regex(r"(?<=h)(\s*\d+)\s*m(?=$|\s*\d)", re.IGNORECASE)


def _compound(text: str) -> Quantity | None:
    """Numbers in successively smaller units that convert, as one number in the smallest."""
    lead, end, parts = _LEAD.match(text), 0, list[Quantity]()
    text = _MINUTES.sub(r"\1 min", text[lead.end() :] if lead else text)
    while match := _PIECE.match(text, end):
        part, end = _single(match[1]), match.end()
        if part is None or not part.unit.dimensions:
            return None
        parts.append(part)
    return _summed(parts) if parts and end == len(text) else None


def _summed(parts: list[Quantity]) -> Quantity | None:
    for first in parts[0].unit.meanings:
        kind = first.dimensions
        units = [next((m for m in p.unit.meanings if m.dimensions == kind), NONE) for p in parts]
        if all(unit is not NONE for unit in units) and all(a.factor > b.factor for a, b in pairwise(units)):
            total = sum(p.value * unit.factor for p, unit in zip(parts, units, strict=True))
            return Quantity(total / units[-1].factor, units[-1])
    return None


def _single(text: str) -> Quantity | None:
    if _NAMED_DECADE.fullmatch(text):
        return None
    while lead := _LEAD.match(text):
        text = text[lead.end() :]
    text = _ENCLOSED.sub(r"\1", _YEAR.sub("", text))
    if inner := re.fullmatch(r"([+-]?)\s*\(([^()]*)\)", text):
        text = inner[1] + inner[2].strip()
    signed = _SIGNED.match(text)
    if signed is None or (signed[1] and signed[3]):
        return None
    found = _magnitude(text[signed.end() :])
    if found is None:
        return None
    value, rest = _scaled(*found, money=bool(signed[2]))
    unit = _unit(rest, (signed[2] or "").lower())
    if unit is None:
        return None
    return Quantity(-value if "-" in (signed[1], signed[3]) else value, unit, _way(rest, unit))


def _magnitude(text: str) -> tuple[Fraction, str] | None:
    """The unsigned number at the start of `text`, and the rest."""
    if _DECADE.match(text):
        return None
    if european := _EUROPEAN.match(text):
        number = european[0].replace(".", "").replace(",", ".")
        return Fraction(number), text[european.end() :]
    for form in _FORMS:
        if match := form.match(text):
            try:
                value = _value(match.groupdict())
            except ZeroDivisionError:
                return None
            return None if value is None else _parts(value, text[match.end() :])
    if text.lower() == "half":
        return Fraction(1, 2), ""
    if _SCALE_ALONE.match(text):
        return Fraction(1), text
    if (words := read_spelled(text)) is not None:
        return words, ""
    if spelled := _spelled(text):
        return spelled
    numeral = read_numeral(text)
    return (Fraction(numeral[0]), text[numeral[1] :]) if numeral else None


def _value(parts: dict[str, str | None]) -> Fraction | None:
    """The number in the groups of one of `_FORMS`; None if it is too long. Raises `ZeroDivisionError`."""
    base, power, tens = parts.get("base"), int(parts.get("power") or 0), int(parts.get("tens") or 0)
    if base:
        return Fraction(int(base)) ** power if len(base) * abs(power) <= _MAX_DIGITS else None
    if abs(tens) > _MAX_DIGITS:
        return None
    value = _decimal(parts.get("above")) / _decimal(parts.get("below"))
    return (value + int(parts.get("whole") or 0)) * Fraction(10) ** tens


def _decimal(text: str | None) -> Fraction:
    return Fraction(re.sub(r"[ ,'_]", "", text).rstrip(".")) if text else Fraction(1)


def _spelled(text: str) -> tuple[Fraction, str] | None:
    total, group, end, before = 0, None, 0, ""
    while word := _SPELLED_WORD.match(text, end):
        name = word[1].lower()
        value = ENGLISH.get(name)
        if value is not None and (group is None or _extends(group, value)):
            group = (group or 0) + value
        elif name == "hundred" and group and group < 100:
            group *= 100
        elif name in _LARGE and group:
            total, group = total + group * _LARGE[name], None
        elif not (name == "and" and (before == "hundred" or before in _LARGE)):
            break
        end, before = word.end(), name
    if before == "and":
        end -= len(" and")
    if end:
        return _parts(Fraction(total + (group or 0)), text[end:])
    part = _PART.fullmatch(text, len(article[0])) if (article := _ARTICLE.match(text)) else None
    return (_PARTS[part[1].lower()], "") if part else None


def _extends(group: int, value: int) -> bool:
    """Whether `value` extends a number in words: five extends a hundred and twenty, but not three."""
    tens, ones = divmod(group % 100, 10)
    return group > 0 and not ones and (not tens or (tens > 1 and value < 10))


def _parts(value: Fraction, rest: str) -> tuple[Fraction, str]:
    """The number with the fraction in words after it: `two thirds`, `one and a half`."""
    if match := _PART.match(rest):
        return value * _PARTS[match[1].lower()], rest[match.end() :]
    if match := _AND_A_HALF.match(rest):
        return value + Fraction(1, 2), rest[match.end() :]
    return value, rest


def _scaled(value: Fraction, rest: str, *, money: bool) -> tuple[Fraction, str]:
    """The number with the `million` or the `%` after it; a small `m` is a million only for money."""
    while match := _SCALE.match(rest):
        value, rest = value * _SCALES[match[match.lastindex or 0].lower()], rest[match.end() :]
    value, rest = _scaled_in_words(value, rest)
    if money and (match := _MONEY_SCALE.match(rest)):
        value, rest = value * _MONEY_SCALES[match[1].lower()], rest[match.end() :]
    elif match := _CAPITAL_SCALE.match(rest):
        value, rest = value * _CAPITAL_SCALES[match[1] or match[2]], rest[match.end() :]
    if match := _PERCENT.match(rest):
        value, rest = value / (1000 if match[1] else 100), rest[match.end() :]
    return value, rest


_NEXT_WORD = regex(r"\s*([^\W\d_]+(?: millones)?)\.?(?:\s+(?:de|di|d')(?=\s|\w))?")
_DIGITS = regex(r"\d+(?:\.\d+)?")


def _scaled_in_words(value: Fraction, rest: str) -> tuple[Fraction, str]:
    """The number with the scale after it in any language: `3万`, `1億2000万`, `5 Millionen`, `2 тыс.`"""
    if not rest or (rest.isascii() and not rest.lstrip()[:1].isalpha()):
        return value, rest
    words = table("scales")
    apart, joined = words["apart"], words["joined"]
    total, scaled = Fraction(0), False
    while (after := rest.lstrip()) and (exponent := joined.get(after[0])):
        value, rest, scaled = value * 10**exponent, after[1:], True
        while rest and (more := joined.get(rest[0])):
            value, rest = value * 10**more, rest[1:]
        following = _DIGITS.match(rest)
        total, value = total + value, Fraction(0)
        if following is None:
            break
        value, rest = Fraction(following[0]), rest[following.end() :]
    if scaled:
        return total + value, rest
    while match := _NEXT_WORD.match(rest):
        exponent = apart.get(match[1].casefold())
        if not isinstance(exponent, int):
            break
        value, rest = value * 10**exponent, rest[match.end() :]
    return value, rest


def _way(rest: str, unit: Unit) -> Literal["", "more", "less"]:
    found = _WAY.search(rest)
    # In "5 losses" the unit says it already.
    if found is None or found[0].lower() in unit.symbol.split():
        return ""
    return "more" if found["more"] else "less"


def _unit(rest: str, currency: str) -> Unit | None:
    rest = rest.replace("° ", "°")
    # Scripts without spaces put the word for what is counted right behind the number.
    attached = rest[:1].isalpha() and rest[0] < "\u0e00"
    if attached and rest.casefold() in _ONLY_APART:
        return None
    if currency and (rate := read_unit(currency + rest, counted=False)):
        return rate
    unit = read_unit(rest, counted=not attached)
    # In `$5 profit` the unit is the currency; `$5 CAD` says which dollars.
    return read_unit(currency) if currency and unit and unit.symbol not in _CODES else unit
