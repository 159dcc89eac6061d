"""Yes or no, where a sentence repeats a question or denies it, in languages other than English.

`Das darf man nicht.` is no. Every word of the sentence has to be of the question, a negation or a small word
(`words/polar.json`), so that a sentence that adds a condition or a reason says neither.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from ...caching.regex import regex
from ...prose.language import language_of
from ..words import table

__all__ = ["affirmed"]

MAX_CHARS = 120
_WORD = regex(r"[^\s.,;:!?¿¡。！？、，؟।\"“”„«»()'’-]+")
_CLAUSE = regex(r"(?<=[.!?。！？؟])\s*")
_STEM = 4


@functools.lru_cache(maxsize=1024)
def affirmed(text: str, question: str) -> str | None:
    """`Yes` or `No`, if `text` only states what `question` asks, or denies it; else None."""
    asked = _CLAUSE.split(question.strip().rstrip("?？؟ ;"))[-1]
    text = text.strip(" .!。！।*_")
    if not 0 < len(text) <= MAX_CHARS or not asked or not question.rstrip().endswith(("?", "？", "؟", ";")):
        return None
    language = language_of(question)
    match language:
        case "zh":
            return _chinese(text, asked)
        case "ja":
            return _by_endings(text, _japanese(asked))
        case "ko":
            return _by_endings(text, _korean(asked))
    rules = table("polar").get(language)
    return _spaced(text, asked, rules) if rules else None


def _spaced(text: str, asked: str, rules: Mapping[str, Any]) -> str | None:
    words, asked_words = _words_of(text), _words_of(asked)
    small, negations = rules["small"], rules["negations"]
    joined = {*rules["others"], *rules["wh"]} - set(small)
    if joined & set(asked_words) or set(negations) & set(asked_words):
        return None
    content = [word for word in asked_words if not _is_small(word, small)]
    denials, said = 0, list[str]()
    for word in words:
        if word in negations:
            denials += 1
        elif opposite := _opposite(word, asked_words, rules):
            denials += 1
            said.append(opposite)
        elif word in asked_words or any(_is_form(word, one) for one in content):
            said.append(word)
        elif not _is_small(word, small):
            return None
    if not content or denials > 1:
        return None
    # `Можно` is a sentence where verbs need no subject.
    short = bool(rules["short"]) and said == asked_words[:1] and said[0] not in rules["hedges"]
    if not short and (len(words) < 2 or not any(_is_form(word, content[-1]) for word in said)):
        return None
    return "No" if denials else "Yes"


def _words_of(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _is_small(word: str, small: Sequence[str]) -> bool:
    copulas = table("copulas")
    return word in small or word in copulas["pronouns"] or word in copulas["articles"] or len(word) == 1


def _is_form(word: str, other: str) -> bool:
    """Whether two words are one, or differ in the last letters only."""
    stem = max(_STEM, max(len(word), len(other)) - 2)
    return word == other or (min(len(word), len(other)) >= _STEM and word[:stem] == other[:stem])


def _opposite(word: str, asked: Sequence[str], rules: Mapping[str, Any]) -> str:
    """The word of the question that `word` denies: `possible` for `impossible`; empty if it denies none."""
    for denial, other in rules["opposites"]:
        if word == denial and other in asked:
            return str(other)
    for prefix in rules["prefixes"]:
        if word.startswith(prefix) and word not in asked and len(word) - len(prefix) >= _STEM:
            bare = word.removeprefix(prefix)
            if bare in asked:
                return str(bare)
    return ""


def _chinese(text: str, asked: str) -> str | None:
    """`安全` or `不安全` behind `这样做安全吗`."""
    body = asked.rstrip("吗嗎么呢")
    if body == asked or _asks_otherwise("zh", body):
        return None
    for lead in ("是的", "不是", "对", "不", "否", "是"):
        if text.startswith((f"{lead}，", f"{lead},")):
            text = text[len(lead) + 1 :].strip()
            break
    if body.endswith(text):
        return "Yes"
    for negation in ("不是", "没有", "并不", "不", "没", "非"):
        before, found, rest = text.partition(negation)
        if found and rest and body.endswith(before + rest):
            return "No"
    return None


def _by_endings(text: str, forms: tuple[Sequence[str], Sequence[str]]) -> str | None:
    """Yes or no, if `text` is the end of a statement that affirms the question or denies it."""
    for forms_of, said in zip(forms, ("Yes", "No"), strict=True):
        for form in forms_of:
            if form.endswith(text) and len(text) >= _STEM:
                return said
    return None


def _japanese(asked: str) -> tuple[Sequence[str], Sequence[str]]:
    """What affirms a question and what denies it: `正しいです`, `正しくありません` of `正しいですか`."""
    body = asked.removesuffix("か")
    if body == asked or _asks_otherwise("ja", body):
        return (), ()
    if body.endswith("ます"):
        return (body,), (f"{body[:-2]}ません",)
    if not body.endswith("です"):
        return (), ()
    head = body[:-2]
    if head.endswith("い"):
        return (body,), tuple(f"{head[:-1]}く{ending}" for ending in ("ありません", "ないです"))
    return (body,), tuple(
        head + ending for ending in ("ではありません", "じゃありません", "ではないです", "じゃないです")
    )


def _korean(asked: str) -> tuple[Sequence[str], Sequence[str]]:
    """The same for `맞습니까`: `맞습니다`, `맞지 않습니다`."""
    if _asks_otherwise("ko", asked):
        return (), ()
    if asked.endswith("입니까"):
        return (f"{asked[:-3]}입니다",), tuple(f"{asked[:-3]}{one} 아닙니다" for one in "이가")
    if asked.endswith("습니까"):
        return (f"{asked[:-3]}습니다",), (f"{asked[:-3]}지 않습니다",)
    return (), ()


def _asks_otherwise(language: str, asked: str) -> bool:
    """Whether a question has a word of other questions, or denies."""
    return any(word in asked for word in table("polar")["unspaced"][language])
