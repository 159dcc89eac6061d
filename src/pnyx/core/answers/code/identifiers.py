"""Identifiers that have several notations: telephone numbers, ISBN, colours, URLs, isotopes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from ...regex import regex
from ..words import table

__all__ = ["read_identifier"]

MAX_CHARS = 200

_PHONE = regex(
    r"(?:(?:tel|phone)\.?:?\s*)?(?P<number>\+\d[\d\s().-]{6,20}\d|\(\d{3}\)\s?\d{3}[\s.-]\d{4})", 2
)
_ISBN = regex(r"(?:ISBN(?:-1[03])?:?\s*)?(?P<number>(?:97[89][ -]?)?(?:\d[ -]?){9}[\dX])", 2)
_COLOUR = regex(r"#(?P<digits>[0-9a-f]{6}|[0-9a-f]{3})", 2)
_UUID = regex(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", 2)
_URL = regex(r"<?(?P<start>https?://[^\s/?#<>]+)(?P<rest>[^\s<>]*)>?", 2)
_MOMENT = regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)")
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
    return None


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


def _url(match: re.Match[str]) -> str:
    rest = match["rest"]
    return match["start"].lower() + (
        "" if rest == "/" else rest.removesuffix("/") if "?" not in rest else rest
    )


def _moment(match: re.Match[str]) -> str:
    with suppress(ValueError):
        return datetime.fromisoformat(match[0]).astimezone(UTC).isoformat()
    return ""


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
    (_UUID, lambda match: match[0].lower()),
    (_URL, _url),
    (_MOMENT, _moment),
    (_ISOTOPE, _isotope),
    (_MODEL, _model),
)
