"""The only amount of a sentence: `12 libros` of `Quedan 12 libros.`

What else the sentence has is of the question, or says nothing beside an amount (`words/amounts.json`), or
concludes: `4,50 €` of `Le prix est donc de 4,50 €.` A word that denies or changes an amount, or a second
number, leaves none.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import pairwise

from ...caching.regex import regex
from ...prose.language import language_of
from ..language.sentences import is_known
from ..reading.parse import Answer, read
from ..words import UNSPACED, table
from .statements import alters_value

__all__ = ["concluded_amount", "stated_amount"]

MAX_CHARS = 200
MAX_VALUE_WORDS = 4
"""Words of an amount: `2 hours 30 minutes`."""
_EDGES = " .!?。！।*_,:"
_MARKS = ',:;.!?*_"“”„«»()'
_LABEL = regex(r"[(\[]?\w[)\].:]+")
"""The letter of an option: `(A) 34` says more than 34."""
_NUMBER = regex(r"(?<![\d.,])\d[\d.,]*")
_DETERMINED = regex(r"\b(?:der|die|das|den|dem|des|eine?[rnms]?|kein\w*|viele|wie ?viele?) ([^\W\d_a-z]\w+)")


@functools.lru_cache(maxsize=4096)
def stated_amount(text: str, question: str) -> str | None:
    """The amount that a sentence states, if all else in it is of the question or a small word; else None."""
    text = " ".join(text.split()).strip(_EDGES)
    if not 0 < len(text) <= MAX_CHARS or _is_amount(read(text)):
        return None
    language = language_of(question) or ("en" if question.isascii() else "")
    if language in UNSPACED:
        return _unspaced(text, question)
    small = table("amounts")["small"].get(language, ())
    words = text.split(" ")

    def is_left_out(word: str) -> bool:
        bare = word.strip(_MARKS).casefold().replace("’", "'")
        if any(c.isdigit() for c in bare) or _LABEL.fullmatch(word):
            return False
        parts = [part for part in bare.split("'") if part]
        return all(part in small or is_known(part, question) or _is_plural(part, question) for part in parts)

    start, end = 0, len(words)
    while start < end and is_left_out(words[start]) and not _is_number(words[start]):
        start += 1
    while end > start and is_left_out(words[end - 1]) and not _is_number(words[end - 1]):
        end -= 1
    left_out = [*words[:start], *words[end:]]
    if not left_out or not 0 < end - start <= MAX_VALUE_WORDS or _names_other(left_out, question, language):
        return None
    if _alters(left_out, language) or any(
        word in _DIGITS.findall(question) for word in _DIGITS.findall(text)
    ):
        return None
    asked = question.casefold()
    if start == 1 and end == len(words) and words[0].strip(_MARKS).casefold() not in asked.split():
        return None  # `chapter 3` counts no chapters
    # What is counted stays: 12 books are no 12 dozen.
    last = len(words)
    while last > end and words[last - 1].strip(_MARKS).casefold() in small:
        last -= 1
    values = (" ".join(words[start:stop]).strip(_EDGES) for stop in range(last, end - 1, -1))
    return next((value for value in values if _is_amount(read(value))), None)


def _alters(words: Sequence[str], language: str) -> bool:
    """Whether one of the words denies or changes an amount, though the question has it too."""
    folded = {word.strip(_MARKS).casefold() for word in words}
    return not folded.isdisjoint(table("amounts")["alters"].get(language, ())) or (
        language == "en" and alters_value(" ".join(words))
    )


_DIGITS = regex(r"\d+")
_LETTERS = regex(r"[^\W\d_]+")


def _is_plural(word: str, question: str) -> bool:
    """Whether the question has a short word without the -s that `word` has, or with one: `pays`."""
    other = word[:-1] if word.endswith("s") else f"{word}s"
    return len(word) > 2 and other in _LETTERS.findall(question.casefold())


@functools.lru_cache(maxsize=1024)
def _is_number(word: str) -> bool:
    return read(word.strip(_MARKS)).kind == "number"


def _is_amount(answer: Answer) -> bool:
    return answer.kind in ("number", "time") and not answer.name


def _names_other(words: Sequence[str], question: str, language: str) -> bool:
    """Whether the words name one of several that the question names: `Bob has 5` where it compares two."""
    asked = question.split()
    if language == "de":
        plain = set(_DETERMINED.findall(question))
        asked = [word for word in asked if word.strip(_MARKS) not in plain]
    names = {
        word.strip(_MARKS)
        for before, word in pairwise(asked)
        if word[:1].isupper() and not before.endswith((".", "?", "!", ":"))
    }
    named = {word.strip(_MARKS) for word in words} & names
    return bool(named) and named != names


def _unspaced(text: str, question: str) -> str | None:
    """The same in a script without spaces: what stands around the number is of the question, or small."""
    text = text.replace("一共", "共")
    found = list(_VALUE.finditer(text))
    if len(found) != 1:
        return None
    before, number, after = text[: found[0].start()], found[0][0], text[found[0].end() :]
    words = table("amounts")["unspaced"]
    if not _consists_of(before, words["before"], question):
        return None
    for end in range(len(after) + 1):
        value = f"{number}{after[:end]}".strip(_EDGES)
        rest = after[end:]
        if (before or rest) and _consists_of(rest, words["after"], question) and _is_amount(read(value)):
            return value
    return None


_VALUE = regex(r"[-−]?[¥￥$€]?(?:\d[\d.,]*|[〇零一二三四五六七八九十百千万億亿]+)")


def _consists_of(text: str, words: Sequence[str], question: str) -> bool:
    """Whether `text` is nothing but `words` and parts of the question of two characters or more."""
    text = text.strip(" 、，,。：:*_")
    while text:
        known = max((len(word) for word in words if text.startswith(word)), default=0)
        length = next((n for n in range(min(len(text), 20), 1, -1) if text[:n] in question), 0)
        if not (taken := max(known, length)):
            return False
        text = text[taken:].lstrip(" 、，,。：:")
    return True


@functools.lru_cache(maxsize=1024)
def concluded_amount(line: str, language: str) -> str:
    """The only amount of the last sentence, if it concludes in a language other than English; else empty.

    It has a word that concludes (`donc`) or a verb of amounts (`beträgt`), one number with only a few words
    behind it, and no word that denies or changes the number.
    """
    tables = table("amounts")
    text = _SENTENCES.split(" ".join(line.split()).rstrip(_ENDS))[-1].strip(_EDGES)
    if len(text) > MAX_CHARS or len(_NUMBER.findall(text)) != 1 or language not in tables["alters"]:
        return ""
    if language in UNSPACED:
        concludes = any(word in text for word in tables["conclusive_unspaced"])
        denied = any(word in text for word in tables["alters"][language])
        return (_unspaced(text, "") or "") if concludes and not denied else ""
    low = f" {text.casefold().replace('’', chr(39))} ".replace(",", " ")
    cues = (*tables["so"].get(language, ()), *tables["verbs"].get(language, ()))
    words = set(low.split())
    if words & set(tables["alters"][language]) or not any(f" {cue} " in low for cue in cues):
        return ""
    found = _AMOUNT_AT_END.search(text)
    if found is None:
        return ""
    parts = found[0].split(" ")
    while len(parts) > 1 and parts[-1].casefold() in tables["small"].get(language, ()):
        parts.pop()
    for end in range(len(parts), 0, -1):
        value = " ".join(parts[:end]).strip(_EDGES)
        if _is_amount(read(value)):
            return value
    return ""


_ENDS = " .!。！।*_"
_SENTENCES = regex(r"(?<=[.!?])\s+(?=[^\W\d_a-z])|(?<=[.。！？।])(?=[\u0900-\uffff])|(?<=।)\s")
_AMOUNT_AT_END = regex(
    r"(?:[€$£¥₹]\s?|\*\*)*(?<![\w.,])[-−]?\d[\d.,]*(?<![.,])[^\s,;:]*(?:\s[^\s\d,;:]+){0,3}$"
)
