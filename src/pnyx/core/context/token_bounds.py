"""Upper bounds of the tokens of a text, before a host has counted them.

How many characters a token has depends on the encoding of the model and on the script. The figures of
`token_bounds.toml` are measured: `python -m benchmarks.token_bounds`.
"""

from __future__ import annotations

import re
import string
import tomllib
from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple

from ..caching.regex import regex

__all__ = ["SCRIPTS", "estimate_tokens", "most_tokens", "script_counts"]

_KINDS = bytes(
    ord("~" if n > 127 else " " if chr(n) in " \t\r\n" else chr(n) if chr(n) in string.ascii_letters else "0")
    for n in range(256)
).translate(bytes.maketrans(string.ascii_letters.encode(), b"a" * 26 + b"A" * 26))
"""Byte -> a for small letters, A for capitals, blank, 0 for others of ASCII, ~ beyond it."""
LETTERS_PER_TOKEN = 2.7
"""Fewer than in words of any language in ASCII, and of code, with the tokenizer that splits them finest."""
RARE = 400
"""A text in Cyrillic with fewer than one in so many letters beyond those of Slavic languages is in one."""
_LOADER: Any = __spec__.loader  # which also reads a package in an archive
_TABLE = tomllib.loads(_LOADER.get_data(f"{__file__.removesuffix('.py')}.toml").decode())
SCRIPTS = {name: [*map(bytes.fromhex, row["first"])] for name, row in _TABLE["scripts"].items()}
"""Script -> the bytes with which its characters begin in UTF-8."""
_BYTES = {name: 2 if row["first"][0] < "e0" else 3 for name, row in _TABLE["scripts"].items()}


class _Encoding(NamedTuple):
    models: re.Pattern[str]
    tokens: dict[str, float]


_ENCODINGS = [
    _Encoding(
        regex(models, re.IGNORECASE),
        {script: row["tokens"][n] for script, row in _TABLE["scripts"].items()},
    )
    for n, models in enumerate(_TABLE["models"])
]


@lru_cache(1000)  # clients name models
def _tokens_by_script(model: str) -> dict[str, float]:
    """The most tokens of a character of each script for `model`; "": for any."""
    return next(one.tokens for one in _ENCODINGS if one.models.search(model))


def estimate_tokens(text: str) -> int:
    """An upper bound of the tokens of `text` in any language, with two bytes per token, or `most_tokens`."""
    return max(len(text.encode("utf-8", "surrogatepass")) // 2 + 8, most_tokens(text))


def most_tokens(text: str, model: str = "") -> int:
    """A closer upper bound of the tokens of `text`, for what a call may cost. model: without its provider.

    2.7 letters of ASCII are a token, and blanks belong to the words beside them: about three bytes per token
    in English prose. Any other byte may be a token of its own, and words end between letters of two cases,
    as in numbers, hashes and Base64. Characters of other scripts have the tokens that the table has for the
    model; else, beyond ASCII two bytes are a token.
    """
    data = text.encode("utf-8", "surrogatepass")
    kinds = data.translate(_KINDS)
    other, beyond, size = kinds.count(b"0"), kinds.count(b"~"), len(kinds)
    letters = size - other - beyond - kinds.count(b" ")
    # A capital may also begin a word, so its second side counts for half.
    cases = kinds.count(b"aA") + kinds.count(b"Aa") / 2
    tokens = ceil(letters / LETTERS_PER_TOKEN + cases) + other
    in_scripts = 0.0
    if beyond:
        rates = _tokens_by_script(model)
        for script, count in script_counts(data).items():
            in_scripts += count * rates[script]
            beyond -= count * _BYTES[script]
            size -= count * _BYTES[script]
    return min(tokens + beyond, max(tokens + beyond // 2, size // 2)) + ceil(in_scripts) + 8


def script_counts(data: bytes) -> dict[str, int]:
    """The number of characters of each script in text of UTF-8."""
    # To look for one byte that is missing takes a tenth of the time that it takes to count two.
    counts = {s: sum(data.count(one) for one in first if one[0] in data) for s, first in SCRIPTS.items()}
    if counts["Cyrillic"] * RARE > counts["Slavic"]:
        counts["Cyrillic"], counts["Slavic"] = counts["Cyrillic"] + counts["Slavic"], 0
    return counts
