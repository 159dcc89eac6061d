"""The answer in the last lines of a reply that has no `Final answer:` line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..regex import regex
from .values import MAX_CHARS, SIGNS, boxed_value, is_credible, is_definite, value_of

__all__ = ["conclusion", "stated_value"]

_TAIL = 4
"""The number of last lines that may state the answer."""
_STATEMENT = 250
"""The most characters of a line or sentence that states only one value."""

_FOOTNOTE = regex(
    r"\W*(?:note|n\.?b\.|caveat|assum|disclaimer|p\.s\.|confidence|however,?\s+(?!the\s|i\s)"
    r"|this (?:answer )?(?:assumes|is based)|please|let me know|i hope|hope this|feel free|keep in mind"
    r"|sources?\b)"
    r"|[*_]*\([a-z]{3,}\s.*\)[*_.]*$",
    re.IGNORECASE,
)
_LABELS_NEXT = regex(r"\banswer\b[^:]{0,20}:[*_\s]*$", re.IGNORECASE)
_SENTENCES = regex(r"(?<=[.!?])(?<!\b[A-Z]\.)\s+(?=[\"(*_$\\]*[A-Z])")


def conclusion(author_lines: Sequence[str], is_plausible: Callable[[str], bool]) -> str | None:
    """The answer at the end of `author_lines`, the lines of a reply without quotations, or None.

    A sentence with "the answer is" counts in any of the last lines. A sentence that only concludes counts at
    the very end, with a name or a plausible value: a number, a date, a letter, an option, yes or no.
    """
    found = list[str]()
    for line in (line[-MAX_CHARS:].strip() for line in author_lines[-3 * _TAIL :]):
        if found and _LABELS_NEXT.search(found[-1]) and not line.startswith("#"):
            found[-1] += f" {line}"
        else:
            found.append(line)
    while len(found) > 1 and _FOOTNOTE.match(found[-1]):
        found.pop()
    sentences = [[s for s in _SENTENCES.split(line) if s and not s.endswith("?")] for line in found[-_TAIL:]]
    for sentence in (s for line in reversed(sentences) for s in reversed(line)):
        if value := stated_value(sentence, is_plausible):
            return value
    if not sentences or not sentences[-1]:
        return None
    return _closing(found[-1], sentences[-1][-1], len(found) == 1, is_plausible) or None


_SO = (
    r"(?:(?:so|thus|therefore|hence|consequently|accordingly|finally|overall|ultimately|clearly|altogether"
    r"|then|indeed|but|and|yet|in (?:conclusion|summary|short|total)|to (?:conclude|sum up)"
    r"|as a result|conclusion|(?:result|total|solution|verdict|decision|choice|sum)(?=\s*:)"
    r"|(?:this|that|which) means|it follows|we (?:get|find|have|conclude|see)"
    r"|i (?:think|believe|conclude|am confident))(?:\s+that)?\s*[,:]?\s+|[∴⇒→]\s*)"
)
_CONCLUDES = regex(rf"{_SO}+", re.IGNORECASE)
_ANSWER_IS = regex(
    rf"(?P<before>(?:.*?[,;:-]\s+)?)(?P<turn>(?:but|yet|however,)\s+)?{_SO}*(?:(?:the|my|our)\s+)?"
    r"(?:(?:(?:final|correct|best|right|short)\s+)*(?:answer|ans)|(?:correct|best|right)\s+(?:option|choice))"
    r"(?:\s+(?:to|for|of)\s[^:=,]{1,100})?[*_]*"
    r"(?:\s+(?:is|are|would be|should be|must be|has to be)\b(?:\s*:|\s+that\b)?|\s*(?:[:=→]|->)|\s+-\s)"
    r"[*_]*\s*(?P<value>\S.*)",
    re.IGNORECASE,
)
_CHOSEN = tuple(
    regex(rf"(?P<before>)(?P<turn>){_SO}*{form}", re.IGNORECASE)
    for form in (
        r"(?:i|we)(?:\s+(?:would|will)|'(?:d|ll))?\s+(?:choose|chose|pick|picked|select|go with|vote for)\s+"
        r"(?P<value>.+)",
        r"(?P<value>.{1,60}?)\s+is\s+(?:the\s+)?(?:correct|right|best)"
        r"(?:\s+(?:answer|option|choice|one))?[.!]?",
        r"(?P<value>.{1,60}?)\s+is\s+(?:the|my|our)\s+(?:final\s+)?answer[.!]?",
    )
)
_SUPPOSED = regex(
    r"\W*(?:if|suppose|supposing|when|unless|whether|according|(?:as |for )?participant|some|others?|many)\b"
    r"|.*\b(?:say|says|said|claim\w*|think|thinks|argue\w*|wrote|writes|suggest\w*|believes?)"
    r"(?: that)?[,:]?\s*$",
    re.IGNORECASE,
)
_SOMEONES = regex(
    r"\b(?:according to|participants?|(?:say|claim|think|argue|believe|suggest)s)\b", re.IGNORECASE
)


def stated_value(sentence: str, is_plausible: Callable[[str], bool]) -> str:
    """The value of a sentence that states the answer; empty if it only supposes or reports one."""
    if inner := boxed_value(sentence):
        return value_of(inner)
    sentence = sentence.lstrip(" #*_|>-•" + SIGNS)
    for form in (_ANSWER_IS, *_CHOSEN):
        match = form.fullmatch(sentence)
        if match is None or _SOMEONES.search(match["value"]):
            continue
        if not match["turn"] and _SUPPOSED.match(match["before"]):
            continue
        value = value_of(match["value"])
        if is_plausible(value) or (form is _ANSWER_IS and is_credible(value)):
            return value
    return ""


_BULLET = regex(r"\s*(?:[-*+•]|\d+[.)])\s+")
_DIGIT = regex(r"\d")
_NAME = regex(r"[A-Z][\w'&.-]*(?:\s+(?:[A-Z][\w'&.-]*|of|the|de|da|di|van|von|and|la|le)){0,5}")
_PREDICATE = regex(
    r"(?P<before>.*)(?:\s(?:is|are|equals|makes|gives|comes to|amounts to)\s|\bit's\s|(?P<equals>=))"
    r"\s*(?P<value>\S.*)",
    re.IGNORECASE,
)


def _closing(line: str, sentence: str, only_line: bool, is_plausible: Callable[[str], bool]) -> str:
    """The only value of the last line, or of its last sentence. only_line: whether it is the only line."""

    def only(text: str) -> str:
        if len(text) > _STATEMENT:
            return ""  # an argument; parsing it takes milliseconds
        value = value_of(text)
        return "" if _DIGIT.search(text.replace(value, "", 1)) else value

    if _SOMEONES.search(sentence):
        return ""
    concludes = _CONCLUDES.match(sentence)
    claim = sentence[concludes.end() :] if concludes else sentence
    value = only(line if only_line or not _BULLET.match(line) else "")
    if is_plausible(value) or (only_line and not concludes and _NAME.fullmatch(value)):
        return value
    value = only(claim)
    if concludes and (is_plausible(value) or _NAME.fullmatch(value)):
        return value
    if (match := _PREDICATE.fullmatch(claim)) and not _SUPPOSED.match(match["before"]):
        value = only(match["value"])
        worked_out = match["equals"] and is_definite(match["value"])
        if (concludes or worked_out or (only_line and sentence == line)) and is_plausible(value):
            return value
    return ""
