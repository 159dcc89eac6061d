"""What the last sentence of a reply says of what the question asks, where nothing labels its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...caching.regex import regex
from ..language.sentences import repeats, stated
from ..language.truths import read_truth
from ..reading.labels import find_label
from ..same.amounts import stated_amount
from ..same.statements import only_value

__all__ = ["answer_to", "block_answer"]

MAX_CHARS = 200
"""Characters of such a sentence, and of such a block."""

_SENTENCES = regex(r"(?<=[.!?])\s+(?=[A-Z])|(?<=[。！？।])\s*(?=\S)")
_COUNTED = regex(
    r"\b(?:how (?:many|much|far|long|old|tall)"
    r"|what (?:is|was|are|were) the (?:total|number|amount|cost|sum))\b",
    2,
)
_LEAD = regex(
    r"(?:(?:so|thus|therefore|hence|then|and|finally|in total|altogether|as a result|actually|in fact|indeed"
    r"|this means(?: that)?)\b,?\s*)+",
    2,
)
_POLAR = regex(
    r"(?:^|[.?!]\s+)(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had) [^.?!]*\?\s*$", 2
)
"""A question that is answered with yes or no."""
_RESTATED = regex(
    r"(?:,? (?:i\.e\.|that is|in other words|or equivalently),? [^.]*|\s\([^()]*\d[^()]*\))(?=\.?$)", 2
)
"""The same once more at the end of a sentence: `, i.e. 150 minutes`, `(1632–1675)`."""
_SURELY = r"(?:of course|certainly|definitely|absolutely)"
_NOT_SO = regex(
    r"(?:(?:unfortunately|sadly|regrettably|probably|i(?:['’]m| am) afraid|actually),? )?"
    rf"(?:(?P<no>(?:{_SURELY} )?not)|{_SURELY})[.!]?",
    2,
)
"""Yes or no without either word: `Unfortunately not.`"""
_NONE = regex(r"there (?:is|are|was|were) no (?P<what>[^\d,;:]{3,60})\.?", 2)
_SO = regex(r",\s*(?:and )?(?:so|thus|therefore|hence|which leaves|leaving)\s+(?=\S)", 2)
"""What separates the last step of a sentence from those before it."""
_RIGHT = regex(r".*=\s*(?P<right>[^=]+)")
_FENCED = r"```[ \t]*\w*[ \t]*\n(?P<content>[^`]{1,400}?)\n?[ \t]*```\s*"
_BLOCK = regex(rf"\s*{_FENCED}")
_LAST = 600
"""Characters at the end of a reply that hold such a block and the line before it."""
_PRINTED = regex(
    r"(?:^|[\n.!:])(?![^\n]*\b(?:not|never|instead|if|would have)\b)[^\n.!:]{0,80}\b(?:returns|prints|outputs"
    r"|displays|evaluates to|will (?:return|print|output|display|be)|(?:printed )?(?:output|result)(?: is)?)"
    rf"[*_]*:?[*_]*[ \t]*\n\s*{_FENCED}$",
    2,
)
"""A block at the end of a reply, behind a line that says that it is printed or returned."""


def answer_to(
    question: str, concluding: Sequence[str], is_credible: Callable[[str], bool], english: bool
) -> str:
    """What the last of the concluding lines states of the question's things; empty if it states nothing.

    In English also the only number of a sentence behind `how many`: `So she has 17 marbles left.`
    """
    sentences = [s.strip(" *_") for s in _SENTENCES.split(concluding[-1].strip())] if concluding else []
    if not sentences or not 0 < len(sentences[-1]) <= MAX_CHARS or sentences[-1].endswith(("?", "？", "؟")):
        return ""
    last = _LEAD.sub("", _RESTATED.sub("", sentences[-1]), count=1)
    value = (None if english else stated_amount(last, question)) or stated(last, question)
    if value and is_credible(value) and repeats(last.replace(value, "", 1), question):
        return value
    if english and _POLAR.search(question):
        if truth := read_truth(_LEAD.sub("", sentences[0], count=1)):
            return truth
        if found := _NOT_SO.fullmatch(sentences[0]):
            return "No" if found["no"] else "Yes"
    if not english or not _COUNTED.search(question):
        return ""
    if (none := _NONE.fullmatch(last)) and repeats(none["what"], question):
        return "0"
    if found := _RIGHT.fullmatch(last):
        last = found["right"]
    if value := only_value("number", last):
        return value
    clause = _SO.split(last)[-1]
    return only_value("number", clause) or "" if clause != last and repeats(clause, question) else ""


def block_answer(text: str) -> str:
    """The content of a short fenced block that is the whole reply, or its end behind "it prints:"."""
    if not text.rstrip().endswith("```"):
        return ""
    found = _BLOCK.fullmatch(text) or _PRINTED.search(text.rstrip()[-_LAST:])
    content = found["content"].strip() if found else ""
    return "" if any(map(find_label, content.splitlines())) else content
