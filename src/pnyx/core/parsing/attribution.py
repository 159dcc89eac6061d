"""Attribution of words in a sentence: to its author, or to someone whom the author reports, denies or
imagines.

Judged by the text before the words, and a little of the text after them.
"""

from __future__ import annotations

import re

from ..caching.regex import regex

__all__ = [
    "LEAD",
    "begins_with_other",
    "find_lead",
    "introduces_author",
    "introduces_other",
    "is_conditional",
    "is_imagined",
    "is_reported",
]

_REACH = 300
"""Characters before and after the words that are searched."""

_WHO = (
    r"(?:\b(?:(?:participants?|seats?|options?|candidates?)(?:[\s_-]*(?:[A-Z]{1,2}|\d{1,2})\b)?|reviewers?"
    r"|colleagues?|panell?ists?|panel|members?|others?|another|someone|every(?:one|body)|they|he|she|his|her"
    r"|their|authors?|peers?|proposers?|voters?|critics?|majority|system|user)\b(?:\s+\d+)?"
    r"|(?-i:\b[A-HJ-Z]\b)(?='s\b|\s*[:|>-]|\s+(?:says|said|wrote|writes|votes|voted|argues|argued)\b))"
)
_OTHER = (
    rf"(?:{_WHO}|\b(?:proposals?|prompt|instructions?|task|text|message|passage|pages?|sites?|documents?"
    r"|articles?|sources?|tools?|snippets?|previous|last|earlier|prior)\b)"
)
_SAYS = (
    r"(?:says?|said|saying|writes?|wrote|written|writing|vot(?:es?|ed|ing)|argu(?:es?|ed|ing)|claim(?:s|ed)?"
    r"|stat(?:es?|ed)|ask(?:s|ed)?|suggest(?:s|ed)?|propos(?:es?|ed)|recommend(?:s|ed)?|want(?:s|ed)?"
    r"|call(?:s|ed)?|conclud(?:es?|ed)|end(?:s|ed)|puts?|quot(?:es?|ed|ing)|reads?|chose|chosen|chooses?"
    r"|pick(?:s|ed)?|prefer(?:s|red)?|insist(?:s|ed)?|repl(?:y|ied|ies)|answered|respond(?:s|ed)?"
    r"|rank(?:s|ed)|tells?|told|instruct(?:s|ed|ions?)?|demand(?:s|ed)?|urg(?:es?|ed)|endors(?:es?|ed)"
    r"|contain(?:s|ed)|includ(?:es?|ed)|outputs?|return(?:s|ed)|shows?|ballots?|verdicts?|directives?|words?|lines?|round)"
)
_SPEAKS = rf"{_WHO}(?:'s)?\W*[:|>()\[\]-]\W*\Z|{_WHO}'s(?:\s+(?!(?:is|was|has)\b)\w+){{1,2}}\W*:\W*\Z"
_REPORTED = regex(
    rf"{_OTHER}.{{0,160}}?\b{_SAYS}\b|\b{_SAYS}\b.{{0,60}}?\b(?:by|from|of)\s+{_OTHER}"
    rf"|\b(?:according\s+to|as\s+per|quot\w+|cit\w+|echo\w*|repeat\w*)\b|{_SPEAKS}",
    re.IGNORECASE,
)
_HANDS_OVER = regex(rf"\b{_SAYS}(?:\s+that)?\W*\Z|{_SPEAKS}", re.IGNORECASE)
_ATTRIBUTED_AFTER = regex(
    rf"[,\"'-]\s*(?:(?:said|says|wrote|writes|argued|voted|concluded)\s+{_WHO}"
    rf"|(?:it|{_WHO})\s+(?:said|says|wrote|writes|argued|voted|concluded)\b)"
    rf"|\bwas\s+{_WHO}(?:'s)?\s+\w*\s*{_SAYS}",
    re.IGNORECASE,
)
_NOW = r"(?!(?:previous|earlier|last|first|old|initial|original|round)\b)(?:\w+\s+)?"
_FIRST_PERSON = regex(
    rf"\b(?:I|we)(?:'\w+)?\s+(?:\w+ly\s+|would\s+|also\s+|now\s+)*{_SAYS}\b(?:\s+(?:for|with)\s+{_OTHER})?"
    rf"|\bmy\s+{_NOW}{_SAYS}\b|\bI\s+(?:\w+ly\s+)?(?:agree|concur|side|join|stand)\b(?:\s+with\s+{_OTHER})?",
    re.IGNORECASE,
)
_IMAGINED = regex(
    r"\b(?:not|never|no|nor|neither|cannot|\w+n't|without|rather|instead|against|could|would|might|may|if"
    r"|unless|until|whether|suppos\w+|ignor\w+|tempt\w+|consider\w*|almost|nearly|about\s+to|before|e\.?g"
    r"|examples?|instance|such\s+as|format|form|template|either|options?|choices"
    r"|(?:reply|respond|answer)\s+with|were|had|voted|chose|initially|originally|previous\w*|earlier|last|premature|between|versus|vs)\b",
    re.IGNORECASE,
)
_SPEAKER = regex(
    rf"{_WHO}(?:'s)?(?:\s+(?:\w+\s+)?{_SAYS})?\s*(?:\([^()]*\)\s*)?:(?=\s*[^\s\"'])", re.IGNORECASE
)


