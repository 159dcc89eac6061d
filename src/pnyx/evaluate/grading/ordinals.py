"""Read ordinals: 10 from `10th`, `the tenth day` or `Day 10`, if the question asks which one.

An ordinal does not clearly answer `how many`. For unordered things (`the second box`) it may mean their
order in the text and not their numbers.
"""

from __future__ import annotations

import re

from ...core.answers.numbers.units import NONE
from ...core.answers.same.equivalence import read
from ...core.answers.same.statements import alters_value
from ...core.caching.regex import regex

__all__ = ["is_ordinal", "ordinal_number"]

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
"""Nouns of things that have a number in a sequence."""
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
    """Whether `short` is an ordinal and nothing else: `10th`, `the twenty-first day`."""
    return bool(_ORDINAL.fullmatch(_bare(short)))


def ordinal_number(question: str, short: str) -> str | None:
    """The number of an ordinal or label (`Day 10`) that answers `question`; None if `short` is neither."""
    text, nouns = _bare(short), {found[1].lower() for found in _ASKED.finditer(question)}
    if nth := _ORDINAL.fullmatch(text):
        places = {noun for noun in nouns if regex(_PLACE).fullmatch(noun)}
        expected = bool(places) and nth["noun"] in (None, *places) and not _COUNTED.search(question)
        return str(int(nth["digits"] or _NTH[nth["word"]])) if expected else None
    label = _LABELLED.fullmatch(text)
    if label is None or label["noun"] not in nouns or alters_value(label["noun"]):
        return None
    number = read(label["value"]).quantity
    return str(number) if number and number.unit is NONE and number.value.denominator == 1 else None


def _bare(short: str) -> str:
    """`short` in lower case, without article and full stop; compounds with a hyphen."""
    text = " ".join(short.casefold().split()).rstrip(".!")
    return _COMPOUND.sub("-", _LEAD.sub("", text))
