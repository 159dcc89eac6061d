"""Identifiers that have several notations: telephone numbers, ISBN, colours, URLs, addresses, isotopes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from ...caching.regex import regex
from ..words import table

__all__ = ["read_identifier"]

MAX_CHARS = 200

_PHONE = regex(
    r"(?:(?:tel|phone)\.?:?\s*)?(?P<number>\+\d[\d\s().-]{6,20}\d|\(\d{3}\)\s?\d{3}[\s.-]\d{4})", 2
)
_ISBN = regex(r"(?:ISBN(?:-1[03])?:?\s*)?(?P<number>(?:97[89][ -]?)?(?:\d[ -]?){9}[\dX])", 2)
_COLOUR = regex(r"#(?P<digits>[0-9a-f]{6}|[0-9a-f]{3})", 2)
_RGB = regex(r"rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)", 2)
_UUID = regex(r"(?:urn:uuid:)?(\{)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?(1)\})", 2)
_MAC = regex(r"[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2}){4}|[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}", 2)
_IPV6 = regex(r"(?P<address>(?=[^:]*:[^:]*:)[0-9a-f:]{2,39})(?P<prefix>/\d{1,3})?", 2)
_MAIL = regex(r"<?(?:mailto:)?(?P<name>[\w.+-]+)@(?P<host>[\w-]+(?:\.[\w-]+)+)>?", 2)
_URL = regex(r"<?(?P<start>https?://[^\s/?#<>]+)(?P<rest>[^\s<>]*)>?", 2)
_MOMENT = regex(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.0+)? ?(Z|UTC|GMT|[+-]\d\d:?\d\d)")
_QUARTER = regex(
    r"Q(?P<q>[1-4])[ /-]?(?:of )?(?P<y>\d{4})|(?P<y2>\d{4})[ /-]?Q(?P<q2>[1-4])"
    r"|(?:the )?(?P<name>first|second|third|fourth|1st|2nd|3rd|4th) quarter (?:of )?(?P<y3>\d{4})",
    2,
)
_DECADE = regex(
    r"(?:the )?(?P<tens>twenties|thirties|forties|fifties|sixties|seventies|eighties|nineties)", 2
)
_ISOTOPE = regex(
    r"(?P<name>[^\W\d_]+)[- ]?\^?\{?(?P<mass>\d{1,3})\}?"
    r"|\^?\{?(?P<before>[\d⁰¹²³⁴⁵⁶⁷⁸⁹]{1,5})\}?(?P<symbol>[A-Z][a-z]?)"
)
_MODEL = regex(r"(?P<letters>[^\W\d_]{2,8})[- ]?(?P<digits>\d{1,4})")
"""Letters and digits with or without a hyphen: `UTF-8`, `SHA-256`."""
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


@functools.lru_cache(maxsize=4096)
def read_identifier(text: str) -> str | None:
    """A text that is the same for all notations of one identifier; None if `text` is none."""
    text = text.strip().rstrip(".").strip("`")
    if not 0 < len(text) <= MAX_CHARS:
        return None
    for form, key in _FORMS:
        if (match := form.fullmatch(text)) and (found := key(match)):
            return found
    return _decade(text) or None


def _digits(text: str) -> str:
    return re.sub(r"[^0-9X+]", "", text.upper())


def _phone(match: re.Match[str]) -> str:
    digits = _digits(match["number"])
    return f"tel {digits}" if 8 <= len(digits.lstrip("+")) <= 15 else ""


def _isbn(match: re.Match[str]) -> str:
    """An ISBN with hyphens or its name, or whose check digit is right: else it is only a number."""
    digits = _digits(match["number"])
    values = [10 if c == "X" else int(c) for c in digits]
    weights = range(10, 0, -1) if len(digits) == 10 else [1, 3] * 6 + [1]
    total = sum(value * weight for value, weight in zip(values, weights, strict=True))
    return "" if total % (11 if len(digits) == 10 else 10) else f"isbn {digits}"


def _colour(match: re.Match[str]) -> str:
    digits = match["digits"].lower()
    return f"#{digits if len(digits) == 6 else ''.join(c * 2 for c in digits)}"


def _rgb(match: re.Match[str]) -> str:
    parts = [int(part) for part in match.groups()]
    return "#" + "".join(f"{part:02x}" for part in parts) if max(parts) < 256 else ""


def _ipv6(match: re.Match[str]) -> str:
    """An address with its eight groups written out."""
    head, gap, tail = match["address"].lower().partition("::")
    if ":::" in match["address"] or "::" in tail:
        return ""
    before, after = (part.split(":") if part else [] for part in (head, tail))
    missing = 8 - len(before) - len(after)
    groups = [*before, *["0"] * missing, *after]
    if missing < bool(gap) or (missing and not gap) or not all(0 < len(group) < 5 for group in groups):
        return ""
    return f"ip {':'.join(f'{int(group, 16):x}' for group in groups)}{match['prefix'] or ''}"


def _url(match: re.Match[str]) -> str:
    rest = match["rest"]
    return match["start"].lower() + (
        "" if rest == "/" else rest.removesuffix("/") if "?" not in rest else rest
    )


def _moment(match: re.Match[str]) -> str:
    with suppress(ValueError):
        zone = "+00:00" if match[3].isalpha() else match[3]
        return datetime.fromisoformat(f"{match[1]}T{match[2]}{zone}").astimezone(UTC).isoformat()
    return ""


def _quarter(match: re.Match[str]) -> str:
    number = match["q"] or match["q2"] or str(_QUARTERS[match["name"].casefold()])
    return f"quarter {match['y'] or match['y2'] or match['y3']} {number}"


_QUARTERS = {
    name: n
    for names in ("first second third fourth", "1st 2nd 3rd 4th")
    for n, name in enumerate(names.split(), 1)
}
_TENS = {
    name: 10 * n
    for n, name in enumerate(
        ("twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties"), 2
    )
}


@functools.cache
def _decade_in_digits() -> re.Pattern[str]:
    words = table("dates")
    before, after = (
        "|".join(map(re.escape, sorted(words[name], key=len, reverse=True)))
        for name in ("decade_before", "decade_after")
    )
    return re.compile(
        rf"(?:the )?['’]?(?P<year>[12]\d[1-9]0|(?<=the )[1-9]0|(?<=['’])[1-9]0) ?(?:{after})"
        rf"|(?:{before}) (?P<named>[12]\d[1-9]0)(?:{after})?",
        re.IGNORECASE,
    )


def _decade(text: str) -> str:
    """The decade that `the 1990s`, `les années 1990` or `nineties` is; two digits are of the 20th century."""
    if match := _DECADE.fullmatch(text):
        return f"decade {1900 + _TENS[match['tens'].casefold()]}"
    if not any(map(str.isdigit, text)) or not (match := _decade_in_digits().fullmatch(text)):
        return ""
    year = match["year"] or match["named"]
    return f"decade {year if len(year) == 4 else f'19{year}'}"


def _isotope(match: re.Match[str]) -> str:
    mass = (match["mass"] or match["before"]).translate(_RAISED)
    name = match["name"] or match["symbol"]
    elements = table("aliases")["element"]
    if name in elements:
        # U 235 without a mark between them may be anything: a road, a size of paper.
        return f"{name} {mass}" if match["before"] or re.search(r"[-^]", match[0]) else ""
    code = _elements().get(name.casefold())
    return f"{code} {mass}" if code else ""


@functools.cache
def _elements() -> dict[str, str]:
    return {name.casefold(): code for code, names in table("aliases")["element"].items() for name in names}


def _model(match: re.Match[str]) -> str:
    return f"{match['letters'].casefold()}{match['digits']}"


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (_PHONE, _phone),
    (_ISBN, _isbn),
    (_COLOUR, _colour),
    (_RGB, _rgb),
    (_UUID, lambda match: match[2].lower()),
    (_MAC, lambda match: f"mac {re.sub('[-:.]', '', match[0]).lower()}"),
    (_IPV6, _ipv6),
    (_MAIL, lambda match: f"mail {match['name']}@{match['host'].lower()}"),
    (_URL, _url),
    (_MOMENT, _moment),
    (_QUARTER, _quarter),
    (_ISOTOPE, _isotope),
    (_MODEL, _model),
)
