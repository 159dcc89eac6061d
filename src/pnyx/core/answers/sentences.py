"""What a sentence says of the things in the question: `Paris` of `The capital of France is Paris.`"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from functools import cache

from ..language import language_of
from ..regex import regex
from .words import table

__all__ = ["stated"]

MAX_CHARS = 200
MAX_WORDS = 6
"""Words of what is stated. A longer rest is a sentence of its own."""
STEM = 4
"""Letters in which two forms of a word agree: `Stolicą`, `stolica`."""

_WORD = regex(r"[^\s,;:.!?。！？、，؟।\"“”„«»()]+")
_EDGES = " .!。！।"


@functools.lru_cache(maxsize=4096)
def stated(text: str, question: str) -> str | None:
    """What a sentence says, if all else in it is of the question; None for other text.

    `Tom is 24 years old` and `It is Paris` state something, `Tom is not 24` and `Ann is 24` do not, if the
    question is about Tom. A sentence that only repeats the question states nothing.
    """
    if not 0 < len(text) <= MAX_CHARS:
        return None
    text = " ".join(text.split()).strip(_EDGES)
    first, space, rest = text.partition(" ")
    text = table("copulas")["joined"].get(first.casefold(), first) + space + rest
    return _between(text, question) or _unspaced(text, question) or _at_the_end(text, question)


def _between(text: str, question: str) -> str | None:
    """What stands on one side of a copula, if the other side is of the question."""
    copulas = _copulas(language_of(question) or ("en" if question.isascii() else ""))
    words = list(_WORD.finditer(text))
    for n, word in enumerate(words[1:-1] if len(words) > 2 else (), 1):
        if word[0].casefold() in copulas:
            before, after = words[:n], words[n + 1 :]
            if _are_known(before, question):
                return _new(text[after[0].start() :], question)
            if _are_known(after, question) and not _are_known(before, question, some=True):
                return _new(text[: word.start()], question)
            return None
    return None


def _unspaced(text: str, question: str) -> str | None:
    for copula in table("copulas")["unspaced"]:
        subject, found, rest = text.partition(copula)
        if found and rest and subject and (subject in question or subject in table("copulas")["subjects"]):
            for ending in table("copulas")["endings"]:
                rest = rest.removesuffix(ending)
            return _new(rest, question)
    return None


def _at_the_end(text: str, question: str) -> str | None:
    """What stands before a copula at the end: `… पेरिस है`, `… 파리입니다`."""
    words = list(_WORD.finditer(text))
    if len(words) < 2:
        return None
    end = words[-1].start() if words[-1][0] in table("copulas")["last"] else len(text)
    for ending in table("copulas")["endings"]:
        if end == len(text) and text.endswith(ending):
            end -= len(ending)
    if end == len(text):
        return None
    start = next((w.start() for w in words if not _is_known(w[0], question)), end)
    return _new(text[start:end], question) if start else None


def _new(rest: str, question: str) -> str | None:
    """What is stated, if that is new. Behind a number, words of the question are left out: `24 years old`."""
    rest = rest.strip(_EDGES)
    words = list(_WORD.finditer(rest))
    known = _words_of(question)
    if not 0 < len(words) <= MAX_WORDS or all(word[0].casefold() in known for word in words):
        return None
    while words[0][0][-1].isdigit() and words[-1][0].casefold() in known:
        words.pop()
    return rest[: words[-1].end()]


def _are_known(words: Sequence[re.Match[str]], question: str, *, some: bool = False) -> bool:
    known = (_is_known(word[0], question) for word in words)
    return any(known) if some else all(known)


def _is_known(word: str, question: str) -> bool:
    word = word.casefold()
    copulas = table("copulas")
    if word in copulas["pronouns"] or word in copulas["articles"] or word in _words_of(question):
        return True
    return len(word) > STEM and word.isalpha() and word[: max(STEM, len(word) - 3)] in _stems(question)


@functools.lru_cache(maxsize=256)
def _words_of(question: str) -> frozenset[str]:
    return frozenset(word[0].casefold() for word in _WORD.finditer(question))


@functools.lru_cache(maxsize=256)
def _stems(question: str) -> frozenset[str]:
    words = [word for word in _words_of(question) if len(word) > STEM and word.isalpha()]
    return frozenset(word[:n] for word in words for n in range(max(STEM, len(word) - 3), len(word) + 1))


@cache
def _copulas(language: str) -> frozenset[str]:
    """The verbs, each one word, between a subject and what it is; without a language, those of all."""
    answers, more = table("answers"), table("copulas")["more"]
    verbs = (
        verb for code in ([language] if language in answers else answers) for verb in answers[code]["is"]
    )
    others = (verb for code in ([language] if language in answers else more) for verb in more.get(code, ()))
    return frozenset(verb for verb in (*verbs, *others) if " " not in verb)
