"""The lines of a reply, each with whether it is quoted."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..regex import regex
from .notation import ascii_punctuation

__all__ = ["Line", "lines", "strip_thinking"]


class Line(NamedTuple):
    """One line of a reply. quoted: in a code fence, a block quotation, or a quotation of several lines."""

    text: str
    quoted: bool = False


_THINKING = ("think", "thinking", "reasoning", "scratchpad")
_BLOCKS = rf"{'|'.join(_THINKING)}|m[0-9a-f]{{10}}"
_BLOCK = regex(
    rf"^[ \t]*<(?P<opens>{_BLOCKS})(?:\s[^<>\n]*)?>|</(?P<closes>{_BLOCKS})>", re.IGNORECASE | re.MULTILINE
)
"""Tags of thinking aloud, and the fences in which a prompt shows material (`text.Draft`)."""

_FENCE = regex(r"[\s>]*(?:(?:[-*+]|\d+[.)])\s+)?(`{3,}|~{3,})")
_BLOCKQUOTE = regex(r"\s*(?:(?:[-*+]|\d+[.)])\s+)?>")
_QUOTE_OPENS = regex(r'(?:^|(?<=[\s(:,]))"(?=\S)')
_QUOTE_CLOSES = regex(r'(?<=\S)"')


def lines(text: str) -> list[Line]:
    """The lines of `text`, in ASCII punctuation (see `notation.ascii_punctuation`).

    Thinking aloud, material copied from a prompt's fences, and repeated empty lines are left out.
    """
    found = list[Line]()
    fence, in_quotation = "", False
    for line in _without_blocks(ascii_punctuation(text)).splitlines():
        if not line and found and not found[-1].text:
            continue
        if fence:
            found.append(Line(line, True))
            fence = "" if _closes(line, fence) else fence
        elif (fence := _opening_fence(line)) or _BLOCKQUOTE.match(line):
            found.append(Line(line, True))
            in_quotation = False
        else:
            # A quotation of several lines ends no later than its paragraph.
            in_quotation = in_quotation and bool(line.strip())
            found.append(Line(line, in_quotation))
            if '"' in line:
                in_quotation = _in_quotation_after(line, in_quotation)
    return found


def strip_thinking(text: str) -> str:
    """`text` after the last closing tag of thinking aloud without an opening tag, which ended the prompt."""
    start, inside = 0, ""
    for tag in _BLOCK.finditer(text):
        opens, closes = (tag["opens"] or "").lower(), (tag["closes"] or "").lower()
        if not inside and closes in _THINKING:
            start = tag.end()
        inside = opens if opens and not inside else "" if closes == inside else inside
    return text[start:]


def _without_blocks(text: str) -> str:
    if "<" not in text:
        return text
    parts, start, inside = list[str](), 0, ""
    for tag in _BLOCK.finditer(text):
        opens, closes = (tag["opens"] or "").lower(), (tag["closes"] or "").lower()
        if opens and not inside:
            parts.append(text[start : tag.start()])
            inside = opens
        elif closes and closes == inside:
            start, inside = tag.end(), ""
        elif not inside and closes in _THINKING:
            # The opening tag ended the prompt, so everything before this tag is thinking aloud.
            parts, start = [], tag.end()
    return "\n".join([*parts, *([] if inside else [text[start:]])])


def _opening_fence(line: str) -> str:
    """The code fence that `line` opens, else empty; backticks that close on the same line are inline code."""
    match = _FENCE.match(line)
    return match[1] if match and not (match[1][0] == "`" and "`" in line[match.end() :]) else ""


def _closes(line: str, fence: str) -> bool:
    match = _FENCE.match(line)
    return match is not None and match[1].startswith(fence) and not line[match.end() :].strip()


def _in_quotation_after(line: str, in_quotation: bool) -> bool:
    """Whether a quotation is open at the end of `line`. in_quotation: whether one is open at its start."""
    at = 0
    while match := (_QUOTE_CLOSES if in_quotation else _QUOTE_OPENS).search(line, at):
        at, in_quotation = match.end(), not in_quotation
    return in_quotation
