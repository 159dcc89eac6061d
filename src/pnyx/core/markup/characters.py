"""Raised and lowered digits and vulgar fractions, and replacing characters in long texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ..caching.regex import regex

__all__ = ["LOWERED_DIGITS", "RAISED", "RAISED_TO", "VULGAR", "replacing"]

_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿ"
RAISED = regex(f"[{_RAISED}]+")
RAISED_TO = str.maketrans(_RAISED, "0123456789+-()n")
LOWERED_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
VULGAR = regex(r"(?<=\d)(?=[¼½¾⅐-⅞↉])")
"""Between a number and the fraction that belongs to it: `1½`."""


def replacing(table: Mapping[str, str]) -> Callable[[str], str]:
    """A function that replaces each character of `table`, all of which are beyond ASCII.

    `str.translate` looks up every character of a text that is not ASCII, which takes many times as long as a
    search for those of the table; and most replies have a dash or a quotation mark beyond ASCII.
    """
    anywhere = regex(f"[{re.escape(''.join(table))}]")

    def replace(found: re.Match[str]) -> str:
        return table[found[0]]

    def replaced(text: str) -> str:
        return text if text.isascii() else anywhere.sub(replace, text)

    return replaced
