"""The only value that a sentence states: `10 cards` of `Each friend gets 10 cards`.

A sentence that may say something else has none.
"""

from __future__ import annotations

import re

from ...caching.regex import regex
from ..reading.parse import read

__all__ = ["ALTERATION", "alters_value", "is_measurement", "only_value"]

_AMOUNT = regex(
    r"(?<![\w.,/:-])[-+\u2212]?[$€£¥]?\d[\d,]*(?:\.\d+)?(?:/\d+)?%?(?![\w/:-])(?P<behind>(?:\s+[a-z]+){0,3})",
    re.IGNORECASE,
)
_CLOCK = regex(
    r"(?<![\w.,/:-])\d{1,2}:[0-5]\d(?::[0-5]\d)?(?:\s?[ap]\.?m\b)?(?![\w:])(?!\s*(?:minutes?|seconds?)\b)",
    re.IGNORECASE,
)
_LATE = regex(r"\b(?:afternoon|evening)\b", re.IGNORECASE)
_WORD = r"[\"'\u201c\u2018]?[a-z][\w'\u2019-]*[\"'\u201d\u2019]?"
_STATED = regex(
    rf"(?:{_WORD},?\s+(?:{_WORD},?\s+){{1,30}})?[$€£¥]?\d[\d,.:/]*%?(?:\s+{_WORD},?){{0,15}}[.!]?",
    re.IGNORECASE,
)
"""One number among words, with at least two before it if there are any: no sign and no calculation."""
_NEGATION = (
    r"n['\u2019]t\b|\b(?:not|cannot|no|never|neither|nor|none|but|unlike|anything|everything|all|every|both"
    r"|either|lacks?|fail(?:s|ed)?|wrong(?:ly)?|incorrect(?:ly)?|false(?:ly)?|mistaken(?:ly)?|used to|instead"
    r"|rather|impossible)\b"
)
ALTERATION = regex(
    rf"(?P<negation>{_NEGATION})"
    r"|\b(?:or|if|unless|except|excluding|without|besides|between|than|least|most|under|over|above|below"
    r"|beyond|outside|up to|to (?=\w+\W*$)|nearly|almost|exceed(?:s|ed|ing)?|differ(?:s|ed|ent)?|short of"
    r"|shy of|far from|close to|near|approach(?:es|ed)?"
    r"|(?:before|after|past|following|preceding|until|since)"
    r"(?=\s+(?:the\s+)?(?:(?:day|night|week|month|year|step|round|number|page|minute|hour)\s+)?[$€£¥]?\d)"
    r"|(?:days?|weeks?) (?:before|after)|yesterday|tomorrow|previous"
    r"|minus|negative|plus|times|squared?|cubed?|factorial|modulo|mod|root|log|inverse|opposite|reciprocal"
    r"|divided|multiplied|percent|half|third|quarter|twice|double|triple"
    r"|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|lakh|crore"
    r"|(?:[mb]|tr)illion(?:ths?)?|pi|(?<=\d )[eix])\b",
    re.IGNORECASE,
)
"""Words that deny or change the value of a sentence: `not 15`, `more than 15`, `15 or six`."""


def alters_value(text: str) -> bool:
    """Whether a word in `text` denies or changes the value next to it."""
    return bool(ALTERATION.search(text))


def only_value(kind: str, text: str) -> str | None:
    """The only value in a sentence: a number with its currency and unit, or a time; None if there is no such.

    kind: number | time.
    """
    text = " ".join(text.split()).rstrip(".!")
    if not _STATED.fullmatch(text) or alters_value(text):
        return None
    if kind == "time":
        clocks = set(_CLOCK.findall(text))
        late = " pm" if _LATE.search(text) and all(int(c.split(":")[0]) <= 12 for c in clocks) else ""
        return clocks.pop() + late if len(clocks) == 1 else None
    found = list(_AMOUNT.finditer(text))
    return _with_unit(found[0]) if len(found) == 1 else None


def _with_unit(found: re.Match[str]) -> str:
    """The number of `found` with as many of the words after it as form a unit of measure."""
    number, words = found[0][: found.start("behind") - found.start()], found["behind"].split()
    for count in range(len(words), 0, -1):
        value = " ".join([number, *words[:count]])
        if words[0].lower() not in ("in", "a") and is_measurement(value):
            return value
    return number


def is_measurement(value: str) -> bool:
    """Whether `value` is a number with a unit of measure, rather than a count of things."""
    quantity = read(value).quantity
    return bool(quantity and any(not name.startswith("count of") for name, _ in quantity.unit.dimensions))
