"""Fractions, and numbers above a hundred, in words of many languages: `trois quarts`, `dreihundert`."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache, lru_cache

from ...caching.regex import regex
from ..words import table
from .number_words import ENGLISH, read_numeral

__all__ = ["BELOW_FIRST", "read_spelled"]

BELOW_FIRST = ("分之", "分の", "분의")
"""What stands between the parts of a fraction whose denominator comes first."""
MAX_CHARS = 80
"""Characters of a number in words."""
_ALONE = frozenset(
    (
        "cent",
        "cents",
        "mil",
        "mille",
        "bin",
        "mila",
        "mie",
        "mii",
        "sata",
        "sto",
        "million",
        "ribu",
        "e",
        "et",
        "y",
    )
)
"""Words that are another word of some language when they stand alone."""
_GAP = regex(r"[\s\u00a0\u200c-]+")


@lru_cache(maxsize=2048)
def read_spelled(text: str) -> Fraction | None:
    """The number that the whole text is in words: a fraction, or one above a hundred; None for other text."""
    if not text or len(text) > MAX_CHARS:
        return None
    if any(map(str.isdigit, text)) and not any(map(text.__contains__, BELOW_FIRST)):
        return None
    folded = " ".join(_GAP.split(text.casefold().replace("’", "'").strip()))
    return _fraction(folded) or _decimal(folded) or _large(folded)


@cache
def _phrases() -> dict[str, Fraction]:
    words = table("fractions")
    return dict.fromkeys(words["halves"], Fraction(1, 2)) | {
        phrase: Fraction(value)
        for kind in ("and_a_half", "dual", "whole")
        for phrase, value in words[kind].items()
    }


@cache
def _parts() -> dict[str, dict[str, int]]:
    """Language -> the noun of a part -> how many of them make one."""
    return {
        language: {name: int(n) for n, names in rows.items() for name in names.split("|")}
        for language, rows in table("fractions")["parts"].items()
    }


@cache
def _nouns() -> tuple[str, ...]:
    """The nouns of parts in all languages."""
    return tuple({noun for nouns in _parts().values() for noun in nouns})


@cache
def _ones() -> dict[str, dict[str, int]]:
    """Language -> a number word up to a hundred, without spaces around hyphens -> the number."""
    more = table("fractions")["one"]
    found: dict[str, dict[str, int]] = {}
    for language, numbers in table("numbers").items():
        rows = found.setdefault(language, {})
        for n, names in enumerate(numbers):
            rows |= {" ".join(_GAP.split(name)): n for name in filter(None, names.split("|"))}
        rows |= dict.fromkeys(filter(None, more.get(language, "").split("|")), 1)
    return found


def _fraction(text: str) -> Fraction | None:
    if (found := _phrases().get(text)) is not None:
        return found
    words = table("fractions")
    for mark in BELOW_FIRST:
        below, sign, above = text.partition(mark)
        if sign:
            return _ratio(_small(above.strip()), _small(below.strip()))
    for mark in words["between"]:
        above, sign, below = text.partition(mark)
        if sign:
            return _ratio(_small(above), _small(below))
    if found := _turkish(text):
        return found
    values = set[Fraction]()
    if not text.endswith(_nouns()):
        return None
    for language, nouns in _parts().items():
        for noun, share in nouns.items():
            above = text.removesuffix(noun)
            # Without a space between them, only German joins the two: dreiviertel.
            if above != text and (above.endswith(" ") or language in ("de", "hu")):
                value = _ones()[language].get(above.strip())
                if value:
                    values.add(Fraction(value, share))
    return values.pop() if len(values) == 1 else None


def _ratio(above: int | None, below: int | None) -> Fraction | None:
    return Fraction(above, below) if above is not None and below else None


def _small(text: str) -> int | None:
    """An integer in digits, in Chinese numerals, or in words."""
    if text.isdecimal():
        return int(text) if len(text) <= 9 else None
    numeral = read_numeral(text)
    return numeral[0] if numeral and numeral[1] == len(text) else None


def _decimal(text: str) -> Fraction | None:
    """`zero point five`, `drei Komma fünf`, in words of one digit behind the mark."""
    if text.count(" ") < 2:
        return None
    mark = next((word for word in table("fractions")["points"] if f" {word} " in text), "")
    whole, _, places = text.partition(f" {mark} ")
    before = _digit_or_more(whole)
    digits = [_digit_or_more(word) for word in places.split(" ")]
    if not mark or before is None or not all(d is not None and d < 10 for d in digits):
        return None
    return Fraction(f"{before}.{''.join(map(str, digits))}")


def _digit_or_more(word: str) -> int | None:
    return ENGLISH.get(word, _small(word))


def _turkish(text: str) -> Fraction | None:
    """`üçte iki`: in three, two."""
    first, gap, above = text.partition(" ")
    if not gap:
        return None
    for ending in table("fractions")["below_endings"]:
        below = _ones()["tr"].get(first.removesuffix(ending)) if first.endswith(ending) else None
        if below and (value := _ones()["tr"].get(above)):
            return Fraction(value, below)
    return None


@cache
def _segments() -> dict[str, dict[str, tuple[str, int]]]:
    """Language -> a word of a large number -> what it does: add, multiply or begin a new group."""
    found: dict[str, dict[str, tuple[str, int]]] = {}
    for language, rows in table("large_numbers").items():
        words = {name: ("add", n) for name, n in _ones()[language].items() if 0 < n < 100}
        words |= dict.fromkeys(rows["joined"], ("join", 0))
        words |= dict.fromkeys(rows.get("hundred", ()), ("hundred", 100))
        for n, names in enumerate(rows.get("hundreds", ()), 1):
            words |= dict.fromkeys(names.split("|"), ("add", 100 * n))
        words |= dict.fromkeys(rows.get("one_thousand", ()), ("scale", 1000))
        words |= dict.fromkeys(rows["thousand"], ("scale", 1000))
        words |= dict.fromkeys(rows.get("million", ()), ("scale", 10**6))
        found[language] = {name.replace(" ", ""): word for name, word in words.items()}
    return found


@cache
def _starts() -> dict[str, list[dict[str, tuple[str, int]]]]:
    """The first two characters of a word, or its only one -> the words of each language with one that
    starts so: few texts start as a number does, and each language takes a search."""
    found: dict[str, list[dict[str, tuple[str, int]]]] = {}
    for words in _segments().values():
        for start in {word[:2] for word in words}:
            found.setdefault(start, []).append(words)
    return found


def _large(text: str) -> Fraction | None:
    """A number above a hundred, whose words are all of one language."""
    if text in _ALONE:
        return None
    joined = text.replace(" ", "")
    values = {
        value
        for start in {joined[:2], joined[:1]}
        for words in _starts().get(start, ())
        if (value := next(_valued(joined, words), None)) is not None and value >= 100
    }
    return Fraction(values.pop()) if len(values) == 1 else None


def _valued(text: str, words: dict[str, tuple[str, int]]) -> Iterator[int]:
    """The values that `text` has as words beside each other, longest words first."""
    longest = max(map(len, words))
    dead = set[tuple[int, int, int, str]]()

    def following(at: int, total: int, group: int, before: str) -> Iterator[int]:
        if at == len(text):
            if before != "join":
                yield total + group
            return
        if (at, total, group, before) in dead:
            return
        dead.add((at, total, group, before))
        for length in range(min(longest, len(text) - at), 0, -1):
            kind, value = words.get(text[at : at + length], ("", 0))
            state = _extended(kind, value, total, group, before)
            if state:
                yield from following(at + length, *state, kind)

    yield from following(0, 0, 0, "")


def _extended(kind: str, value: int, total: int, group: int, before: str) -> tuple[int, int] | None:
    """The sums with one more word; None if it cannot follow."""
    match kind:
        case "join" if before not in ("", "join"):
            return total, group
        case "add" if value >= 100 and not group:
            return total, value
        case "add" if value < 100 and not group % 100:
            return total, group + value
        case "hundred" if group < 100 and before != "join":
            return total, (group or 1) * 100
        case "scale" if (
            (not total or total % (value * 1000) == 0) and (group or not total) and before != "join"
        ):
            return total + (group or 1) * value, 0
    return None
