"""Telling what the writer of a reply says from what the reply quotes."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..regex import regex
from .notation import punctuation

__all__ = ["Line", "lines", "unthought"]


class Line(NamedTuple):
    """One line of a reply. quoted: in a code fence, a block quotation, or a quotation of several lines."""

    text: str
    quoted: bool = False


_THINKING = ("think", "thinking", "reasoning", "scratchpad")
_BLOCKS = rf"{'|'.join(_THINKING)}|m[0-9a-f]{{10}}"
_BLOCK = regex(
    rf"^[ \t]*<(?P<opens>{_BLOCKS})(?:\s[^<>\n]*)?>|</(?P<closes>{_BLOCKS})>", re.IGNORECASE | re.MULTILINE
)
"""Thinking aloud, and the fences in which a prompt shows what others said (`text.Draft`)."""

_FENCE = regex(r"[\s>]*(?:(?:[-*+]|\d+[.)])\s+)?(`{3,}|~{3,})")
_BLOCKQUOTE = regex(r"\s*(?:(?:[-*+]|\d+[.)])\s+)?>")
_QUOTE_OPENS = regex(r'(?:^|(?<=[\s(:,]))"(?=\S)')
_QUOTE_CLOSES = regex(r'(?<=\S)"')


def lines(text: str) -> list[Line]:
    """The lines of `text`, in ASCII punctuation (see `notation.punctuation`).

    Thinking aloud and material copied from a prompt's fences are left out, repeated empty lines too.
    """
    found = list[Line]()
    fence, in_quotation = "", False
    for line in _without_blocks(punctuation(text)).splitlines():
        if not line and found and not found[-1].text:
            continue
        if fence:
            found.append(Line(line, True))
            fence = "" if _closes(line, fence) else fence
        elif (fence := _opened(line)) or _BLOCKQUOTE.match(line):
            found.append(Line(line, True))
            in_quotation = False
        else:
            # A quotation of several lines ends with its paragraph at the latest.
            in_quotation = in_quotation and bool(line.strip())
            found.append(Line(line, in_quotation))
            if '"' in line:
                in_quotation = _quoting_after(line, in_quotation)
    return found


def unthought(text: str) -> str:
    """`text` after a closing tag of thinking aloud whose opening tag stood at the end of the prompt."""
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
    kept, start, inside = list[str](), 0, ""
    for tag in _BLOCK.finditer(text):
        opens, closes = (tag["opens"] or "").lower(), (tag["closes"] or "").lower()
        if opens and not inside:
            kept.append(text[start : tag.start()])
            inside = opens
        elif closes and closes == inside:
            start, inside = tag.end(), ""
        elif not inside and closes in _THINKING:
            # Its opening tag stood at the end of the prompt, so all before it was thought.
            kept, start = [], tag.end()
    return "\n".join([*kept, *([] if inside else [text[start:]])])


def _opened(line: str) -> str:
    """The code fence that `line` opens; a run of backticks closed on its own line is code in a sentence."""
    match = _FENCE.match(line)
    return match[1] if match and not (match[1][0] == "`" and "`" in line[match.end() :]) else ""


def _closes(line: str, fence: str) -> bool:
    match = _FENCE.match(line)
    return match is not None and match[1].startswith(fence) and not line[match.end() :].strip()


def _quoting_after(line: str, quoting: bool) -> bool:
    """Whether a quotation is open at the end of `line`, given whether one was at its start."""
    at = 0
    while match := (_QUOTE_CLOSES if quoting else _QUOTE_OPENS).search(line, at):
        at, quoting = match.end(), not quoting
    return quoting
