"""What a question says about how its answers read: the decimal mark, percent, options, an order."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from ..regex import regex

__all__ = ["NO_HINTS", "Hints", "hints_of"]

_CHARS = 20_000
"""Characters of a question that are searched."""


@dataclass(frozen=True, slots=True)
class Hints:
    """What a question tells about the notation of its answers; each field is empty or False if it does not.

    language: two-letter code of its language, as far as its script and its commonest words show. decimal:
    the decimal mark of its own numbers, else of its language: `.` or `,`. percent: it asks for percent, so
    that `50` equals `50%`. ordered: the order of a list counts. truth: it is a yes-or-no question, so that
    `true` equals `yes`. bases: number bases that it names. exact: it asks for a code, an identifier or a
    version, where leading and trailing zeros count. options: its options in order, their letters first:
    `("A", "Paris")`.
    """

    language: str = ""
    decimal: str = ""
    percent: bool = False
    ordered: bool = False
    truth: bool = False
    bases: tuple[int, ...] = ()
    exact: bool = False
    options: tuple[tuple[str, str], ...] = ()


NO_HINTS = Hints()


@functools.lru_cache(maxsize=256)
def hints_of(question: str | None) -> Hints:
    """The hints in `question`; none without one."""
    text = (question or "")[:_CHARS]
    if not text.strip():
        return NO_HINTS
    return Hints(
        percent=bool(_PERCENT.search(text)),
        ordered=bool(_ORDERED.search(text)),
        truth=bool(_TRUTH.search(text)),
        bases=_bases(text),
        exact=bool(_EXACT.search(text)),
        options=_options(text),
    )


_PERCENT = regex(
    r"\b(?:what|which|how many|in|as a|the|find|by what) (?:[^\W\d]+ ){0,2}?(?:percent|percentage)\b"
    r"|\bpercentage (?:of|change|increase|decrease)\b|\bper cent\b"
    r"|(?:in|à|als|en|em) (?:%|prozent|pour cent|por ciento|por cento)",
    re.IGNORECASE,
)
_ORDERED = regex(
    r"\b(?:in (?:\w+ )?order|ascending|descending|ordered (?:pair|triple|quadruple)s?"
    r"|sort(?:ed|s|ing)?|rank(?:ed|s|ing)?|sequence|chronological(?:ly)?|alphabetical(?:ly)?|respectively"
    r"|coordinates?|vectors?|permutation)\b",
    re.IGNORECASE,
)
_TRUTH = regex(
    r"\b(?:yes or no|yes/no|true or false|true/false|whether)\b"
    r"|(?:^|[.?!:\n]\s*)(?:is|are|was|were|does|do|did|can|could|will|would|should|has|have|had)\b[^.?!\n]*\?\s*$",
    re.IGNORECASE,
)
_BASE = regex(
    r"\bbase[\s$-]+\{?(\d{1,2}|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|sixteen)\b"
    r"|\b(binary|octal|decimal|hexadecimal|ternary)\b|_\{?(\d{1,2})\}?",
    re.IGNORECASE,
)
_BASE_NAMES = {
    "binary": 2, "ternary": 3, "octal": 8, "decimal": 10, "hexadecimal": 16,
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "sixteen": 16,
}  # fmt: skip
_EXACT = regex(
    r"\b(?:version|release|zip code|postal code|postcode|pin|phone number|area code|serial number|identifier"
    r"|isbn|barcode|passcode|password|hash|regex|command|file ?name|variable name|environment variable)\b",
    re.IGNORECASE,
)
_OPTION = regex(r"^\s*(?:[-*]\s*)?(?:\*\*)?[(\[]?([A-Z])[)\].:](?:\*\*)?\s+(\S.*?)\s*$", re.MULTILINE)


def _bases(text: str) -> tuple[int, ...]:
    found = {
        _BASE_NAMES.get(name) or int(name)
        for match in _BASE.finditer(text)
        if (name := next(filter(None, match.groups())).lower())
    }
    return tuple(sorted(base for base in found if 2 <= base <= 36))


def _options(text: str) -> tuple[tuple[str, str], ...]:
    """The options that follow each other as A, B, C at the starts of lines; the last such list counts."""
    found: list[tuple[str, str]] = []
    for match in _OPTION.finditer(text):
        letter = match[1]
        if letter == "A":
            found = []
        if ord(letter) - ord("A") == len(found):
            found.append((letter, match[2]))
    return tuple(found) if len(found) > 1 else ()
