"""Praise and refusals in languages other than English, from the words in `answers/words/replies.json`.

These rules are coarser than the English ones: a language that is not in the table has none, and a reply
counts only if it begins with such words, or if all its sentences refuse or belong to a refusal.
"""

from __future__ import annotations

import re
from functools import cache

from ..answers.reading.labels import is_denied
from ..answers.words import table
from ..caching.regex import regex
from ..prose.language import language_of

__all__ = ["find_praise", "has_objection", "is_only_praise", "is_other", "is_refusal"]

_OPENING = 200
_LONG_REFUSAL = 400
_BRIEF_PRAISE = 200
"""Characters of a reply that may be nothing but praise; a longer one says more."""
_SENTENCE = regex(r"[^.!?\n]+(?:[.](?=\d)[^.!?\n]*)*[.!?]*")
_CLAUSES = regex(r"[.!,;:\n。！，；：、،।—–]+")
_WORD = regex(r"[^\W\d_]+")
_FEW_WORDS, _FEW_LETTERS = 1, 1
"""What a clause that begins with praise may have besides."""
_BREAKS = regex(r"[,;:]\s*")
_GAP = r"[^.!?\n]{0,60}?"
_SUBSTANCE = regex(r"\d")
_UNSPACED = ("ja", "zh", "ko")
_JOINER = "\u200c"
"""The zero-width non-joiner of Persian, which plain texts are without."""


def is_other(text: str) -> bool:
    """Whether `text` is in another language than English, so that no English rule applies to it.

    A text in ASCII that shows no language, such as "LGTM", may be English.
    """
    code = language_of(text)
    return code != "en" if code else not text.replace("\u2019", "'").isascii() and _foreign(text)


def _foreign(text: str) -> bool:
    """Whether a letter of `text` is not one of English."""
    return any(c.isalpha() and not c.isascii() for c in text)


def find_praise(plain_text: str) -> str | None:
    """The praise that `plain_text` begins with, or None."""
    code = language_of(plain_text)
    first = _SENTENCE.search(plain_text[:_OPENING]) if code in table("replies") else None
    if first is None:
        return None
    clause = _BREAKS.split(first[0].strip())[0]
    found = _praise(code).match(clause)
    if (
        found is None
        or is_denied(clause[found.end() :], (code,))
        or plain_text[first.start() :][: len(first[0])].endswith("?")
    ):
        return None
    return found["praise"]


def has_objection(plain_text: str) -> bool:
    """Whether `plain_text`, which opens with praise, says more: it is long, contrasts, asks or counts.

    A refusal objects to nothing.
    """
    if is_refusal(plain_text):
        return False
    code = language_of(plain_text)
    if code not in table("replies") or len(plain_text) > _BRIEF_PRAISE or _SUBSTANCE.search(plain_text):
        return True
    return "?" in plain_text or bool(_contrast(code).search(plain_text))


def is_only_praise(plain_text: str) -> bool:
    """Whether every clause of `plain_text` praises, agrees or thanks, and names nothing besides.

    A clause is one if it has only words of praise, or begins with praise and has few others. Where the
    language has no such words, nothing is only praise.
    """
    if len(plain_text) > _BRIEF_PRAISE or _SUBSTANCE.search(plain_text):
        return False
    if any(mark in plain_text for mark in "?？؟"):
        return False
    code = language_of(plain_text)
    codes = [code] if code else list(table("replies"))
    clauses = [clause for clause in _CLAUSES.split(plain_text) if any(map(str.isalpha, clause))]
    return any(
        _anywhere(code).search(plain_text) and all(_only_praises(clause, code) for clause in clauses)
        for code in codes
        if code in table("replies")
    )


def _only_praises(clause: str, code: str) -> bool:
    begins = _praise(code).match(clause)
    rest = _merits(code).sub(" ", clause[begins.end() :] if begins else clause)
    left = sum(map(str.isalpha, rest)) if code in _UNSPACED else len(_WORD.findall(rest))
    if begins is None or _contrast(code).search(rest) or any(map(str.isupper, rest)):
        return not left  # a word with a capital may be a name
    return left <= (_FEW_LETTERS if code in _UNSPACED else _FEW_WORDS)


def is_refusal(plain_text: str) -> bool:
    """Whether `plain_text` is short and only refuses to answer."""
    if len(plain_text) > _LONG_REFUSAL or _SUBSTANCE.search(plain_text):
        return False
    folded = _folded(plain_text)
    codes = [code for cue, code in _cues(folded.isascii()) if cue in folded]
    if not codes:
        return False
    sentences = [found[0] for found in _SENTENCE.finditer(plain_text) if found[0].strip(" .!?\"'")]
    for code in dict.fromkeys(codes):
        refuses = [bool(_declines(code).search(sentence)) for sentence in sentences]
        padded = [_padding(code).search(s) and not _contrast(code).search(s) for s in sentences]
        if any(refuses) and all(one or other for one, other in zip(refuses, padded, strict=True)):
            return True
    return False


def _folded(text: str) -> str:
    """`text` without case, as patterns compare letters that ignore it."""
    return text.casefold().replace("i\u0307", "i").replace("\u0131", "i")


@cache
def _cues(is_ascii: bool) -> tuple[tuple[str, str], ...]:
    """Folded texts with their language, one of which stands in every text that `_declines` finds.

    To look for all of them takes a tenth of the time of the patterns. is_ascii: those that a text in ASCII
    may have.
    """
    found: list[tuple[str, str]] = []
    for code, words in table("replies").items():
        phrases = (phrase.replace(_JOINER, "").split("…") for phrase in words["declines"])
        cues = {_folded(max(parts, key=len)) for parts in phrases}
        shortest = sorted(cue for cue in cues if not any(other in cue for other in cues - {cue}))
        found += ((cue, code) for cue in shortest if cue.isascii() or not is_ascii)
    return tuple(found)


@cache
def _declines(code: str) -> re.Pattern[str]:
    return _either(table("replies")[code]["declines"], code)


@cache
def _padding(code: str) -> re.Pattern[str]:
    return _either(table("replies")[code]["padding"], code)


@cache
def _contrast(code: str) -> re.Pattern[str]:
    return _either(table("replies")[code]["contrast"], code)


@cache
def _praise(code: str) -> re.Pattern[str]:
    phrases = sorted(table("replies")[code]["praise"], key=len, reverse=True)
    words = "|".join(re.escape(phrase.replace(_JOINER, "")) for phrase in phrases)
    return re.compile(rf"\W*(?P<praise>{words})" + ("" if code in _UNSPACED else r"(?!\w)"), re.IGNORECASE)


@cache
def _anywhere(code: str) -> re.Pattern[str]:
    """Praise or agreement at any place."""
    words = table("replies")[code]
    return _either([*words["praise"], *words["assent"]], code)


@cache
def _merits(code: str) -> re.Pattern[str]:
    words = table("replies")[code]
    return _either([*words["merits"], *words["praise"]], code)


def _either(phrases: list[str], code: str) -> re.Pattern[str]:
    """A pattern of any of `phrases`, whose ellipses match a few words."""
    forms = (
        _GAP.join(map(re.escape, phrase.replace(_JOINER, "").split("…")))
        for phrase in sorted(phrases, key=len, reverse=True)
    )
    begins, ends = ("", "") if code in _UNSPACED else (r"(?<!\w)", r"(?!\w)")
    return re.compile(
        "|".join(f"{begins}{form}{'' if form.endswith(_GAP) else ends}" for form in forms), re.IGNORECASE
    )
