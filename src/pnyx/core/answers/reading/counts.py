"""Words that are a number, or a truth, only where the question asks for one: `none`, `twice`, `F`."""

from __future__ import annotations

from functools import cache

from ...caching.regex import regex
from ..words import table
from .hints import Hints

__all__ = ["in_digits"]

MAX_CHARS = 40
_NONE = regex(
    r"(\S+(?: \S+)??)(?: (?:real )?(?:solutions?|roots?|values?|such \w+|of (?:them|these)|at all))?"
)


@cache
def _words() -> dict[str, str]:
    counts = table("counts")
    found = dict.fromkeys(counts["none"], "0") | dict.fromkeys(counts["infinite"], "infinity")
    return found | {word: f"{n} times" for word, n in counts["times"].items()}


def in_digits(text: str, hints: Hints) -> str:
    """`text` in digits if it is a count in words and the question asks for one; else as it is."""
    if len(text) > MAX_CHARS:
        return text
    folded = text.strip(" .!").casefold()
    if folded.startswith("\\text{") and folded.count("{") == 1:
        folded = folded.removeprefix("\\text{").removesuffix("}")
    if hints.true_or_false and folded in ("t", "f"):
        return "true" if folded == "t" else "false"
    if not hints.counted:
        return text
    if word := _words().get(folded):
        return word
    match = _NONE.fullmatch(folded)
    return "0" if match and _words().get(match[1]) == "0" else text
