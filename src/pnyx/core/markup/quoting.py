"""The lines of a reply, each with whether it is quoted."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..caching.regex import regex
from .fences import closes_fence, opening_fence
from .notation import ascii_punctuation
from .reasoning import split

__all__ = ["Line", "lines"]


class Line(NamedTuple):
    """One line of a reply. quoted: in a code fence, a block quotation, or a quotation of several lines."""

    text: str
    quoted: bool = False


_BLOCK = regex(r"^[ \t]*<(?P<opens>m[0-9a-f]{10})(?:\s[^<>\n]*)?>|</(?P<closes>m[0-9a-f]{10})>", re.MULTILINE)
"""The fences in which a prompt shows material (`text.Draft`)."""

_BLOCKQUOTE = regex(r"\s*(?:(?:[-*+]|\d+[.)])\s+)?>")
_QUOTE_OPENS = regex(r'(?:^|(?<=[\s(:,]))"(?=\S)')
_QUOTE_CLOSES = regex(r'(?<=\S)"')


def lines(text: str) -> list[Line]:
    """The lines of `text`, in ASCII punctuation (see `notation.ascii_punctuation`).

    Reasoning, material copied from a prompt's fences, and repeated empty lines are left out.
    """
    found = list[Line]()
    fence, in_quotation = "", False
    for line in _without_blocks(ascii_punctuation(split(text).answer)).splitlines():
        if not line and found and not found[-1].text:
            continue
        if fence:
            found.append(Line(line, True))
            fence = "" if closes_fence(line, fence) else fence
        elif (fence := opening_fence(line)) or _BLOCKQUOTE.match(line):
            found.append(Line(line, True))
            in_quotation = False
        else:
            # A quotation of several lines ends no later than its paragraph.
            in_quotation = in_quotation and bool(line.strip())
            found.append(Line(line, in_quotation))
            if '"' in line:
                in_quotation = _in_quotation_after(line, in_quotation)
    return found


def _without_blocks(text: str) -> str:
    if "<" not in text:
        return text
    parts, start, inside = list[str](), 0, ""
    for tag in _BLOCK.finditer(text):
        if tag["opens"] and not inside:
            parts.append(text[start : tag.start()])
            inside = tag["opens"]
        elif tag["closes"] and tag["closes"] == inside:
            start, inside = tag.end(), ""
    return "\n".join([*parts, *([] if inside else [text[start:]])])


def _in_quotation_after(line: str, in_quotation: bool) -> bool:
    """Whether a quotation is open at the end of `line`. in_quotation: whether one is open at its start."""
    at = 0
    while match := (_QUOTE_CLOSES if in_quotation else _QUOTE_OPENS).search(line, at):
        at, in_quotation = match.end(), not in_quotation
    return in_quotation