def is_reported(before: str, after: str = "", *, author: str) -> bool:
    """Whether the text between `before` and `after` is attributed to someone other than `author`."""
    before = _FIRST_PERSON.sub("I", _as_self(before[-_REACH:], author))
    return bool(_REPORTED.search(before) or _ATTRIBUTED_AFTER.search(after[:_REACH]))


def introduces_other(before: str, author: str) -> bool:
    """Whether `before` ends by introducing someone other than `author`, as in "Participant A said"."""
    return bool(_HANDS_OVER.search(_as_self(before[-_REACH:], author)))


def begins_with_other(line: str, author: str) -> bool:
    """Whether `line` begins with a speaker other than `author`, as in "Participant A: ..."."""
    return bool(_SPEAKER.match(_as_self(line[:_REACH], author)))


def is_imagined(before: str) -> bool:
    """Whether `before` makes the text after it denied, doubted, past, or one of several choices."""
    return bool(_IMAGINED.search(before[-_REACH:]))


def is_conditional(led: str, before: str, after: str) -> bool:
    """Whether the "I would vote" or "I will vote" of `led` depends on a condition in `before` or `after`."""
    if re.search(r"\bwould\b|'d\b", led, re.IGNORECASE):
        return bool(re.search(r"\b(?:if|unless|had|were|but|provided|once)\b", before + after, re.IGNORECASE))
    will = re.search(r"\bwill\b|'ll\b", led, re.IGNORECASE)
    return bool(will and re.search(r"\b(?:if|unless|once|as\s+soon\s+as|until)\b", before, re.IGNORECASE))


def _as_self(text: str, author: str) -> str:
    """`text` with "I" in place of the author's label."""
    if not author:
        return text
    return re.sub(r"[\s_-]*".join(map(re.escape, author.split())) + r"\b", "I", text, flags=re.IGNORECASE)


_NOUN = (
    r"(?:vote|ballot|verdict|decision|directive|choice|conclusion|recommendation|judge?ment|ruling|position"
    r"|answers?|response|result|outcome|output|status|reply|approval|confirmation|class|classification"
    r"|category|type|kind|question)"
)
_MY = (
    r"(?:my|the|our|its|this|these|both|two|final|formal|overall|official|current|own|new|actual"
    r"|council|best)"
)
_IS = r"(?:is|are|remains|stays|goes|will\s+be|would\s+be|must\s+be|has\s+to\s+be)"
_AS = r"(?:to|for|as|an?|the|all|clearly|mainly|mostly|primarily|essentially|exactly|best)"
_SO = (
    r"(?:(?:so|thus|therefore|hence|overall|finally|accordingly|consequently|now|and|but|ok|okay|yes|no(?=,)|well"
    r"|actually|in\s+(?:conclusion|summary|short|sum|the\s+end)|to\s+conclude|all\s+things\s+considered"
    r"|given\s+(?:this|that|all\s+(?:of\s+)?this|the\s+above)|on\s+(?:balance|reflection)"
    r"|for\s+(?:these|this|that|those|the\s+above)\s+reasons?|after\s+\w+ing\s+[^,:]{1,60}(?=,))\b[\s,:]*)"
)
_VOTE = (
    r"(?:vote|voting|choose|opt|say|cast|casting|change|switch|recommend|move|pick|select|go|stand)"
    r"(?:\s+(?:my|a|the|this|vote|ballot)){0,3}(?:\s+(?:to|for|with|as|on|of|is)){0,3}"
)
_WILL = (
    r"(?:\w+ly|now|hereby|thus|therefore|do|will|would|must|still|also|have\s+to|am\s+going\s+to|choose\s+to"
    r"|want\s+to)"
)
LEAD = (
    rf"{_SO}{{0,5}}"
    rf"(?P<led>(?:(?:{_MY}\s+){{0,4}}{_NOUN}\b(?:\s+{_IS}\b)?"
    rf"|(?:this|it|that|they|both|these)(?:'s|'re|\s+{_IS}\b))(?:\s+{_AS}\b){{0,4}}"
    rf"|\b(?:I|we)(?:'ll|'d|'m)?\b(?:\s*\([^()]{{1,40}}\))?(?:\s+{_WILL}\b){{0,4}}(?:\s+{_VOTE}\b)?)?"
    r"[\s:=>\"'-]*"
)
"""What an author may write just before a directive that is neither attributed to others nor supposed.

The group `led` is "my vote is" or "I vote", if present.
"""
_MINE = regex(rf"\bmy\s+{_NOW}{_NOUN}\b", re.IGNORECASE)
_LED = regex(rf"(?:^|[.!?;,:-]\s){LEAD}\Z", re.IGNORECASE)


def find_lead(before: str) -> int | None:
    """The start of the "I vote" or "my vote is" at the end of `before`; None if there is none."""
    match = _LED.search(before, max(0, len(before) - _REACH))
    return match.start("led") if match and match["led"] else None


def introduces_author(line: str, author: str) -> bool:
    """Whether `line` introduces the author's own words: "My vote:"."""
    at = find_lead(line)
    if at is None and (mine := _MINE.search(line[-_REACH:])):
        at = mine.start()
    return at is not None and not is_reported(line[:at], author=author)
