"""Splits the texts of a council: a review at its headings, a rebuttal at its new proposal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from ...core.caching.regex import regex
from ...core.parsing.authorship import Unreadable, own_lines
from ...core.parsing.directives import Labels, strip_punctuation
from ...core.parsing.translations import in_english
from ..shared.reply_parts import replacement, text_below

__all__ = ["review_of", "split_rebuttal"]

_NEW = regex(r"[\s#*_`]*new\s+proposal[\s*_`]*(?::[ \t*_`]*|$)", re.IGNORECASE)
_NONE = regex(r"\W*(?:none|unchanged|no|not(?:\s+(?:needed|necessary|changed))?)?\W*", re.IGNORECASE)


def split_rebuttal(rebuttal: str) -> tuple[str, str]:
    """Return the rebuttal and the new proposal below `NEW PROPOSAL:`; "" if the old proposal stays."""
    written, heads = rebuttal.splitlines(), list[int]()
    with suppress(Unreadable):  # too long to contain a new proposal
        heads = own_lines(rebuttal, _NEW)
    if not heads:
        return rebuttal.strip(), ""
    place = heads[-1]
    new = text_below(written, place, _NEW.sub("", in_english(written[place], _NEW), count=1))
    return "\n".join(written[:place]).strip(), "" if _NONE.fullmatch(new) else replacement(new)


_HEADING = regex(
    r"\s*(?:#+|\*\*|(?=[^\n]{1,40}:?\s*$))\W*(?:reviews?(?:\s+of)?\b)?(?P<name>.{1,40})", re.IGNORECASE
)


def review_of(author: str, review: str, labels: Sequence[str]) -> str:
    """Return the part of `review` about `author`'s proposal: all of it without headings, "" for none."""
    names, about = Labels(labels), ""
    parts: dict[str, list[str]] = {"": []}
    for line in review.splitlines():
        heading = _HEADING.fullmatch(line)
        named = names.first(heading["name"]) if heading else None
        if (
            named
            and named.label
            and not strip_punctuation(re.sub(r"(?i)'s|proposal|review|answer", "", named.rest))
        ):
            about = named.label
        else:
            parts.setdefault(about, []).append(line)
    return "\n".join(parts.get(author, []) if len(parts) > 1 else parts[""]).strip()
