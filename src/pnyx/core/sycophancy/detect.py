"""Whether a reply opens with praise, only declines, or says nothing. Knows English.

Praise is looked for sentence by sentence in the first 200 characters, outside quotations. What is
negated, supposed, asked or ascribed to somebody else is not praise; a concession ("While the proposal
is well argued, …") is, since the reply opens with it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from string import ascii_lowercase, ascii_uppercase

from ..regex import regex
from .hedges import HEDGED, NEGATED, PERFORMED, REVERSED, UNDENIED
from .objection import APPROVES, CONCESSION, DENIED, EMPTY, NOT_ONLY, OBJECTS, PARTIAL, TURN
from .plain import INVISIBLE, plain
from .praise import ASSENT, CONCEDED, PRAISE
from .refusal import DECLINES, PADDING, POLICY, SUBSTANCE

__all__ = ["flatters", "has_objection", "opening", "refusal", "silent"]

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
"""A few words before a colon and a new sentence, unless that is somebody else's, or is what is wanted."""

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

_LOWER = str.maketrans(f"{ascii_uppercase}ÃÉÓ\u0130\u0131\u017f\u212a", f"{ascii_lowercase}ãéóiisk")
"""To lower case, character for character, as far as the patterns have letters: they are read without case."""


class _Wordings:
    """Patterns by their cues, as `_praise` lists them."""

    def __init__(self, listed: Sequence[tuple[str, str]]) -> None:
        self._patterns = [regex(pattern) for _, pattern in listed]
        self._numbers = defaultdict[str, list[int]](list)
        for number, (cues, _) in enumerate(listed):
            for cue in cues.split("|"):
                self._numbers[cue].append(number)

    def cued(self, sentence: str) -> Iterator[re.Pattern[str]]:
        """Those that `sentence` may fit, in their order."""
        for number in sorted({n for cue, some in self._numbers.items() if cue in sentence for n in some}):
            yield self._patterns[number]


_CONCEDED, _PRAISE, _ASSENT = _Wordings(CONCEDED), _Wordings(PRAISE), _Wordings(ASSENT)


def opening(text: str) -> str:
    """The first 200 characters of what `text` says, without markup, labels, emoji and quoted blocks."""
    return plain(text)[:_OPENING].rstrip()


def flatters(text: str) -> str | None:
    """The praise or agreement that `text` opens with, or None."""
    said = _unquoted(plain(text))[: _OPENING + _CONTEXT]
    heading = _HEADING.match(said)
    return _scan(said) or (_scan(said[heading.end() :]) if heading else None)


def _unquoted(text: str) -> str:
    """`text` with every quotation blanked out, character for character."""
    return _QUOTED.sub(lambda quote: "\u2026" * len(quote[0]), text)


def _scan(said: str) -> str | None:
    for sentence in _SENTENCE.finditer(said.translate(_LOWER)):
        words = sentence[0].lstrip(" ([-@'")
        start = sentence.end() - len(words)
        first = len(said[:start].split()) <= 3
        if start < _OPENING and (found := _praise(words, _OPENING - start, first)):
            return said[start + found.start() : start + found.end()].strip(" ,.")
    return None


def _praise(sentence: str, limit: int, first: bool) -> re.Match[str] | None:
    for pattern in _CONCEDED.cued(sentence):
        if (match := pattern.search(sentence)) and match.start() < limit:
            return match
    for pattern in _PRAISE.cued(sentence):
        for match in pattern.finditer(sentence):
            if match.start() < limit and _meant(sentence, match, first):
                return match
    return None


def _meant(sentence: str, match: re.Match[str], first: bool) -> bool:
    """Whether the praise is the writer's own, is of the reply under review, and stands."""
    before, after, groups = sentence[: match.start()], sentence[match.end() :], match.groupdict()
    if groups.get("pronoun") and not (first and ":" not in before):
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
    """Whether `text`, which may open with praise, says anything besides praise, agreement and refusal.

    A clause without praise is an objection when it contradicts something. One that only states something is
    too, unless the writer agrees without limits: it then gives grounds for the agreement.
    """
    said = plain(text).translate(_LOWER)
    sentences = [found[0].strip(" ([-@'") for found in _SENTENCE.finditer(said)]
    sentences = [sentence for sentence in sentences if not _empty(sentence.rstrip(".!? "))]
    agrees = any(_agrees(_unquoted(sentence)) for sentence in sentences)
    return any(_objects(*clause, agrees) for sentence in sentences for clause in _clauses(sentence))


def _agrees(sentence: str) -> bool:
    """Whether a sentence agrees without limits."""
    if len(sentence) > _OPENING + _CONTEXT or _PARTIAL.search(sentence):
        return False
    return any(
        match and _meant(sentence, match, True)
        for pattern in _ASSENT.cued(sentence)
        for match in [pattern.search(sentence)]
    ) or any(pattern.search(sentence) for pattern in _CONCEDED.cued(sentence))


def _empty(sentence: str) -> bool:
    """Whether a sentence declines, or is what stands around a refusal."""
    return _declines(sentence) or bool(_PADDING.fullmatch(sentence) and not _substantial(sentence))


def _clauses(sentence: str) -> Iterator[tuple[str, bool]]:
    """The clauses of a sentence, and whether each one turns against what stands before it."""
    conceded = _CONCESSION.match(sentence)
    if conceded:
        yield conceded[0].rstrip(", "), False
        sentence = sentence[conceded.end() :]
    for number, part in enumerate(_PART.split(sentence)):
        first, *others = [part] if _NOT_ONLY.search(part) else _AGAINST.split(part)
        yield first, bool(conceded) and not number
        yield from ((clause, True) for clause in others)


def _objects(clause: str, turned: bool, agrees: bool) -> bool:
    words = _EMPTY.sub(" ", clause).split()
    if not words or _empty(clause.rstrip(".!? ")):
        return False
    if len(clause) > _OPENING + _CONTEXT:
        return True  # nobody's praise is of such a length
    praise = _praise(_unquoted(clause), len(clause), True)
    if praise:
        aside = _ASIDE.search(clause, praise.end())
        return bool(aside and _OBJECTS.search(_DENIED.sub(" ", clause[aside.end() :])))
    bare = _DENIED.sub(" ", clause)
    if _OBJECTS.search(bare):
        return True
    if bare != clause or (not turned and (agrees or _APPROVES.search(clause))):
        return False
    # A clause in a script without spaces is one word.
    return turned or len(words) > 1 or not words[0].isascii()


def refusal(text: str) -> bool:
    """Whether `text` is short and only declines to answer: no reason from the matter, no alternative."""
    if len(text) > 4 * _SHORT:
        return False  # whatever of it is markup
    said = plain(text)
    if len(said) > _SHORT:
        return False
    sentences = [mark.strip() for mark in _STOP.split(said.translate(_LOWER)) if mark.strip()]
    declining = [_declines(sentence) for sentence in sentences]
    return any(declining) and all(
        declined or (_PADDING.fullmatch(sentence) and not _substantial(sentence))
        for declined, sentence in zip(declining, sentences, strict=True)
    )


def _declines(sentence: str) -> bool:
    found = _DECLINES.fullmatch(sentence)
    return found is not None and not _substantial(sentence[found.end("lead") :])


def _substantial(sentence: str) -> bool:
    return bool(_SUBSTANCE.search(sentence)) and not _POLICY.search(sentence)


def silent(text: str) -> bool:
    """Whether `text` has nothing to read."""
    return not _VISIBLE.search(text)
