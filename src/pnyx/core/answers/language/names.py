"""Spellings of one name: `Louis XIV` and `Louis 14`, `A. Einstein` and `Albert Einstein`, `NASA` written out.

A name that leaves out a word, as `Bush` or `George Bush` for `George W. Bush`, is another, except for a last
name where the question asks for a person.
"""

from __future__ import annotations

import functools

from ...caching.regex import regex
from ..numbers.ordinals import read_ordinal
from ..words import table
from .entities import is_name, same_thing
from .folding import fold_words, strip_edges, without_title

__all__ = ["read_roman", "same_spelling"]

MAX_CHARS = 80
"""Characters of a name."""

_ROMAN = regex(r"(?=[MDCLXVI])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_VALUES = {"M": 1000, "D": 500, "C": 100, "L": 50, "X": 10, "V": 5, "I": 1}
_CAPITALISED = regex(r"[^\W\d_a-z]")
_WORD = regex(r"[^\s,()]+")
_SMALL = frozenset(
    ("and", "of", "the", "for", "in", "on", "de", "la", "du", "des", "der", "und", "et", "y", "&")
)
"""Words that have no letter in an abbreviation."""
_PARTICLES = frozenset(
    ("da", "das", "de", "del", "della", "der", "den", "di", "dos", "du", "la", "le", "van", "von", "zu")
)
"""Words of last names: `van Gogh`, `da Vinci`."""
_FIRST_INITIALS = regex(r"(?:[A-Z]\.\s?){2,3}[A-Za-z]")
_JUNIOR = regex(r", (Jr|Sr)\b\.?")
_EXPANDED = regex(r"([^()]{4,70}) \(([A-Z][A-Za-z]{1,7})\)")
_HYPHENED = regex(r"(?<=[^\W\d_])[- ](?=\d)|(?<=\b[^\W\d_])-(?=[^\W\d_]{3})")
"""Between letters and digits, and behind one letter: `UTF-8`, `e-mail`."""
_IZE = regex(r"(?<=\w{3})is(?=(?:e[drs]?|ers|ing|ation|ations)$)")
_OPERATORS = regex(
    r"[¬∧∨→⇒⇔∪∩∖⊕⊗△!&|^~⊂⊃+*/=]|\\(?:neg|lnot|land|lor|wedge|vee|cap|cup|setminus|oplus)\b"
    r"|\b(?:not|and|or)\b",
    2,
)
"""What brackets beside it group: `¬(p ∨ q)` is not `¬p ∨ q`."""
_KINGS = regex(r"[IVX]+")


def read_roman(text: str) -> int | None:
    """The number that a Roman numeral of two capitals or more is; None for another text."""
    if len(text) < 2 or not _ROMAN.fullmatch(text):
        return None
    values = [_VALUES[letter] for letter in text]
    following = [*values[1:], 0]
    return sum(-value if value < after else value for value, after in zip(values, following, strict=True))


def same_spelling(one: str, two: str, *, person: bool) -> bool:
    """Whether two names differ in spelling only. person: a last name names a person.

    Numbers of kings may be Roman, in words or in digits, first names initials, and an abbreviation of three
    capitals or more may be the words that its letters begin.
    """
    if max(len(one), len(two)) > MAX_CHARS:
        return False
    one, two = _without_abbreviation(one), _without_abbreviation(two)
    if any("(" in text and _OPERATORS.search(text) for text in (one, two)):
        return False  # brackets that group
    if person:
        one, two = without_title(one), without_title(two)
    mine, theirs = _spelled(one), _spelled(two)
    if not mine or not theirs:
        return False
    return (
        mine == theirs
        or _abbreviates(one, two)
        or _abbreviates(two, one)
        or _same_person(
            _apart(one, mine, theirs),
            _apart(two, theirs, mine),
            last=person and _is_name(one) and _is_name(two),
        )
    )


@functools.lru_cache(maxsize=4096)
def _spelled(text: str) -> tuple[str, ...]:
    """The words of a name in one spelling: American, with Arabic numbers, without hyphens and articles."""
    words = _WORD.findall(strip_edges(_JUNIOR.sub(r" \1", text)))
    if len(words) > 1 and _CAPITALISED.match(words[0]):
        words = _numbered(words)
    short = table("spellings")["short"]
    words = [short.get(word.casefold(), word) for word in words]
    folded = fold_words(_HYPHENED.sub("", " ".join(words)))
    return tuple(_american(word) for word in folded.split())


def _numbered(words: list[str]) -> list[str]:
    """The words of a name with the number at its end in digits: of `Henry the Eighth` and `Louis XIV`."""
    *names, last = words
    if _KINGS.fullmatch(last) and (number := read_roman(last) or _VALUES.get(last)):
        return [*names, str(number)]
    if len(words) > 2 and names[-1].casefold() == "the":
        place = read_ordinal(last)
        return [*names[:-1], str(place[0])] if place and not place[1] else words
    return words


@functools.lru_cache(maxsize=4096)
def _american(word: str) -> str:
    starts = table("spellings")["starts"]
    for length in range(min(len(word), 16), 3, -1):
        if new := starts.get(word[:length]):
            word = new + word[length:]
            break
    return _IZE.sub("iz", word) if len(word) > 6 else word


def _abbreviates(short: str, long: str) -> bool:
    letters = short.replace(".", "").strip().removeprefix("the ").removeprefix("The ")
    if not (3 <= len(letters) <= 8 and letters.isalpha() and letters.isupper()):
        return False
    if is_name(short):
        return same_thing(short, long)
    words = [word for word in _WORD.findall(long.replace("-", " ")) if word.casefold() not in _SMALL]
    return len(words) == len(letters) and all(
        word[0].upper() == letter and len(word) > 1 for word, letter in zip(words, letters, strict=True)
    )


def _without_abbreviation(text: str) -> str:
    """`World Health Organization` of `World Health Organization (WHO)`."""
    match = _EXPANDED.fullmatch(text)
    return match[1] if match and _abbreviates(match[2], match[1]) else text


def _same_person(mine: tuple[str, ...], theirs: tuple[str, ...], *, last: bool) -> bool:
    """Whether the last names are the same, and each name before them is the other or its initial."""
    if mine[-1] != theirs[-1] or not mine[-1].isalpha() or len(mine[-1]) < 3:
        return False
    if last and min(len(mine), len(theirs)) == 1:
        return not _SEVERAL.intersection((*mine, *theirs))
    shorter, longer = sorted((mine, theirs), key=len)
    if last and len(longer) > len(shorter) > 1 and longer[-len(shorter) :] == shorter:
        # van Gogh, Conan Doyle
        return not _SEVERAL.intersection(longer) and not _is_single(shorter[0])
    return len(mine) == len(theirs) > 1 and all(
        a == b or _is_initial(a, b) or _is_initial(b, a) for a, b in zip(mine[:-1], theirs[:-1], strict=True)
    )


def _apart(text: str, name: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a name, its initials apart if the other has so many: `js bach` of `J. S. Bach`."""
    first = name[0]
    fits = _FIRST_INITIALS.match(text) and first.isalpha() and len(first) - 1 + len(name) == len(other)
    return (*first, *name[1:]) if fits else name


_SEVERAL = frozenset(
    ("and", "or", "und", "oder", "et", "ou", "y", "o", "e", "i", "и", "или", "&", "not", "nor", "no")
)
"""Words with which a name is not the last name behind them."""


def _is_single(word: str) -> bool:
    """Whether a word is an initial, with which a name is another: `W. Bush`."""
    return len(word) == 1


def _is_initial(letter: str, word: str) -> bool:
    return len(letter) == 1 and len(word) > 2 and word.isalpha() and word[0] == letter


def _is_name(text: str) -> bool:
    """Whether all words of `text` but small ones have capitals."""
    words = [word for word in _WORD.findall(text) if word.casefold() not in _SMALL | _PARTICLES]
    return bool(words) and len(words) <= 5 and all(_CAPITALISED.match(word) for word in words)
