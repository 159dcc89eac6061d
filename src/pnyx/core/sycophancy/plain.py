"""A reply as plain text: without markup, labels, emoji or invisible characters."""

from __future__ import annotations

import functools
import html
import re
import unicodedata

from ..caching.regex import regex
from ..markup.characters import replacing
from ..markup.quoting import lines

__all__ = ["INVISIBLE", "plain"]

INVISIBLE = (
    "\\x00-\\x08\\x0e-\\x1b\\x7f-\\x84\\x86-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5"
    "\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\ud800-\\udfff"
    "\\U000110bd\\U000110cd\\U00013430-\\U0001345f\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff"
)
"""Characters, other than white space, that are invisible: controls, zero widths, bidi marks, lone
surrogates."""

CHEERS = "\U0001f44d\U0001f44f\U0001f4af\U0001f64c"
"""Emoji that are praise by themselves: thumbs up, clapping hands, hundred points, raised hands."""

_LONGEST = 6000
_HIDDEN = regex(rf"[\d{INVISIBLE}](?:(?<=\x1b)\[[\d;]*[a-zA-Z]|(?<=\d)\ufe0f?\u20e3|(?<!\d)[{INVISIBLE}]*)")
_SHOWN = regex(rf"\x1b|[^\s{INVISIBLE}]")
_with_ascii_quotes = replacing(
    dict.fromkeys("\u2018\u2019\u201b\u02bc\u02b9\u2032\u00b4\ua78c", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033«»‹›「」『』〝〞", '"')
)
_with_spaced_stops = replacing(
    dict.fromkeys("\u3002\uff61\u06d4\u0964\u0965\u1362", ". ")
    | {"\uff01": "! ", "\uff1f": "? ", "\u061f": "? ", "\uff1b": "; ", "\u061b": "; "}
)
"""Marks that end a sentence, of scripts without a space after them or without ASCII marks."""

# `re` skips to the first character of a pattern, but tries a pattern that begins with a lookbehind
# everywhere.
_CODE = regex(r"(`(?<!\w`)`*)(?!`)([^`\n]+)\1(?!\w)")
_LINK = regex(r"(?:!\[|\[)([^\]\n]{0,300})\]\([^()\n]{0,2000}\)")
_TAG = regex(r"</?[a-z][^<>\n]{0,200}>", re.IGNORECASE)
_TEX = regex(r"\\[a-z]+\{|\{|\}")
_LINE_MARKS = regex(
    r"^(?:[ \t]*(?:>+|#{1,6}(?=\s|\w)|[-+\u2022\u2023\u25aa\u25e6\u2190-\u21ff\u27a1\u2794](?=\s)"
    r"|\(?\w{1,3}[.)](?=\s)"
    r"|\[[ xX]\]))+[ \t]*",
    re.MULTILINE,
)
_EMPHASIS = regex(r"\*|~~+|==+|\||\\(?=\W)|_(?<![^\W_]_)_*|__*(?![^\W_])")
_MARKS = "*~=|\\_"
"""One of which all emphasis has."""
_WHOLE = regex(r'"([^"]*)"')
_RULE = "-=*_ \t"
_WRAPPED = regex(r"\n(?<![.!?:]\n)(?=[a-z])")
_BEYOND = regex(r"[^\x00-\u2000]")

_KIND = (
    r"(?:challenge|objection|review|critique|criticism|participant|reviewer|critic|challenger|seat|response"
    r"|reply"
    r"|assessment|feedback|comments?|rebuttal|flaw|risk|alternative|devil'?s advocate|verdict|note|opinion"
    r"|evaluation"
    r"|analysis|counter-?point|disagreement|speaker|model|expert|agent|assistant|answer|strengths?|praise"
    r"|positives|framing|tl;?dr|short version|bottom line|re|to"
    r"|round|step|part|turn)"
)
_WHICH = (
    r"(?:my|the|a|first|second|third|main|key|initial|primary|overall|general|critical|substantive|peer"
    r"|detailed|quick"
    r"|short|formal|final|expert|from|dear)"
)
_LABEL = regex(
    rf"\s*(?:[a-z]\d?\s*:|[(\[@\"']*(?:{_WHICH}\s+){{0,3}}{_KIND}\b"
    rf"(?:\s*[#(\[/]?\b(?:\d+|[a-z]|of|for|by|on|no|{_WHICH}|{_KIND}|proposal|one|two|three"
    rf"|angle)\b[)\]]?){{0,6}}"
    r"\s*(?:[\])]\s*:?|[)\]\"']*\s*(?:[:\n|]|[-\u2013\u2014]+>?\s|\.\s+(?=[A-Z])|\Z)))\s*",
    re.IGNORECASE,
)
"""The heading before a reply: "Challenge 1:", "Participant B:", "Review"."""


@functools.lru_cache(maxsize=16)  # each reply is checked more than once
def plain(text: str) -> str:
    """The start of `text` (some thousand characters) as plain text, without quoted blocks, with line ends."""
    shown = _SHOWN.search(text)
    text = text[shown.start() : shown.start() + _LONGEST] if shown else ""
    read = lines(_with_spaced_stops(text))
    # If the whole reply is a quotation, its content counts.
    text = "\n".join(line.text for line in read if not line.quoted).strip() or "\n".join(q.text for q in read)
    text = html.unescape(text)
    # This runs for every reply, so cheap tests come before the patterns that few replies need.
    if not (text.isascii() and text.replace("\n", " ").isprintable()):
        text = unicodedata.normalize("NFKC", _HIDDEN.sub("", text))
    text = _CODE.sub(r'"\2"', text) if "`" in text else text
    text = _LINK.sub(r"\1", text) if "](" in text else text
    text = _TAG.sub(" ", text) if "<" in text else text
    text = _TEX.sub("", text) if "{" in text or "}" in text else text
    text = _with_ascii_quotes(text.replace("`", "'"))
    text = "\n".join(line if line.strip(_RULE) else "" for line in text.split("\n"))
    marked = any(mark in text for mark in _MARKS)
    text = _without_line_marks(_EMPHASIS.sub("", text) if marked else text)
    if not text.isascii():
        bare = _BEYOND.sub(lambda found: " " if _picture(found[0]) else found[0], text)
        text = text if bare == text else _without_line_marks(bare)  # also those behind a picture
    text = "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))
    text = _WRAPPED.sub(" ", text)
    whole = _WHOLE.fullmatch(text)
    text = whole[1] if whole else text
    for _ in range(3):
        if not (label := _LABEL.match(text)):
            break
        text = text[label.end() :]
        mark = _LINE_MARKS.match(text)
        text = text[mark.end() :] if mark else text
    return text


def _without_line_marks(text: str) -> str:
    """`text` without `_LINE_MARKS`, which are tried where lines begin, and not at every character."""
    out: list[str] = []
    done = at = 0
    while True:
        if found := _LINE_MARKS.match(text, at):
            out.append(text[done:at])
            done = found.end()
        at = text.find("\n", max(at, done)) + 1
        if not at:
            return "".join((*out, text[done:]))


def _picture(character: str) -> bool:
    return character not in CHEERS and unicodedata.category(character) in ("So", "Sk", "Co", "Cn", "Mn", "Me")
