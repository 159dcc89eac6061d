"""Whether a reply opens with praise, has nothing else, only refuses, or is blank.

These are the rules for English; `other_languages.py` has coarser ones for other languages, and where the
language is not in its table, nothing is detected.

Praise is searched sentence by sentence in the first 200 characters, outside quotations. Praise that is
negated, supposed, questioned or attributed to others does not count. A concession ("While the proposal is
well argued, …") counts, since the reply opens with it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from string import ascii_lowercase, ascii_uppercase

from ..caching.regex import regex
from ..prose.language import language_of
from ..prose.substance import is_substantive
from . import other_languages
from .hedges import HEDGED, NEGATED, PERFORMED, REVERSED, UNDENIED
from .objection import APPROVES, CONCESSION, DENIED, EMPTY, NOT_ONLY, OBJECTS, PARTIAL, TURN
from .plain import INVISIBLE, plain
from .praise import ASSENT, CONCEDED, PRAISE
from .refusal import DECLINES, PADDING, POLICY, SUBSTANCE

__all__ = ["find_praise", "has_objection", "is_blank", "is_only_praise", "is_refusal"]

_OPENING = 200
_CONTEXT = 200
_SHORT = 500
_SENTENCE = regex(r"(?:[^.!?\n]|[.!?](?=\w))+[.!?]*")
_QUOTED = regex(r"\"[^\"\n]*\"|'(?<!\w')(?:[^'\n]|(?<=\w)'(?=\w)){1,200}'(?!\w)")
_TURN = regex(r"[;:()\u2013\u2014]|\s-\s|\b(?:but|yet|however|nonetheless|nevertheless)\b,?")
_RULE = regex(
    r"(?:(?!\b(?:but|though|although|yet|while)\b)[^.;])*?"
    r"\b(?:would|should|must|needs?|could|will|has to|have to|requires?|ought)\b"
)
_STOP = regex(r"[.!?]+(?!\w)|\n+")
_HEADING = regex(
    r"(?!(?:[^:\n]*[^:\n\w])?(?:says?|claims?|calls?|reads?|states?|argues?|writes?|missing|lacks?|needs?|needed"
    r"|should|would|not|no|never|better|instead|wrong|without)\b)"
    r"(?:[\w'/#&,()-]+ ){0,5}[\w'/#&,()-]+ ?(?::|->) (?=[A-Z])"
)
"""A few words before a colon and a new sentence, unless they attribute it to others or ask for it."""

_DECLINES, _PADDING = regex(DECLINES), regex(PADDING)
_POLICY, _SUBSTANCE = regex(POLICY), regex(SUBSTANCE)
_HEDGED, _PERFORMED = regex(HEDGED), regex(PERFORMED)
_NEGATED, _REVERSED, _UNDENIED = regex(NEGATED), regex(REVERSED), regex(UNDENIED)
_CONCESSION, _AGAINST, _NOT_ONLY = regex(CONCESSION), regex(TURN), regex(NOT_ONLY)
_OBJECTS, _DENIED, _APPROVES = regex(OBJECTS), regex(DENIED), regex(APPROVES)
_PARTIAL, _EMPTY = regex(PARTIAL), regex(EMPTY)
_PART = regex(r"\s*;\s*")
_ASIDE = regex(r"[,:(\u2013\u2014]|\s-\s|\band (?=(?:one|two|an?|some|no)\b)")
_VISIBLE = regex(rf"[^\s{INVISIBLE}]")
_NOTHING = regex(
    rf"(?:[\s{INVISIBLE}]|&(?:nbsp|#160|#xa0);|<br ?/?>|```[a-z]*\s*```|<!--(?:[^-]|-[^-]|--[^>])*-->)+"
)
"""Markup that shows nothing."""

_LOWER = str.maketrans(f"{ascii_uppercase}ÃÉÓ\u0130\u0131\u017f\u212a", f"{ascii_lowercase}ãéóiisk")
"""Lower case, character for character, for all letters of the patterns, which match without case."""


class _Wordings:
    """Patterns by their cues, as listed in `praise`."""

    def __init__(self, wordings: Sequence[tuple[str, str]]) -> None:
        self._patterns = [regex(pattern) for _, pattern in wordings]
        self._numbers = defaultdict[str, list[int]](list)
        for number, (cues, _) in enumerate(wordings):
            for cue in cues.split("|"):
                self._numbers[cue].append(number)

    def may_match(self, text: str) -> bool:
        """Return whether a sentence of `text` may match one of the patterns."""
        return any(map(text.__contains__, self._numbers))

    def candidates(self, sentence: str) -> Iterator[re.Pattern[str]]:
        """Yield the patterns that `sentence` may match, in their order."""
        for number in sorted({n for cue, some in self._numbers.items() if cue in sentence for n in some}):
            yield self._patterns[number]


_CONCEDED, _PRAISE, _ASSENT = _Wordings(CONCEDED), _Wordings(PRAISE), _Wordings(ASSENT)


def find_praise(text: str) -> str | None:
    """The praise or agreement in the opening of `text`, or None."""
    if other_languages.is_other(plain(text)):
        return other_languages.find_praise(plain(text))
    plain_text = _blank_quotations(plain(text))[: _OPENING + _CONTEXT]
    heading = _HEADING.match(plain_text)
    return _scan(plain_text) or (_scan(plain_text[heading.end() :]) if heading else None)


def _blank_quotations(text: str) -> str:
    """`text` with every quotation replaced, character for character."""
    return _QUOTED.sub(lambda quote: "\u2026" * len(quote[0]), text)


def _scan(plain_text: str) -> str | None:
    lower = plain_text.translate(_LOWER)
    if not (_CONCEDED.may_match(lower) or _PRAISE.may_match(lower)):
        return None  # as in most replies: to look once takes less than to look in each sentence
    for sentence in _SENTENCE.finditer(lower):
        words = sentence[0].lstrip(" ([-@'")
        start = sentence.end() - len(words)
        is_first = len(plain_text[:start].split()) <= 3
        if start < _OPENING and (found := _praise(words, _OPENING - start, is_first)):
            return plain_text[start + found.start() : start + found.end()].strip(" ,.")
    return None


def _praise(sentence: str, limit: int, is_first: bool) -> re.Match[str] | None:
    for pattern in _CONCEDED.candidates(sentence):
        if (match := pattern.search(sentence)) and match.start() < limit:
            return match
    for pattern in _PRAISE.candidates(sentence):
        for match in pattern.finditer(sentence):
            if match.start() < limit and _is_meant(sentence, match, is_first):
                return match
    return None


def _is_meant(sentence: str, match: re.Match[str], is_first: bool) -> bool:
    """Whether the praise is the author's own, is about the reply under review, and is not taken back."""
    before, after, groups = sentence[: match.start()], sentence[match.end() :], match.groupdict()
    if groups.get("pronoun") and not (is_first and ":" not in before):
        return False
    if groups.get("article") in ("a", "an") and _RULE.match(after):
        return False
    if _REVERSED.match(after):
        return False
    clause = _UNDENIED.sub("", _TURN.split(before)[-1]).strip()
    if _HEDGED.search(_PERFORMED.sub("", clause).strip()):
        return False
    return clause.endswith(",") or not _NEGATED.search(clause)


