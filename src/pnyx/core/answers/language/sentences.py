"""What a sentence says of the things in the question: `Paris` of `The capital of France is Paris.`"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from functools import cache

from ...caching.regex import regex
from ...prose.language import language_of
from ..words import table
from .polar import affirmed

__all__ = ["is_known", "repeats", "stated"]

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
    text = " ".join(text.split()).rstrip(_EDGES)
    text = _DISCOURSE.sub("", text, count=1)
    question = _without_options(question)
    first, space, rest = text.partition(" ")
    text = table("copulas")["joined"].get(first.casefold(), first) + space + rest
    return (
        _affirmed(text, question)
        or affirmed(text, question)
        or _without_subject(text, question)
        or _between(text, question)
        or _unspaced(text, question)
        or _at_the_end(text, question)
        or _named(text, question)
    )


_DISCOURSE = regex(r"(?:actually|in fact|indeed|well|of course),\s+(?=\S)", 2)
_OPTIONS = regex(
    "|".join(
        rf"(?:^|\s)[(\[]?{one}[)\].:]\s(?=(?:.|\n){{0,400}}?\s[(\[]?{two}[)\].:]\s)"
        for one, two in ("AB", "ab", "12", "АБ")
    )
)
MAX_QUESTION = 20_000
"""Characters of a question that are searched for options."""


@functools.lru_cache(maxsize=256)
def _without_options(question: str) -> str:
    """The question without its options, whose words an answer does not only repeat."""
    found = _OPTIONS.search(question, 0, MAX_QUESTION)
    return question[: found.start()] if found and found.start() > STEM else question


_POLAR = regex(r"(?:is|are|was|were|am|do|does|did|can|could|will|would|has|have|had|should|must|may)\b", 2)
_EITHER = regex(r"\bor\b", 2)
_NOT = regex(r"\b(?:not|never|cannot)\b|n['’]t\b", 2)
_CLAUSE = regex(r"(?<=[.!?,])\s+")


_CANNOT = regex(r"\bcan(?:not|['’]t)\b", 2)
_PREFIX = regex(r"(?:im(?=[bmp])|il(?=l)|ir(?=r)|in|un|dis|non-?)(?=\w{3})")
_NO_DENIALS = frozenset(("invaluable", "inflammable", "until", "under", "inside", "into", "unless", "income"))
"""Words that begin like a denial of a word and are none."""


def _affirmed(text: str, question: str) -> str | None:
    """Yes or no, if a sentence repeats an English question or denies it: `It is not possible.`"""
    asked = _CLAUSE.split(question.strip())[-1]
    if not _POLAR.match(asked) or _EITHER.search(asked) or _NOT.search(asked):
        return None
    text = _CANNOT.sub("can not", text)
    denials = len(_NOT.findall(text))
    words = _WORD.findall(_NOT.sub(" ", text))
    verbs = 0
    for at, word in enumerate(words):
        if opposite := _opposite(word.casefold(), _words_of(asked)):
            words[at], denials = opposite, denials + 1
        if _POLAR.fullmatch(words[at]):
            verbs += 1
        elif not is_known(words[at], asked):
            return None  # most sentences have a word of their own near their start
    short = len(words) == 2 and words[0].casefold() in table("copulas")["pronouns"]  # and a verb
    if (len(words) < 3 and not short) or denials > 1 or not verbs:
        return None
    return "No" if denials else "Yes"


def _opposite(word: str, asked: frozenset[str]) -> str:
    """The word of the question that `word` denies, or that denies it: `possible` for `impossible`."""
    if word in asked or word in _NO_DENIALS:
        return ""
    bare = _PREFIX.sub("", word, count=1)
    if bare != word and bare in asked:
        return bare
    return next(
        (
            other
            for other in asked
            if other not in _NO_DENIALS and other.endswith(word) and _PREFIX.sub("", other, count=1) == word
        ),
        "",
    )


_APPOSITION = regex(r"(?P<name>[^,(]+?)(?:,\s+|\s*\()(?P<rest>[^,()]+)\)?")
_KIND_OF = regex(
    r"(?:[Tt]he )?(?:[Cc]ity|[Tt]own|[Ss]tate|country|planet|village|island|continent) of (?=[^\W\d_a-z])"
)
_SEVERAL = regex(r"[,;()/&]|\b(?:and|or|und|oder|et|ou|y|e|o|и|или)\b", 2)


def _named(text: str, question: str) -> str | None:
    """A name without what the question has too: `Paris` of `Paris, France`, `Nile` of `the Nile River`."""
    text = _KIND_OF.sub("", text)
    parts = _APPOSITION.fullmatch(text)
    if parts and len(parts["rest"]) > 1 and _are_known(list(_WORD.finditer(parts["rest"])), question):
        text = parts["name"]
    words = list(_WORD.finditer(text))
    if not 0 < len(words) <= MAX_WORDS or not text[0].isalpha() or _SEVERAL.search(text):
        return None
    while len(words) > 1 and _is_left_out(words[0][0], question):
        words = words[1:]
    while len(words) > 1 and _is_left_out(words[-1][0], question):
        words = words[:-1]
    if is_known(words[0][0], question) or not all(_CAPITAL.match(w[0]) for w in (words[0], words[-1])):
        return None
    return text[words[0].start() : words[-1].end()]


def _is_left_out(word: str, question: str) -> bool:
    return len(word) > 1 and is_known(word, question)


_CAPITAL = regex(r"[^\W\d_a-z]")


_DROPPED = frozenset(("it", "es", "pt", "ro", "el", "ca"))
"""Languages whose verbs need no subject: `È Canberra.`"""


def _without_subject(text: str, question: str) -> str | None:
    first, _, rest = text.partition(" ")
    language = language_of(question)
    if language not in _DROPPED or first.casefold() not in _copulas(language):
        return None
    return _new(rest, question)


def _between(text: str, question: str) -> str | None:
    """What stands on one side of a copula, if the other side is of the question."""
    copulas = _copulas(language_of(question) or ("en" if question.isascii() else ""))
    words = list(_WORD.finditer(text))
    for n, word in enumerate(words[1:-1] if len(words) > 2 else (), 1):
        if word[0].casefold() in copulas:
            before, after = words[:n], words[n + 1 :]
            if _are_known(before, question):
                return _new(_MADE_BY.sub("", _AT.sub("", text[after[0].start() :])), question)
            counts = before[0][0][-1].isdigit()
            if _are_known(after, question) and (counts or not _are_known(before, question, some=True)):
                return _new(text[: word.start()], question)
            return None
    return None


_AT = regex(r"at (?=[(\d])")
_MADE_BY = regex(r"[a-z]+(?:ed|en|wn|nt|ught|d|de) by (?=[^\W\d_a-z])")


def _unspaced(text: str, question: str) -> str | None:
    endings = table("copulas")["endings"]
    if text[-1:] >= "\u3040" and not any(mark in text for mark in " はが、"):
        for ending in endings:
            if text.endswith(ending) and len(text) > len(ending):
                return _new(text.removesuffix(ending), question)
    if text.startswith("是") and len(text) > 2 and not text.startswith("是的"):
        return _new(text[1:], question)
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
    start = next((w.start() for w in words if not is_known(w[0], question)), end)
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
    known = (is_known(word[0], question) for word in words)
    return any(known) if some else all(known)


def is_known(word: str, question: str) -> bool:
    """Whether `word` is of the question, in another form too, or a word that any subject may have."""
    word = word.casefold()
    copulas = table("copulas")
    if word in copulas["pronouns"] or word in copulas["articles"] or word in _words_of(question):
        return True
    return len(word) > STEM and word.isalpha() and word[: max(STEM, len(word) - 3)] in _stems(question)


def repeats(text: str, question: str) -> bool:
    """Whether `text` has a word of the question, besides small words: it is about the question's things."""
    if any(c >= "\u0e00" for c in text):
        return any(text[n : n + 2] in question for n in range(len(text) - 1))
    return any(len(word) >= STEM and word.casefold() in _words_of(question) for word in _WORD.findall(text))


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
