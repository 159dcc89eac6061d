"""The language of a text, and language tags, as in BCP 47 (RFC 5646)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache

from ..answers.words import table
from ..caching.regex import regex

__all__ = ["is_english", "language_of", "language_tag"]

_TAG = regex(
    # Codes of languages have two or three letters; the standard reserves longer ones and uses none.
    r"[a-z]{2,3}(-[a-z]{3}){0,3}"
    r"(-[a-z]{4})?"
    r"(-([a-z]{2}|\d{3}))?"
    r"(-([a-z\d]{5,8}|\d[a-z\d]{3}))*"
    r"(-[a-wyz\d](-[a-z\d]{2,8})+)*"
    r"(-x(-[a-z\d]{1,8})+)?"
)
"""Language, extended languages, script, region, variants, extensions, private use."""
LONGEST = 64
"""Characters; the standard sets no limit."""


def language_tag(text: str) -> str:
    """The tag in its usual letter case, `pt-BR` for `PT-br`. Raises `ValueError` if it is not well-formed."""
    tag = text.lower()
    if not (text.isascii() and len(text) <= LONGEST and _TAG.fullmatch(tag)):
        hint = ""
        if "_" in text and len(text) <= LONGEST and _TAG.fullmatch(tag.replace("_", "-")):
            hint = f"; did you mean {language_tag(text.replace('_', '-'))}?"
        raise ValueError(f"must be a language tag such as en, de or pt-BR, not {text[:40]!r}{hint}")
    first, *rest = tag.split("-")
    parts, singleton = [first], False
    for part in rest:
        singleton = singleton or len(part) == 1
        if singleton or len(part) not in (2, 4) or not part.isalpha():
            parts.append(part)
        else:
            parts.append(part.upper() if len(part) == 2 else part.title())
    return "-".join(parts)


_SAMPLE = 1_000
"""Characters of the start and of the end of a text that are searched for its language."""
_WORD = regex(
    r"[^\W\d_][^\s\d!-&(-/:-@\[-`{-~\u00a0-\u00bf\u0589\u060c\u061b\u061f\u0964\u0965\u06d4\u2010-\u2027\u3000-\u3020\uff01-\uff0f\uff1a-\uff20]*"
)
"""Without `\\w`, which leaves out the vowel signs of Indic scripts."""
_SPACES = {
    code: " " for code in range(128) if chr(code).isprintable() and not (chr(code).isalpha() or code == 39)
}
_UNLETTERED = "".join(chr(code) for code in range(128) if not chr(code).isalpha())
"""The same for ASCII: what stands between words, and what no word begins with."""
_LABEL = regex(
    r"\n[^\w\n]{0,20}(?:final answer|answer|best|verdict|decision|critique|steelman|finali[sz]e|revise|split"
    r"|approve|reject)"
    r"(?=[^\w\n]{0,10}(?:[:\uff1a|\n]|\Z))",
    re.IGNORECASE,
)
"""Labels of our prompts at the start of a line, which stand in English in any language. `^` in place of the
line end would be tried at every character."""
_MARKS = map(chr, (*range(0xA0, 0xC0), *range(0x2010, 0x2028)))
_BETWEEN = regex(f"[{''.join(mark for mark in _MARKS if not mark.isalnum())}]")
"""Marks beyond ASCII that most English texts have, and that no word of `_WORD` has."""
_FORMAL = regex(r"\\[A-Za-z]+|https?://\S+", re.IGNORECASE)
"""Commands of LaTeX, and addresses."""


@lru_cache(maxsize=256)
def language_of(text: str) -> str:
    """The two-letter code of the language of `text`, from its script and its commonest words.

    Empty if no word is known, or if two languages have as many of them. The time does not depend on the
    length.
    """
    text = text if len(text) <= 2 * _SAMPLE else f"{text[:_SAMPLE]}\n{text[-_SAMPLE:]}"
    words = _words(text.replace("\u2019", "'"))
    if not text.isascii() and len(script := _script_of(words)) == 2:
        return script
    known = _languages()
    counts = Counter[str]()
    for word, times in Counter(words).items():
        for code in known.get(word, ()):
            counts[code] += times
    match counts.most_common(2):
        case [(code, _)]:
            return code
        case [(code, most), (_, next_most)] if most > next_most:
            return code
        case _:
            return _by_question_words(words, text)


MAX_QUESTION_WORDS = 15
"""Words of a short question, in which the word that it begins with tells the language."""


def _by_question_words(words: Sequence[str], text: str) -> str:
    """The language whose words of questions a short question has the most of: `Wann war das?`"""
    if not words or len(words) > MAX_QUESTION_WORDS or not text.rstrip().endswith("?"):
        return ""
    if "\u00bf" in text:
        return "es"
    counts = Counter({code: sum(words.count(one) for one in some) for code, some in _asking().items()})
    (code, most), (_, next_most) = counts.most_common(2)
    return code if most > next_most else ""


@cache
def _asking() -> dict[str, list[str]]:
    found: dict[str, list[str]] = table("languages")["questions"]
    return found


def _words(text: str) -> list[str]:
    """The words of `text` in lower case, without those that are of no language."""
    text = _LABEL.sub("\n ", f"\n{text}")
    if "\\" in text or "://" in text:
        text = _FORMAL.sub(" ", text)
    if not text.isascii() and not (text := _BETWEEN.sub(" ", text)).isascii():
        return _WORD.findall(text.lower())
    spaced = text.lower().translate(_SPACES)
    found = spaced.split()
    if " '" not in spaced and "\n'" not in spaced and text.replace("\n", "").isprintable():
        return found
    return [word for part in found if (word := part.lstrip(_UNLETTERED))]


def _script_of(words: Sequence[str]) -> str:
    """The script that most letters of the words are in, or the only language that is written in it."""
    scripts = Counter({"Latn": sum(len(word) for word in words if word.isascii())})
    for letter, count in Counter("".join(word for word in words if not word.isascii())).items():
        scripts[_script(letter)] += count
    if scripts["ja"]:
        scripts["ja"] += scripts.pop("zh", 0)  # Chinese characters are part of Japanese
    return max(scripts, key=lambda name: scripts[name])


def is_english(text: str, question: str | None = None) -> bool:
    """Whether rules for English apply to `text`: it is English, or tells no language and `question` is."""
    return (language_of(text) or language_of(question or "") or _nearly(text)) == "en"


def _nearly(text: str) -> str:
    """English for a short text in ASCII whose words are English and another language's: `So, 40 = 2 * 20`."""
    if not text.isascii() or len(text) > _SAMPLE:
        return ""
    words = [word for word in _words(text) if word in _languages()]
    return "en" if words and all("en" in _languages()[word] for word in words) else ""


def _script(letter: str) -> str:
    """The script of a letter, or the only language that is written in it; empty if it is not in the table."""
    starts, ends, names = _blocks()
    at = bisect_right(starts, ord(letter)) - 1
    return names[at] if at >= 0 and ord(letter) <= ends[at] else ""


@cache
def _blocks() -> tuple[list[int], list[int], list[str]]:
    spans = table("languages")["scripts"].items()
    blocks = [(*(int(code, 16) for code in span.split("-")), name) for span, name in spans]
    starts, ends, names = zip(*blocks, strict=True)
    return list(starts), list(ends), list(names)


@cache
def _languages() -> dict[str, tuple[str, ...]]:
    """Word -> the languages that have it: their commonest words, and those for an answer."""
    found: dict[str, tuple[str, ...]] = {}
    labels = {code: words["final"] + words["answer"] for code, words in table("answers").items()}
    for words in (table("languages")["words"], labels):
        for code, some in words.items():
            for word in some:
                if code not in found.get(word, ()):
                    found[word] = (*found.get(word, ()), code)
    return found
