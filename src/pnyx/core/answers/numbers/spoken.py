"""Numbers with words around them: `half a million`, `anderthalb Stunden`, `moins sept`, `5 out of 12`."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ...caching.regex import regex
from ..words import table
from .number_words import ENGLISH
from .quantities import Quantity, read_quantity
from .spelled import read_spelled
from .units import NONE

__all__ = ["read_amount"]

MAX_CHARS = 60
_NEGATIVE = regex(
    r"(?:minus|moins|menos|meno|минус|мінус|eksi|âm|negativ[eo]?|ujemne|mínus|miinus|μείον|سالب|ناقص|ऋण|माइनस"
    r"|マイナス|마이너스|负|負)(?:\s+|(?<=[\u3040-\u9fff\uac00-\ud7af])\s*)(?P<rest>\S.{0,60})",
    2,
)
_HALF = regex(r"half (?:an?|of an?|the) (?P<rest>[a-z][a-z -]{1,30})", 2)
_AND_PART = regex(r"(?:an?|one) (?P<rest>[a-z]{3,12}) and (?:a|one) (?P<part>half|quarter|third)", 2)
_OUT_OF = regex(
    r"(?P<above>[\w.-]{1,20}) (?:out of|sur|von|de cada|su|из) (?:every |the )?(?P<below>[\w.-]{1,20})", 2
)
_UNIT_AND_HALF = regex(
    r"(?P<rest>[^\W_]{1,12}[ '’](?!heures?\b)[^\W\d_]{3,14})"
    r" (?:y medi[ao]|e mei[ao]|e mezz[ao]|et demie?|и половиной|and a half)",
    2,
)
_PARTS = {"half": Fraction(1, 2), "third": Fraction(1, 3), "quarter": Fraction(1, 4)}


_MINUS = regex(rf"^(?:minus|negative)\s+(?=[$€£¥₹]?\.?\d|(?:{'|'.join(ENGLISH)})\b)", 2)
_ORDINAL = regex(r"^(?:option|choice|number|no\.|#)\s*(?=\d)", 2)


def read_amount(text: str, decimal: str) -> Quantity | None:
    """The number of a text, in digits or words; None for other text. decimal: as in `read_quantity`."""
    return (
        _part_of_unit(text, decimal)
        or read_quantity(_MINUS.sub("-", _ORDINAL.sub("", text)), decimal)
        or _spoken(text, decimal)
    )


def _spoken(text: str, decimal: str) -> Quantity | None:
    if match := _NEGATIVE.fullmatch(text):
        found = read_quantity(match["rest"], decimal)
        return replace(found, value=-found.value) if found and found.value > 0 else None
    if match := _HALF.fullmatch(text):
        found = read_quantity(f"1 {match['rest']}")
        return replace(found, value=found.value / 2) if found and _is_known(found) else None
    if match := _AND_PART.fullmatch(text):
        found = read_quantity(f"1 {match['rest']}")
        more = _PARTS[match["part"].lower()]
        return replace(found, value=found.value * (1 + more)) if found and _is_known(found) else None
    if match := _UNIT_AND_HALF.fullmatch(text):
        found = read_quantity(match["rest"], decimal)
        known = found if found and found.is_measured and found.value.denominator == 1 else None
        return replace(known, value=known.value + Fraction(1, 2)) if known else None
    if match := _OUT_OF.fullmatch(text):
        above, below = read_quantity(match["above"]), read_quantity(match["below"])
        if above and below and above.unit is below.unit is NONE and 0 <= above.value <= below.value != 0:
            return Quantity(above.value / below.value)
    return None


def _part_of_unit(text: str, decimal: str) -> Quantity | None:
    """A number in words before a unit or a scale, or a half behind it: `anderthalb Stunden`, `2時間半`."""
    if len(text) > MAX_CHARS or not (text[:1].isalpha() or text[-1:].isalpha()):
        return None
    folded = text.casefold()
    words = table("fractions")
    for start, value in words["joined_to_unit"].items():
        if folded.startswith(start) and (found := _one(text[len(start) :])):
            return replace(found, value=found.value * Fraction(value))
    for end in words["half_behind_unit"]:
        found = read_quantity(text.removesuffix(end), decimal) if text.endswith(end) else None
        if found and found.is_measured and found.value.denominator == 1:
            return replace(found, value=found.value + Fraction(1, 2))
    head, _, unit = text.rpartition(" ")
    named = words["before_unit"].get(head.casefold())
    number = Fraction(named) if named else read_spelled(head)
    found = _one(unit) if number else None
    return replace(found, value=found.value * number) if found and number else None


def _one(name: str) -> Quantity | None:
    """One of a unit or a scale; None for any other word."""
    found = read_quantity(f"1 {name.strip()}")
    return found if found and _is_known(found) and (found.is_measured or found.value > 1) else None


def _is_known(found: Quantity) -> bool:
    """Whether the word is a unit or a scale, and not any thing that is counted."""
    return found.is_measured or found.unit is NONE
