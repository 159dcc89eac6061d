"""Ordinal numbers in the notations and words of many languages: `3rd`, `third`, `2e`, `第三`."""

from __future__ import annotations

import functools
from functools import cache

from ...caching.regex import regex
from ..words import table, unambiguous
from .number_words import ENGLISH, read_numeral

__all__ = ["read_ordinal"]

MAX_CHARS = 50

_LEAD = regex(
    r"(?:(?:in|on|at) )?(?:(?:the|der|die|das|dem|den|im|le|la|les|el|los|las|lo|il|o|a|os|de|het|au|en) "
    r"|l['’]|al-)",
    2,
)
_DIGITS = regex(
    r"(?P<n>\d{1,3})(?:(?:st|nd|rd|th|er|re|ère|ers|e|ème|eme|ième|nde|de|ste|º|ª|°|\.º|\.ª|-?(?:й|я|е|го|ом|му|й)|\.|-?(?:nci|ncı|üncü|uncu|inci|ıncı)"
    r"|\s?번째|째|वां|वाँ|वीं|वें))(?![\d.])\s*(?P<noun>.*)",
    2,
)
_CHINESE = regex(r"第\s*(?P<n>\d{1,3}|[〇零一二三四五六七八九十百]{1,5})\s*(?P<noun>\D*)")
_COUNTED = regex(
    r"(?P<n>\d{1,3}|[一二三四五六七八九十]{1,4})\s*(?P<noun>名|位|着|等|위|등|世纪|世紀|세기|番目|階|층)(?:目)?"
)
_ROMAN = regex(
    r"(?P<n>[IVX]{1,6})(?:e|º|-й|\.|th)?\s+(?P<noun>\S.*)|(?P<before>\S+(?: \S+)?)\s+(?P<late>[IVX]{1,6})"
)
_CENTURY = regex(
    r"(?P<n>\d{1,2})\s+(?P<noun>[^\W\d]{2,})|(?P<before>[^\W\d]{2,}(?: [^\W\d]+)?)\s+(?P<late>\d{1,2})"
)
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10}
_ENGLISH = {
    name: value
    for names, step in (
        ("zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth"
         " fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth", 1),
        ("zeroth tenth twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth"
         " hundredth", 10),
    )
    for value, name in zip(range(0, 101, step), names.split(), strict=False)
}  # fmt: skip


@functools.lru_cache(maxsize=2048)
def read_ordinal(text: str) -> tuple[int, str] | None:
    """The number of an ordinal, and the canonical noun that it counts or nothing; None for other text.

    Only nouns of the table are read, so that `third place` is an ordinal and `Third Reich` is none.
    """
    text = text.strip(" .*_()")
    if not 0 < len(text) <= MAX_CHARS:
        return None
    if lead := _LEAD.match(text):
        text = text[lead.end() :]
    for form in (_CHINESE, _COUNTED, _DIGITS):
        if match := form.fullmatch(text):
            number = int(match["n"]) if match["n"].isdigit() else (read_numeral(match["n"]) or (0, 0))[0]
            return _counted(number, match["noun"])
    if match := _CENTURY.fullmatch(text):
        found = _counted(int(match["n"] or match["late"]), match["noun"] or match["before"])
        if found and found[1] == "century":
            return found
    if match := _ROMAN.fullmatch(text):
        # A Roman numeral is an ordinal beside its noun only: in `XIX century`, not in `Louis XIV`.
        found = _counted(_roman(match["n"] or match["late"]), match["noun"] or match["before"])
        if found and found[1]:
            return found
    return _in_words(text.casefold())


def _counted(number: int, noun: str) -> tuple[int, str] | None:
    noun = noun.strip(" .").casefold()
    canonical = _nouns().get(noun, "") if noun else ""
    return (number, canonical) if number > 0 and (canonical or not noun) else None


def _in_words(text: str) -> tuple[int, str] | None:
    words = text.replace("-", " ").split()
    for count in range(min(3, len(words)), 0, -1):
        for start in (0, len(words) - count):
            number = _number(words[start : start + count])
            noun = " ".join(words[:start] + words[start + count :])
            if number and (found := _counted(number, noun)):
                return found
    return None


def _number(words: list[str]) -> int:
    """The number of an ordinal in words; 0 if they are none."""
    if len(words) == 1 and words[0] in _ENGLISH:
        return _ENGLISH[words[0]]
    if (
        len(words) == 2
        and (tens := ENGLISH.get(words[0], 0)) >= 20
        and (ones := _ENGLISH.get(words[1], 0)) in range(1, 10)
    ):
        return tens + ones
    if len(words) == 2 and (numeral := read_numeral(words[0])) and numeral[0] in range(20, 100, 10):
        ones = _words().get(words[1], 0)
        if numeral[1] == len(words[0]) and ones in range(1, 10):
            return numeral[0] + ones
    name = " ".join(words)
    return _words().get(name) or _from_cardinal(name)


def _from_cardinal(name: str) -> int:
    """The number of an ordinal that is made of a cardinal by a rule: `achtzehnte`, `dix-huitième`; else 0."""
    for ending, instead in _endings():
        if name.endswith(ending) and len(name) > len(ending) + 2:
            cardinal = name[: -len(ending)] + instead
            for spelled in (cardinal, cardinal.replace(" ", "-")):
                numeral = read_numeral(spelled)
                # Below, languages have words of their own.
                if numeral and numeral[1] == len(spelled) and numeral[0] > 10:
                    return numeral[0]
    return 0


@cache
def _endings() -> list[tuple[str, str]]:
    return [(ending, instead) for ending, instead in table("ordinals")["from_cardinals"]]


def _roman(numeral: str) -> int:
    values = [_ROMAN_VALUES[c] for c in numeral]
    return sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True))


@cache
def _words() -> dict[str, int]:
    ordinals = table("ordinals")
    return unambiguous(
        (name + ending, n)
        for language, rows in ordinals["words"].items()
        for n, names in enumerate(rows, 1)
        for name in names.split("|")
        for ending in ordinals["endings"].get(language, ("",))
    )


@cache
def _nouns() -> dict[str, str]:
    return {word: noun for noun, words in table("ordinals")["nouns"].items() for word in words}
