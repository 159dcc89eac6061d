"""Numbers with words around them: `half a million`, `a year and a half`, `moins sept`, `5 out of 12`."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ...caching.regex import regex
from .quantities import Quantity, read_quantity
from .units import NONE

__all__ = ["read_spoken"]

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
    r"(?P<rest>[^\W_]{1,12} (?!heures?\b)[^\W\d_]{3,14})"
    r" (?:y medi[ao]|e mei[ao]|e mezz[ao]|et demie?|и половиной|and a half)",
    2,
)
_PARTS = {"half": Fraction(1, 2), "third": Fraction(1, 3), "quarter": Fraction(1, 4)}


def read_spoken(text: str, decimal: str = "") -> Quantity | None:
    """The number of such a text; None for other text. decimal: as in `read_quantity`."""
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


def _is_known(found: Quantity) -> bool:
    """Whether the word is a unit or a scale, and not any thing that is counted."""
    return found.is_measured or found.unit is NONE
