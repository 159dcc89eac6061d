"""The number of a place in a row: 10 of `10th`, `the tenth day`, `Day 10`, where a question asks which one.

Of `how many` an ordinal is no clear answer, and of things in no order (`the second box`) it may count them as
they were told and not as they are numbered.
"""

from __future__ import annotations

import re

from ...core.answers.equivalence import read
from ...core.answers.statements import alters_value
from ...core.answers.units import NONE
from ...core.regex import regex

__all__ = ["is_ordinal", "numbered"]

_ONES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_STEMS = ("fift", "sixt", "sevent", "eight", "ninet")
_TEENS = ("tenth", "eleventh", "twelfth", *(f"{stem}eenth" for stem in ("thirt", "fourt", *_STEMS)))
_NTH = {word: n for n, word in enumerate((*_ONES, *_TEENS), 1)} | {
    word: 10 * tens + ones
    for tens, stem in enumerate(("twent", "thirt", "fort", *_STEMS), 2)
    for ones, word in enumerate((f"{stem}ieth", *(f"{stem}y-{one}" for one in _ONES)))
}
_PLACE = (
    r"day|week|month|year|century|place|position|rank|floor|storey|round|lap|step|stage|attempt|term|row|column"
    r"|seat|page|chapter|generation"
)
"""What is known by its number in a row."""
_ORDINAL = regex(
    rf"(?:(?P<digits>\d{{1,9}})(?:st|nd|rd|th)|(?P<word>{'|'.join(_NTH)}))(?:\s+(?P<noun>{_PLACE}))?"
)
_LABELLED = regex(
    r"(?P<noun>[a-z]{3,}):?\s+(?:number\s+|no\.?\s+|#\s?)?(?P<value>-?\d{1,9}|[a-z]+(?:-[a-z]+)?)"
)
_LEAD = regex(r"^(?:(?:on|in|at)\s+)?(?:the\s+)?")
_COMPOUND = regex(rf"(?<=ty) (?={'|'.join(_ONES)})")
_ASKED = regex(r"\b(?:which|what|number\s+of\s+the)\s+([a-z]{3,})\b", re.IGNORECASE)
_COUNTED = regex(r"\bhow\s+(?:many|much)\b", re.IGNORECASE)


def is_ordinal(short: str) -> bool:
    """Whether `short` says the how-manieth and nothing else: `10th`, `the twenty-first day`."""
    return bool(_ORDINAL.fullmatch(_bare(short)))


def numbered(question: str, short: str) -> str | None:
    """The number by which `short` names what `question` asks for, where it is an ordinal or has a label."""
    text, asked = _bare(short), {found[1].lower() for found in _ASKED.finditer(question)}
    if nth := _ORDINAL.fullmatch(text):
        places = {noun for noun in asked if regex(_PLACE).fullmatch(noun)}
        meant = bool(places) and nth["noun"] in (None, *places) and not _COUNTED.search(question)
        return str(int(nth["digits"] or _NTH[nth["word"]])) if meant else None
    label = _LABELLED.fullmatch(text)
    if label is None or label["noun"] not in asked or alters_value(label["noun"]):
        return None
    number = read(label["value"]).quantity
    return str(number) if number and number.unit is NONE and number.value.denominator == 1 else None


def _bare(short: str) -> str:
    """Without case, article and end; compounds with their hyphen."""
    text = " ".join(short.casefold().split()).rstrip(".!")
    return _COMPOUND.sub("-", _LEAD.sub("", text))