def has_objection(text: str) -> bool:
    """Whether `text`, which may open with praise, contains anything besides praise, agreement and refusal.

    A clause without praise is an objection if it contradicts something. A clause that only states something
    is one too, unless the author agrees without limits: then it is a reason for the agreement.
    """
    if other_languages.is_other(plain(text)):
        return other_languages.has_objection(plain(text))
    plain_text = plain(text).translate(_LOWER)
    sentences = [found[0].strip(" ([-@'") for found in _SENTENCE.finditer(plain_text)]
    sentences = [sentence for sentence in sentences if not _empty(sentence.rstrip(".!? "))]
    writer_agrees = any(_agrees(_blank_quotations(sentence)) for sentence in sentences)
    return any(_objects(*clause, writer_agrees) for sentence in sentences for clause in _clauses(sentence))


def is_only_praise(text: str) -> bool:
    """Whether `text` praises or agrees, and names nothing besides: it answers no question.

    In other languages, only those of the table have such words.
    """
    if other_languages.is_other(plain(text)):
        return other_languages.is_only_praise(plain(text))
    if not language_of(plain(text)) and other_languages.is_only_praise(plain(text)):
        return True
    if find_praise(text) is None:
        return False
    clauses = [
        clause
        for found in _SENTENCE.finditer(plain(text).translate(_LOWER))
        for whole, _ in _clauses(found[0].strip(" ([-@'"))
        for clause in whole.split(",")
    ]
    return not any(_names(clause.strip()) for clause in clauses)


