"""Upper bounds of the tokens of a text, before a host has counted them.

How many characters a token has depends on the encoding of the model and on the script. The figures of
`token_bounds.toml` are measured: `python -m benchmarks.token_bounds`.
"""

from __future__ import annotations

import re
import string
import tomllib
from functools import cache, lru_cache
from itertools import islice
from math import ceil
from typing import Any, NamedTuple

from ..caching.regex import regex

__all__ = ["estimate_tokens", "letter_tokens", "most_tokens", "other_letters", "script_counts", "scripts"]

_CLASSES = {"a": string.ascii_lowercase, "A": string.ascii_uppercase, "0": string.digits, ".": ".,'-"}
_CLASSES |= {" ": " \t\r", "\n": "\n", "~": "".join(map(chr, range(128, 256)))}
_CLASS_OF = {char: name for name, chars in _CLASSES.items() for char in chars}
_KINDS = bytes(ord(_CLASS_OF.get(chr(n), "!")) for n in range(256))
"""Byte -> a for small letters, A for capitals, 0 for digits, blank, line feed, full stop for marks of prose,
! for others of ASCII, ~ beyond it."""
_WORDS = bytes(ord({"A": "a", "a": "a", "0": "0"}.get(chr(kind), " ")) for kind in range(256))
"""Kind -> a for letters, 0 for digits, blank for all others."""
_ASCII = bytes(range(128))
LETTERS_PER_TOKEN = 2.7
"""Fewer than in the languages of `words`, and in code, with the tokenizer that splits them finest."""
PIECE = 1_000
"""Bytes of a text that are in one language or another."""
KNOWN = 0.055
"""Share of frequent words in a piece: 0.07 and more in the languages that have them, in others below 0.04."""
CODE = 0.075
"""Share of digits and of marks that prose has few of: with more, a piece is code or data."""
RANDOM = 0.03
"""Share of letters behind a digit in a piece: with more, it is identifiers or hashes, not words."""
INDENT = 8
"""Blanks in a row that are a token, beside those that belong to a word."""
RARE_LETTERS = {"Slavic": "Cyrillic", "Arabic": "Persian"}
"""Letters of the best known languages of a script -> those that only its other languages have."""
RARE = 400
"""A text with fewer than one in so many of the latter is in one of the best known languages."""


class _Encoding(NamedTuple):
    """tokens: the most of a character of each script. letter: of a letter of ASCII in any language."""

    models: re.Pattern[str]
    tokens: dict[str, float]
    letter: float


@cache  # read at the first text, not at the start of every command
def _table() -> dict[str, Any]:
    loader: Any = __spec__.loader  # which also reads a package in an archive
    return tomllib.loads(loader.get_data(f"{__file__.removesuffix('.py')}.toml").decode())


@cache
def scripts() -> dict[str, list[bytes]]:
    """Script -> the bytes with which its characters begin in UTF-8."""
    return {name: [*map(bytes.fromhex, row["first"])] for name, row in _table()["scripts"].items()}


@cache
def _firsts() -> dict[bytes, tuple[str, str | None]]:
    """The bytes of `scripts` -> their script, and that of the first of these bytes alone, if it has one."""
    found = {one: script for script, first in scripts().items() for one in first}
    return {one: (script, found.get(one[:1]) if one[1:] else None) for one, script in found.items()}


@cache
def _encodings() -> list[_Encoding]:
    return [
        _Encoding(
            regex(models, re.IGNORECASE),
            {script: row["tokens"][n] for script, row in _table()["scripts"].items()},
            _table()["letter"][n],
        )
        for n, models in enumerate(_table()["models"])
    ]


@lru_cache(1000)  # clients name models
def _encoding_of(model: str) -> _Encoding:
    """That of `model`; "": the one with the most tokens of any."""
    return next(one for one in _encodings() if one.models.search(model))


@cache
def _words() -> frozenset[bytes]:
    return frozenset(_table()["words"].encode().split())


def letter_tokens(model: str) -> float:
    """The most tokens of a letter of ASCII in other languages than those of the table's words."""
    return _encoding_of(model).letter


class _Counts(NamedTuple):
    """Bytes of a piece of a text, by their kind in `_KINDS`. others: full stops, 0 and !.

    halves: tokens for changes of case, in halves. blocks: tokens of what stands between words.
    first: letters of ASCII that are a token, since a word begins where no word of prose does. Of the other
    letters, rare: those of a piece that is neither code nor in a language of `words`; random: of identifiers.
    """

    blanks: int
    others: int
    beyond: int
    halves: int
    blocks: int
    first: int
    rare: int
    random: int


