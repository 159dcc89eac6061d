"""The words of a text as they are looked for: folded alike wherever the text is kept.

Databases differ in what they take for a word and in which accents they see, so neither is asked: both
are handed words of letters and digits with one blank between them, and only stem and count those.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator

from ..errors import UsageError
from .regex import regex

__all__ = ["LONGEST", "Snippet", "indexed", "snippet", "terms"]

LONGEST = 50_000
"""Characters of a text that are looked at: twice that many is what PostgreSQL holds of one row."""
MOST_TERMS = 100
MOST_HITS = 500
"""Places in a text that are weighed for its snippet."""
WIDTH = 200
"""Characters of a snippet."""

Snippet = tuple[tuple[str, bool], ...]
"""Pieces of a text in their order, each with whether it is what was looked for."""

_WORD_CHARS = 60
_ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"  # CJK, Korean
)
"""Scripts whose words no blank sets apart, or whose endings no stemmer here knows: a character is a word."""
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f"  # accents, Hebrew and Arabic points
    "\u0900-\u0903\u093a-\u094f\u0951-\u0963\u0980-\u0dff"  # vowels of the scripts of India
)
"""What belongs to the letter before it, and is none for Python."""
_WORD = regex(rf"[^\W_{_ALONE}]+(?:[{_MARKS}]+[^\W_{_ALONE}]*)*|(?=[{_ALONE}])[^\W_]")
_PLAIN = regex(rf"([a-z0-9]{{1,{_WORD_CHARS}}})[a-z0-9]*")
_CHUNK = regex(rf"[\w{_MARKS}{_ALONE}]+(?:[-'\u2019./@:&+][\w{_MARKS}{_ALONE}]+)*")
_PHRASE = regex(r'"([^"]*)"')
_FUNCTION_WORD = regex(
    "an?|and|any|are|as|at|be|been|but|by|can|could|did|do|does|for|from|had|has|have|how|i|if|in|is|its?"
    "|me|my|no|not|of|on|or|our|shall|should|so|such|than|that|the|their|them|then|there|these|they|this|to"
    "|us|was|we|were|what|when|where|which|while|who|whose|why|will|with|would|your?"
)


def indexed(text: str) -> str:
    """The words of `text` with a blank between them, of its first `LONGEST` characters."""
    if (start := text[:LONGEST]).isascii():
        # The same words in a quarter of the time: this is done at the beginning and the end of every run.
        return " ".join(_PLAIN.findall(start.lower()))
    return " ".join(folded for _, _, folded in _words(text))


def terms(text: str) -> list[str]:
    """What somebody looks for: words, and phrases of several with a blank between, none twice.

    What stands in double quotes is a phrase, and so is what is joined ("self-host"). Words that are in
    every text ("what", "the") are left out where others remain. Raises `UsageError` without any word.
    """
    phrases = [indexed(quoted) for quoted in _PHRASE.findall(text)]
    loose = [indexed(chunk) for chunk in _CHUNK.findall(_PHRASE.sub(" ", text))]
    telling = [term for term in loose if not _FUNCTION_WORD.fullmatch(term)]
    found = [*filter(None, phrases), *filter(None, telling)] or [*filter(None, loose)]
    if not found:
        raise UsageError("there is no word in that to look for")
    return list(dict.fromkeys(found))[:MOST_TERMS]


def snippet(text: str, hits: Collection[int]) -> Snippet:
    """Where most of the words with the numbers `hits` (in `indexed`) stand together; on one line."""
    found = [word for n, word in enumerate(_words(text)) if n in hits][:MOST_HITS]
    if not found:
        return ((" ".join(text[:WIDTH].split()), False),) if text.strip() else ()
    near = max((_together(found, n) for n in range(len(found))), key=lambda some: len({w for *_, w in some}))
    low, high = _window(text, near[0][0], near[-1][1])
    pieces, at = [], low
    for start, end, _ in near:
        pieces += [(text[at:start], False), (text[start:end], True)]
        at = end
    pieces.append((text[at:high], False))
    told = [(re.sub(r"\s+", " ", piece), hit) for piece, hit in pieces]
    before, after = ("… " if low else ""), (" …" if high < len(text) else "")
    told[0] = (before + told[0][0].lstrip(), False)
    told[-1] = (told[-1][0].rstrip() + after, False)
    return tuple((piece, hit) for piece, hit in told if piece)


Word = tuple[int, int, str]


def _words(text: str) -> Iterator[Word]:
    """Where each word of `text` begins and ends, and how it is looked for."""
    for found in _WORD.finditer(text[:LONGEST]):
        if word := _folded(found[0]):
            yield found.start(), found.end(), word


def _folded(word: str) -> str:
    """Without case, accents and what is only another form of a letter."""
    if word.isascii():
        return word[:_WORD_CHARS].lower()
    apart = unicodedata.normalize("NFKD", word).casefold()
    return unicodedata.normalize("NFC", "".join(filter(_tells, apart)))[:_WORD_CHARS]


def _tells(character: str) -> bool:
    """Whether it makes another word; of marks, vowels and voicing do (classes up to 9), accents do not."""
    if unicodedata.category(character).startswith("M"):
        return unicodedata.combining(character) <= 9
    return character.isalnum()


def _together(found: list[Word], first: int) -> list[Word]:
    """Those from the one numbered `first` on that fit one snippet with it."""
    last = first + 1
    while last < len(found) and found[last][1] - found[first][0] <= WIDTH:
        last += 1
    return found[first:last]


def _window(text: str, start: int, end: int) -> tuple[int, int]:
    """The part of `text` to show around what was found, from a blank to a blank where there is one near."""
    spare = max(WIDTH - (end - start), 0)
    low = max(0, start - spare // 2)
    high = min(len(text), low + (end - start) + spare)
    low = max(0, min(low, high - WIDTH))
    if low and (blank := re.search(r"\s", text[low:start])):
        low += blank.end()
    if high < len(text) and (blanks := list(re.finditer(r"\s", text[end:high]))):
        high = end + blanks[-1].start()
    return low, high