def _names(clause: str) -> bool:
    """Whether a clause names something besides the praise or agreement in it."""
    praise = _praise(clause, len(clause), True) if len(clause) <= _OPENING + _CONTEXT else None
    return is_substantive(clause[: praise.start()] + clause[praise.end() :] if praise else clause)


def _agrees(sentence: str) -> bool:
    """Whether `sentence` agrees without limits."""
    if len(sentence) > _OPENING + _CONTEXT or _PARTIAL.search(sentence):
        return False
    return any(
        match and _is_meant(sentence, match, True)
        for pattern in _ASSENT.candidates(sentence)
        for match in [pattern.search(sentence)]
    ) or any(pattern.search(sentence) for pattern in _CONCEDED.candidates(sentence))


def _empty(sentence: str) -> bool:
    """Whether `sentence` refuses, or is the padding of a refusal."""
    return _declines(sentence) or bool(_PADDING.fullmatch(sentence) and not _substantial(sentence))


def _clauses(sentence: str) -> Iterator[tuple[str, bool]]:
    """Yield the clauses of `sentence`, each with whether it turns against the clause before it."""
    conceded = _CONCESSION.match(sentence)
    if conceded:
        yield conceded[0].rstrip(", "), False
        sentence = sentence[conceded.end() :]
    for number, part in enumerate(_PART.split(sentence)):
        first, *others = [part] if _NOT_ONLY.search(part) else _AGAINST.split(part)
        yield first, bool(conceded) and not number
        yield from ((clause, True) for clause in others)


def _objects(clause: str, is_turn: bool, writer_agrees: bool) -> bool:
    words = _EMPTY.sub(" ", clause).split()
    if not words or _empty(clause.rstrip(".!? ")):
        return False
    if len(clause) > _OPENING + _CONTEXT:
        return True  # praise is never this long
    praise = _praise(_blank_quotations(clause), len(clause), True)
    if praise:
        aside = _ASIDE.search(clause, praise.end())
        return bool(aside and _OBJECTS.search(_DENIED.sub(" ", clause[aside.end() :])))
    bare = _DENIED.sub(" ", clause)
    if _OBJECTS.search(bare):
        return True
    if bare != clause or (not is_turn and (writer_agrees or _APPROVES.search(clause))):
        return False
    # In a script without spaces, a clause is one word.
    return is_turn or len(words) > 1 or not words[0].isascii()


def is_refusal(text: str) -> bool:
    """Whether `text` is short and only refuses to answer: no reason from the question, no alternative."""
    if len(text) > 4 * _SHORT:
        return False  # too long, even if most of it is markup
    plain_text = plain(text)
    if len(plain_text) > _SHORT:
        return False
    is_other = other_languages.is_other(plain_text)
    if is_other or not language_of(plain_text):
        if other_languages.is_refusal(plain_text):
            return True
        if is_other:
            return False
    sentences = [mark.strip() for mark in _STOP.split(plain_text.translate(_LOWER)) if mark.strip()]
    refusals = [_declines(sentence) for sentence in sentences]
    return any(refusals) and all(
        declines or (_PADDING.fullmatch(sentence) and not _substantial(sentence))
        for declines, sentence in zip(refusals, sentences, strict=True)
    )


def _declines(sentence: str) -> bool:
    found = _DECLINES.fullmatch(sentence)
    return found is not None and not _substantial(sentence[found.end("lead") :])


def _substantial(sentence: str) -> bool:
    return bool(_SUBSTANCE.search(sentence)) and not _POLICY.search(sentence)


def is_blank(text: str) -> bool:
    """Whether `text` shows nothing: it has no visible character, or only in markup around nothing."""
    return not _VISIBLE.search(text) or _NOTHING.fullmatch(text) is not None