@lru_cache(1_000)  # prompts begin alike, and to read the words of a piece takes longer than all else
def _counts(piece: bytes, before: bytes) -> _Counts:
    """The counts of a piece. before: the byte before it, if any."""
    kinds = piece.translate(_KINDS)
    bounds = before.translate(_KINDS) + kinds
    lines, marks = kinds.count(b"\n"), kinds.count(b"0") + kinds.count(b"!")
    blanks, others = lines + kinds.count(b" "), marks + kinds.count(b".")
    beyond = kinds.count(b"~")
    blocks = lines + bounds.count(b" 0") + 2 * bounds.count(b"  ") // INDENT
    words = bounds.translate(_WORDS)
    behind_digits = words.count(b"0a")
    first = behind_digits + words.replace(b" ", b"  ").count(b" a ") + words.count(b" a0")
    letters = len(piece) - blanks - others - beyond - first
    if behind_digits > RANDOM * len(piece):
        return _Counts(blanks, others, beyond, 0, blocks, first, 0, letters)
    # A capital may also begin a word, so its second side counts for half.
    halves = 2 * bounds.count(b"aA") + bounds.count(b"Aa")
    rare = letters if marks <= CODE * len(piece) and _is_rare(piece) else 0
    return _Counts(blanks, others, beyond, halves, blocks, first, rare, 0)


def _is_rare(piece: bytes) -> bool:
    words = piece.lower().split()
    least = ceil(KNOWN * len(words))
    # Prose has so many in its first sentences, and the rest is not looked up.
    return len(list(islice(filter(_words().__contains__, words), least))) < least


def _sums(data: bytes, start: int = 0) -> _Counts:
    """The counts of the text behind `start`, whose pieces end at the same places in every text that begins
    like the whole."""
    starts = (start, *range(start - start % PIECE + PIECE, len(data), PIECE))
    every = [_counts(data[at : at - at % PIECE + PIECE], data[max(at - 1, 0) : at]) for at in starts]
    return _Counts(*map(sum, zip(*every, strict=True)))


def other_letters(data: bytes) -> int:
    """The letters of ASCII in those pieces of a text that are neither code nor in a language of `words`."""
    return _sums(data).rare


def estimate_tokens(text: str) -> int:
    """An upper bound of the tokens of `text` in any language, with two bytes per token, or `most_tokens`."""
    return max(len(text.encode("utf-8", "surrogatepass")) // 2 + 8, most_tokens(text))


def most_tokens(text: str, model: str = "", start: int = 0) -> int:
    """A closer upper bound of the tokens of `text`, for what a call may cost. model: without its provider.
    start: of the characters behind it alone.

    2.7 letters of ASCII are a token in code and in seven languages, and fewer in others and in identifiers.
    Single blanks belong to the words beside them: about three bytes per token in English prose. Other bytes
    may be tokens of their own, and words end between letters of two cases and behind a digit, as in numbers,
    hashes and Base64. Characters of other scripts and symbols have the tokens that the table has for the
    model. Of the rest, two bytes beyond ASCII are a token, and an emoji is four.
    """
    data = text.encode("utf-8", "surrogatepass")
    before = len(text[:start].encode("utf-8", "surrogatepass"))
    counts, size = _sums(data, before), len(data) - before
    other, beyond = counts.others, counts.beyond
    letters = size - other - beyond - counts.blanks - counts.first
    rare = counts.rare * (letter_tokens(model) - 1 / LETTERS_PER_TOKEN)
    rare += counts.random * (letter_tokens("") - 1 / LETTERS_PER_TOKEN)
    tokens = (
        ceil(letters / LETTERS_PER_TOKEN + rare + counts.halves / 2) + counts.first + other + counts.blocks
    )
    if not beyond:
        return tokens + 8
    in_scripts, rates = 0.0, _encoding_of(model).tokens
    for script, count in script_counts(data[before:]).items():
        in_scripts += count * rates[script]
        in_bytes = count * _bytes_of(script)
        beyond -= in_bytes
        size -= in_bytes
    pairs = beyond // 2 + 2 * data.count(b"\xf0", before)
    return min(tokens + beyond, max(tokens + pairs, size // 2)) + ceil(in_scripts) + 8


def _bytes_of(script: str) -> int:
    """The bytes of a character of the script in UTF-8."""
    return 2 if scripts()[script][0][0] < 0xE0 else 3


def script_counts(data: bytes) -> dict[str, int]:
    """The number of characters of each script in text of UTF-8."""
    data = data.translate(None, _ASCII)  # most of most texts, which would be searched for each script
    counts = dict.fromkeys(scripts(), 0)
    # To look for one byte that is missing takes a tenth of the time that it takes to count two.
    found = {one: data.count(one) for one in _firsts() if one[0] in data}
    for one, count in found.items():
        script, shorter = _firsts()[one]
        counts[script] += count
        if shorter:
            counts[shorter] -= count
    for usual, rare in RARE_LETTERS.items():
        if counts[rare] * RARE > counts[usual]:
            counts[rare], counts[usual] = counts[rare] + counts[usual], 0
    return counts
