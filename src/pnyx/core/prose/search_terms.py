"""The words of a text for full-text search, folded in the same way for every database.

Databases disagree about what a word is and which accents matter. They receive words of letters and digits
with one space between them, and only stem and count those.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from ...errors import UsageError
from ..caching.regex import regex

__all__ = ["MAX_CHARS", "Snippet", "fold_words", "folded", "query_terms", "snippet"]

MAX_CHARS = 50_000
"""Characters of a text that are indexed; PostgreSQL can store about twice as many in one row."""
MAX_TERMS = 100
MAX_HITS = 500
"""Hits in a text that are considered for its snippet."""
WIDTH = 200
"""Characters of a snippet."""

Snippet = tuple[tuple[str, bool], ...]
"""The pieces of an excerpt in order, each with whether it is a hit."""

_WORD_CHARS = 60
_ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"  # CJK, Korean
)
"""Scripts without spaces between words, or without a stemmer here: each character is a word."""
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f"  # accents, Hebrew and Arabic points
    "\u0900-\u0903\u093a-\u094f\u0951-\u0963\u0980-\u0dff"  # vowels of the scripts of India
)
"""Marks that belong to the letter before them, and that Python does not count as letters."""
_WORD = regex(rf"[^\W_{_ALONE}]+(?:[{_MARKS}]+[^\W_{_ALONE}]*)*|(?=[{_ALONE}])[^\W_]")
_PLAIN = bytes(ord(char.lower()) if char.isalnum() else ord(" ") for char in map(chr, range(128))) + bytes(
    128
)
"""What each character of ASCII is folded to; a pattern takes four times as long to find the words."""
_PUNCTUATION = regex("[\u2000-\u206f]")
"""Often the only characters of a text outside ASCII; none is a part of a word."""
_CHUNK = regex(rf"[\w{_MARKS}{_ALONE}]+(?:[-'\u2019./@:&+][\w{_MARKS}{_ALONE}]+)*")
_BLANK, _UNTIL_BLANK = regex(r"\s"), regex(r"(?s:.*)\s")
_PHRASE = regex(r'"([^"]*)"')
_FUNCTION_WORD = regex(
    "an?|and|any|are|as|at|be|been|but|by|can|could|did|do|does|for|from|had|has|have|how|i|if|in|is|its?"
    "|me|my|no|not|of|on|or|our|shall|should|so|such|than|that|the|their|them|then|there|these|they|this|to"
    "|us|was|we|were|what|when|where|which|while|who|whose|why|will|with|would|your?"
)


def fold_words(text: str) -> str:
    """The folded words of the first `MAX_CHARS` characters of `text`, with one space between them."""
    return " ".join(folded(text))


def folded(text: str) -> list[str]:
    """The same words, in order."""
    start = _start(text)
    if start.isascii():
        words = _plain(start).split()
        return words if all(map(_WORD_CHARS.__ge__, map(len, words))) else [w[:_WORD_CHARS] for w in words]
    return [word for _, _, word in _words(start)]


def query_terms(text: str) -> list[str]:
    """The distinct terms of a search query: words, and phrases with one space between their words.

    Text in double quotes is a phrase, and so are joined words ("self-host"). Function words ("what", "the")
    are dropped if other terms remain. Raises `UsageError` if `text` has no word.
    """
    phrases = [fold_words(quoted) for quoted in _PHRASE.findall(text)]
    plain = [fold_words(chunk) for chunk in _CHUNK.findall(_PHRASE.sub(" ", text))]
    content = [term for term in plain if not _FUNCTION_WORD.fullmatch(term)]
    found = [*filter(None, phrases), *filter(None, content)] or [*filter(None, plain)]
    if not found:
        raise UsageError("the search text has no word; enter at least one word of letters or digits")
    return list(dict.fromkeys(found))[:MAX_TERMS]


def snippet(text: str, hits: Collection[int]) -> Snippet:
    """The excerpt of `text` with the most distinct hits, on one line. hits: word numbers in `fold_words`."""
    wanted = sorted(hits)[:MAX_HITS]
    found = _words_at(text, wanted) if wanted else []
    if not found:
        return ((" ".join(text[:WIDTH].split()), False),) if text.strip() else ()
    best = max((_cluster(found, n) for n in range(len(found))), key=lambda some: len({w for *_, w in some}))
    low, high = _window(text, best[0][0], best[-1][1])
    pieces, at = [], low
    for start, end, _ in best:
        pieces += [(text[at:start], False), (text[start:end], True)]
        at = end
    pieces.append((text[at:high], False))
    parts = [(_on_a_line(piece), hit) for piece, hit in pieces]
    before, after = ("… " if low else ""), (" …" if high < len(text) else "")
    parts[0] = (before + parts[0][0].lstrip(), False)
    parts[-1] = (parts[-1][0].rstrip() + after, False)
    return tuple((piece, hit) for piece, hit in parts if piece)


def _on_a_line(piece: str) -> str:
    if piece.isprintable() and "  " not in piece:
        return piece  # nearly all, of which a search of 1,000 runs has 6,000
    return re.sub(r"\s+", " ", piece)


Word = tuple[int, int, str]


def _words(start: str) -> Iterator[Word]:
    """Yield the start, the end and the folded form of each word of what `_start` returned."""
    for found in _WORD.finditer(start):
        if word := _fold(found[0]):
            yield found.start(), found.end(), word


def _words_at(text: str, numbers: Sequence[int]) -> list[Word]:
    """Those of the words with these numbers, in ascending order, that `text` has."""
    start = _start(text)
    if start.isascii():
        rest, at, found = _plain(start), 0, list[Word]()
        for n in numbers:
            *before, rest = rest.split(None, n - at) or [""]
            if not rest or len(before) < n - at:
                break
            at, begin, word = n, len(start) - len(rest), rest.split(None, 1)[0]
            found.append((begin, begin + len(word), word[:_WORD_CHARS]))
        return found
    until = list(islice(_words(start), numbers[-1] + 1))
    return [until[n] for n in numbers if n < len(until)]


def _plain(start: str) -> str:
    """A text in ASCII in lower case, with spaces in place of all but letters and digits."""
    return start.encode().translate(_PLAIN).decode()


def _start(text: str) -> str:
    """What is indexed of `text`, with spaces in place of dashes and quotation marks outside ASCII."""
    start = text[:MAX_CHARS]
    return start if start.isascii() else _PUNCTUATION.sub(" ", start)


def _fold(word: str) -> str:
    """`word` without case, accents and compatibility forms of letters."""
    if word.isascii():
        return word[:_WORD_CHARS].lower()
    decomposed = unicodedata.normalize("NFKD", word).casefold()
    return unicodedata.normalize("NFC", "".join(filter(_distinguishes, decomposed)))[:_WORD_CHARS]


def _distinguishes(character: str) -> bool:
    """Whether `character` distinguishes words: vowel and voicing marks do (classes to 9), accents do not."""
    if unicodedata.category(character).startswith("M"):
        return unicodedata.combining(character) <= 9
    return character.isalnum()


def _cluster(found: list[Word], first: int) -> list[Word]:
    """The words from number `first` on that fit into one snippet."""
    last = first + 1
    while last < len(found) and found[last][1] - found[first][0] <= WIDTH:
        last += 1
    return found[first:last]


def _window(text: str, start: int, end: int) -> tuple[int, int]:
    """The start and end of the excerpt around `text[start:end]`, at white space if there is some nearby."""
    spare = max(WIDTH - (end - start), 0)
    low = max(0, start - spare // 2)
    high = min(len(text), low + (end - start) + spare)
    low = max(0, min(low, high - WIDTH))
    if low and (blank := _BLANK.search(text, low, start)):
        low = blank.end()
    if high < len(text) and (blanks := _UNTIL_BLANK.match(text, end, high)):
        high = blanks.end() - 1
    return low, high
