"""An answer without what stands around it: its label, words that say how sure it is, a remark in brackets."""

from __future__ import annotations

import functools

from ...caching.regex import regex
from ..reading.envelopes import whole_object_answer
from ..reading.labels import find_label, labels_in, without_ending
from ..reading.parse import MAX_CHARS, read

__all__ = ["without_hedge", "without_label"]


@functools.lru_cache(maxsize=4096)
def without_label(value: str) -> str:
    """The value behind a label such as `Answer:` or `The answer is`, or a hedge, or in a JSON object."""
    if len(value) > MAX_CHARS:
        return value
    if value[:1] == "{":
        return whole_object_answer(value) or value
    if not value[:1].isalpha():
        return value
    if (label := find_label(value)) and label.rest.strip(" .,:;*_"):
        return without_ending(label.rest.strip(), label.languages)
    if label := next(labels_in(value), None):
        rest = without_ending(label.rest.strip(), label.languages)
        lead = value.removesuffix(label.rest)
        if len(lead.split()) <= 4 and read(rest).kind not in ("text", "truth"):
            return rest
    return value


@functools.lru_cache(maxsize=4096)
def without_hedge(value: str) -> str:
    """`value` without words that say only how sure it is, and without a remark in brackets."""
    if not value[:1].isalnum() or len(value) > MAX_CHARS:
        return value
    if denied := _NOT_OTHER.fullmatch(value):
        value = denied[1]
    return _ASIDE.sub("", _HEDGE.sub("", value, count=1)) or value


_NOT_OTHER = regex(r"((?!(?:not|neither|no)\b)[^\s,][^,]{0,60}), (?:and )?not (?:[^\s,]+ ?){1,4}")
_ASIDE = regex(
    r"\s+\((?:approx(?:imately|\.)?|about|rounded[^()]*|exact(?:ly)?"
    r"|(?:a )?(?:double|triple|repeated|simple) root|multiplicity \d|with multiplicity \d|twice"
    r"|(?:the|which|i\.e\.|since|because|as|not|formerly|also known as|aka) [^()]{2,80}"
    r"|masculine|feminine|neuter|noun|verb|adjective)\)$"
    r"|(?<=[^\W\d_]{3}), (?:because|since) [^\n]{2,120}$",
    2,
)
_HEDGE = regex(
    r"(?:i (?:think|believe|guess|would say)(?: that)? |(?:it|that)(?: is|['’]s| was) (?!not\b|no\b|n['’]t\b)"
    r"|(?:most )?(?:probably|likely) )+(?=\S)",
    2,
)
"""Words before an answer that say only how sure it is."""
