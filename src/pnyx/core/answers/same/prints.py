"""Outputs of programs, of which every character counts but the marks around them."""

from __future__ import annotations

import functools

from ...caching.regex import regex
from ..code.literal_values import CONSTANTS
from ..code.literals import unfenced
from ..reading.parse import Answer

__all__ = ["same_constants", "same_print"]

_CONSTANTS = regex(
    r"\"[^\"]*\"|'[^']*'|\b(?:[Nn]one|null|nil|[Tt]rue|[Ff]alse)\b|(?<![\w.])[\d.]\w*(?:\.\w*)?"
)


def same_constants(one: str, two: str) -> bool:
    """Whether two printed values write their constants alike: `None` is not `null`, and `1` not `1.0`."""
    return _constants(one) == _constants(two)


def _constants(text: str) -> list[str]:
    return sorted(found for found in _CONSTANTS.findall(text) if found[0] not in "\"'")


def same_print(one: Answer, two: Answer) -> bool:
    """Whether two texts are the same output: but for marks around them, spaces at the ends of lines count.

    A string literal is its content, and a number in quotes is another output than the number.
    """
    literal, other = (one, two) if one.code else (two, one)
    if literal.code and literal.code.kind == "string":
        if other.quantity or other.text in CONSTANTS:
            return False
        return literal.code.same_text(_printed(other))
    return _printed(one) == _printed(two)


@functools.lru_cache(maxsize=1024)
def _print_lines(text: str) -> str:
    text = unfenced(text.strip()) or text
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _printed(answer: Answer) -> str:
    return _print_lines(answer.exact)
