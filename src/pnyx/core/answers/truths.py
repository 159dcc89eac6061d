"""Yes, no, true and false in many languages, alone or before an explanation."""

from __future__ import annotations

import re
from functools import cache

from ..regex import regex
from .words import table

__all__ = ["read_truth"]

_EXPLAINED = regex(
    r"(yes|no|true|false)(?:\s*[,;:(]|\s+-|[.!]\s(?!\s*\d))(?!\s*(?:yes|no|true|false|and|or)\b)",
    re.IGNORECASE,
)


@cache
def _words() -> dict[str, str]:
    return {word: truth for truth, words in table("truths").items() for word in words}


def read_truth(text: str) -> str | None:
    """`yes`, `no`, `true` or `false`; None for other text."""
    folded = text.casefold().strip()
    if truth := _words().get(folded):
        return truth
    match = _EXPLAINED.match(text)
    return match[1].lower() if match else None
