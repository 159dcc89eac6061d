"""Words of verdicts in other languages, as the English ones that prompts ask for.

A judge may write "Beste Antwort: Teilnehmer A" or "**Genehmigt**" where the prompt asks for "BEST: <label>"
or "APPROVE". A line that begins with such a word, as a label or alone, is read as if it began with the one in
English; so is an English word in full-width letters. Other lines stay, so a sentence is never guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from ..answers.reading.labels import flatten, lower, verb_end
from ..answers.words import table
from ..caching.regex import regex

__all__ = ["in_english", "object_in_english", "truth"]

_OTHER = ("participant", "yes", "no", "VERDICT")
"""Words of the table that are no directive of a prompt."""
_CLASSES = ("REASONING", "JUDGMENT", "COMPOUND", "CHECKABLE", "OPEN", "WRITING")
_TITLED = {"ANSWER": "Answer"} | {word: word.lower() for word in _CLASSES}
"""Words that are written otherwise than in capitals, which make a word a directive wherever it stands."""
_MARKS = regex(r"[\s#*_`•+>【「『\[(-]*(?:\(?\d{1,2}[.):、]+\s*)?[*_`【「『]*")
_BRACKETS = str.maketrans("", "", "【】「」『』")
_CLOSES = regex(r"[\s*_`】」』]*")
_WORD_ENDS = regex(r"[\s*_`]*(?:[,;(–—]|[.!](?=\s)|[。！])")
_BEHIND = regex(
    r"(?P<closes>[\s*_`】」』\])]*)(?:(?P<parts>[:=|→]|->|-+\s)|(?P<stops>[.!。！]?[\s*_`】」』\])]*$))"
)
_LONGEST = 300
"""The longest line, in characters, that is looked at for a word alone."""


def in_english(text: str, words: re.Pattern[str]) -> str:
    """`text` with the words that `words` matches in English where they begin lines; their number stays."""
    wanted = _wanted(words)
    if not wanted:
        return text
    written = text.splitlines()
    changed = [_line(line, wanted) for line in written]
    if changed == written:
        return text
    ended = len(text.splitlines(keepends=True)[-1]) > len(written[-1])
    return "\n".join(changed) + "\n" * ended


def object_in_english(document: Mapping[str, Any], words: re.Pattern[str]) -> dict[str, Any]:
    """A JSON object with its keys and texts in English, as far as `words` matches them."""
    wanted = _wanted(words)
    if not wanted:
        return dict(document)
    keys = wanted | {"VERDICT"}
    return {_line(key, keys): _value(value, wanted) for key, value in document.items()}


def _value(value: Any, wanted: frozenset[str]) -> Any:
    is_line = isinstance(value, str) and "\n" not in value
    return _participants(_line(value, wanted)) if is_line else value


def truth(word: str) -> bool | None:
    """A word for yes or no in any language of the table as a truth; None if it is neither."""
    low = word.strip(" \t\n.!。！").lower()
    known = [name for words in table("verdicts").values() for name in ("yes", "no") if low in words[name]]
    return known[0] == "yes" if len(set(known)) == 1 else None


@lru_cache(maxsize=64)
def _wanted(words: re.Pattern[str]) -> frozenset[str]:
    """The English words of the table that `words` finds as a label or alone."""
    names = (name for name in next(iter(table("verdicts").values())) if name not in _OTHER)
    return frozenset(name for name in names if any(words.search(form) for form in (name, f"{name}: -")))


@cache
def _terms() -> dict[str, tuple[tuple[str, str, str], ...]]:
    """First character -> the words that begin with it, the longest first: (word, English word, language)."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    names = [
        name for name in next(iter(table("verdicts").values())) if name not in ("participant", "yes", "no")
    ]
    for name in names:
        found.setdefault(name[0].lower(), []).append((name.lower(), name, "en"))
    for code, row in table("verdicts").items():
        for name in names:
            for word in row[name]:
                for form in {word, lower(word.upper())}:  # capitals have no dotless i
                    found.setdefault(form[0], []).append((form, name, code))
    return {first: tuple(sorted(terms, key=lambda term: -len(term[0]))) for first, terms in found.items()}


def _line(line: str, wanted: frozenset[str]) -> str:
    plain = flatten(line)
    marks = _MARKS.match(plain)
    start = marks.end() if marks else 0
    if name := _named(plain, start, wanted):
        english, end = name
        closes = _CLOSES.match(plain, end)
        behind = closes[0] if closes else ""
        rest = behind.translate(_BRACKETS) + _participants(plain[end + len(behind) :])
        return plain[:start].translate(_BRACKETS) + english + rest
    header = _named(plain, start, frozenset(("VERDICT",)))
    if header and (found := _behind(plain, header[1])) and found["parts"]:
        value = plain[found.end() :]
        opened = _MARKS.match(value)
        inner = _named(value, opened.end() if opened else 0, wanted, inside=True)
        if inner and not value.rstrip(" *_").endswith(("?", "？", "؟")):
            return f"{plain[:start]}Verdict: {inner[0]}{_participants(value[inner[1] :])}"
    return line


def _named(line: str, start: int, wanted: frozenset[str], inside: bool = False) -> tuple[str, int] | None:
    """The English word for the label or lone word at `start`, and where the text after it begins.

    inside: behind the label of a verdict, where a comma may follow the word.
    """
    low = lower(line)
    for word, name, code in _terms().get(low[start : start + 1], ()):
        if name not in wanted or not low.startswith(word, start):
            continue
        end = start + len(word)
        spelled = line[start:end] if code == "en" else _TITLED.get(name, name)
        if _behind(line, end) or (inside and _WORD_ENDS.match(line, end)):
            return spelled, end
        if code != "en" and (verb := verb_end(low, _spaced(line, end), (code,))):
            return f"{spelled}: ", _spaced(line, verb)
    return None


def _behind(line: str, end: int) -> re.Match[str] | None:
    found = _BEHIND.match(line, end)
    return found if found and (found["parts"] or len(line) <= _LONGEST) else None


def _spaced(line: str, at: int) -> int:
    return len(line) - len(line[at:].lstrip(" *_"))


def _participants(text: str) -> str:
    """`text` with the word "Participant" before a label in another language, `参加者A`."""
    return (
        text
        if text.isascii() and not re.search(r"[a-z]", text)
        else _participant().sub(r"Participant \1", text)
    )


@cache
def _participant() -> re.Pattern[str]:
    words = {word for row in table("verdicts").values() for word in row["participant"]}
    either = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return re.compile(rf"(?<!\w)(?i:{either})[\s_-]*([A-Z]{{1,2}}|\d{{1,2}})(?![A-Za-z\d])")
