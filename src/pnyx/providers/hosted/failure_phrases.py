"""Failures in other languages, in the words of the tables of failures: English, or simplified Chinese."""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ...core.caching.regex import regex

__all__ = ["in_english", "in_one_sentence"]

TABLE = Path(__file__).with_suffix(".toml")
LANGUAGES = Path(__file__).with_name("failure_languages.toml")
_SENTENCE_ENDS = re.compile(r"(?<=[.!?;])\s+|[。\uff01\uff1f\n]")


def in_english(message: str) -> str:
    """`message` with the phrases of the tables in English and plain signs, and the rest as it is."""
    meanings, words = _phrases()
    message = _plain(message)
    if _HAN.search(message) and not _KANA_OR_HANGUL.search(message):
        message = _simplified(message)
    is_ascii, small = message.isascii(), _small(message)
    sentences = _sentences(small)
    found = [
        english
        for english, alternatives in meanings
        if any(
            _in_one(sentences, parts) for parts, may_be_ascii in alternatives if may_be_ascii or not is_ascii
        )
    ]
    for english, is_there, pattern in words:
        if is_there.search(small):
            message = pattern.sub(f" {english} ", message)
            small = _small(message)
    return "\n".join([message, *found])


def in_one_sentence(parts: Sequence[re.Pattern[str]], message: str) -> bool:
    """Whether a sentence of `message` has each of the parts, in any order."""
    return _in_one(_sentences(message), parts)


def _small(text: str) -> str:
    """`text` in small letters, of which one is written in one way. Patterns of such letters are found three
    times as fast as those for letters of any size."""
    return text.lower() if text.isascii() else text.replace("\u0130", "i").lower().translate(_LETTERS)


_LETTERS = str.maketrans("\u0131\u03c2\u017f", "i\u03c3s")
"""The dotless i, whose capital is that of i, the final sigma, and the long s."""


def _sentences(message: str) -> list[str]:
    """Those of `message`, each once: a host may repeat itself, and all phrases are looked for in each."""
    return list(dict.fromkeys(_SENTENCE_ENDS.split(message)))


def _in_one(sentences: Sequence[str], parts: Sequence[re.Pattern[str]]) -> bool:
    # Hundreds of times for a message: as generators, this took twice as long.
    for sentence in sentences:
        for part in parts:
            if not part.search(sentence):
                break
        else:
            return True
    return False


def _plain(message: str) -> str:
    """`message` as the tables have it: signs of ASCII, single blanks, no escapes, "is not" for "isn't"."""
    if "&" in message:
        message = html.unescape(message)
    if "\\u" in message:
        message = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), message)
    message = message if message.isascii() else message.translate(_SIGNS)
    if quoted := _ALL_QUOTED.fullmatch(message):
        message = quoted[1]
    message = _BOLD.sub(r"'\1'", _ASIDE.sub(" ", message))
    return _SHORT.sub(" not", _BLANKS.sub(" ", message).strip().replace("can't", "cannot"))


_ALL_QUOTED = re.compile(r"\s*\"([^\"]*)\"\s*")
_BOLD = re.compile(r"\*\*(\w{1,40})\*\*")
_ASIDE = re.compile(
    r"[(\[]?\b(?:request|req|trace|correlation|log|session)[ _-]?ids?\b\W{0,3}(?=[\w-]*\d)[\w-]{4,80}[)\]]?"
    r"|\A\W{0,2}[\[(<]4\d\d[\])>]|\bHTTP(?: status)?(?: code)?:? 4\d\d(?!\d)",
    re.IGNORECASE,
)
"""What gateways put beside a message: numbers that are no sizes, and a name of no part of a prompt."""
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_SHORT = re.compile(r"(?<=[a-z])n't\b")
_SIGNS = str.maketrans(
    "\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb\u00a0\u202f\u2011", '\'\'"""""  -', "\u200b\u2060\ufeff\u00ad"
)
_BLANKS = re.compile(r"[ \t]{2,}|\t")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_KANA_OR_HANGUL = re.compile(r"[\u3040-\u30ff\uac00-\ud7af]")


def _simplified(message: str) -> str:
    """A message in Chinese with simplified characters and the words of the mainland."""
    characters, words = _chinese()
    message = message.translate(characters)
    for word, pattern in words:
        message = pattern.sub(word, message)
    return message


@cache
def _chinese() -> tuple[dict[int, int], list[tuple[str, re.Pattern[str]]]]:
    table = _table()["chinese"]
    characters = str.maketrans("".join(table["traditional"]), "".join(table["simplified"]))
    return characters, [(word, re.compile(others)) for word, others in table["words"]]


@cache
def _table() -> dict[str, Any]:
    """The phrases of all languages."""
    table, others = (tomllib.loads(path.read_text(encoding="utf-8")) for path in (TABLE, LANGUAGES))
    for language in others.values():
        for part in ("meanings", "words"):
            for english, phrases in language.get(part, {}).items():
                table[part].setdefault(english, []).extend(phrases)
    return table


class _Phrase(NamedTuple):
    """The parts of a phrase, all in one sentence. may_be_ascii: whether a text of ASCII may have them."""

    parts: Sequence[re.Pattern[str]]
    may_be_ascii: bool

    @classmethod
    def of(cls, parts: Sequence[str]) -> _Phrase:
        compiled = [re.compile(part.translate(_LETTERS)) for part in parts]
        return cls(compiled, not any(map(_is_beyond_ascii, parts)))


def _is_beyond_ascii(part: str) -> bool:
    """Whether each alternative of a pattern has letters, none of them in ASCII. An escaped letter is none."""
    return not any(
        fragment.isascii() or _ASCII_LETTER.search(fragment) for fragment in _ESCAPED.sub("", part).split("|")
    )


_ESCAPED = re.compile(r"\\.")
_ASCII_LETTER = re.compile(r"[A-Za-z]")


@cache
def _phrases() -> tuple[list[tuple[str, list[_Phrase]]], list[tuple[str, re.Pattern[str], re.Pattern[str]]]]:
    """Meanings with their phrases, and words with two patterns: one for small letters, which finds whether
    they are there, and one that replaces them. Read and compiled at the first failure: most processes see
    none.
    """
    table = _table()
    meanings = [
        (english, [_Phrase.of(parts) for parts in alternatives])
        for english, alternatives in table["meanings"].items()
    ]
    words = [
        (english, re.compile(one.translate(_LETTERS)), regex(rf" *(?:{one}) *", re.IGNORECASE))
        for english, one in ((english, "|".join(one)) for english, one in table["words"].items())
    ]
    return meanings, words
