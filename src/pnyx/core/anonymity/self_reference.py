"""Whether a model names itself: "As GPT-5, I …", "I'm Claude, made by Anthropic"."""

from __future__ import annotations

import re

from ..caching.regex import regex

__all__ = ["MARKUP", "names_itself", "sentence_start"]

MARKUP = "*_`\"'\u2018\u2019\u201c\u201d«»()[]#>"
"""Marks of emphasis, quotation and headings around a name."""

_MADE = "made|built|created|developed|trained|designed|programmed|provided|released|aligned|hosted|powered"
_LINK = (
    "an?|the|your|this|ai|large|language|virtual|helpful|friendly|chat|models?|assistant|bot|chatbot"
    "|agent|system|llm|version|instance|member|variant|family|of|called|named|known|as|based|on|by|from|and|just"
    "|actually|originally|also|who|which|that|is|am|are|was|were|been|not"
    f"|(?:team|people|researchers|engineers|company|{_MADE})(?: at)?"
)
_OPENER = (
    "i(?: am|'m| was|'ve been)?|it(?:'s| is) me|my name(?: is|'s)?|call me|we at"
    "|(?:speaking|answering|writing|responding|replying|acting|reviewing) as"
    "|my (?:knowledge|training|perspective|experience|role|capacity|view) as"
    "|you(?:'re| are) (?:talking|speaking|chatting) (?:to|with)"
    "|my (?:(?:creator|maker|developer|trainer|designer|provider)s?|training)(?: at)?"
    "|ich bin|je suis|yo soy|eu sou|io sono|.*我是"
)
_LONGEST = 16

_LINKED = rf"(?: (?:{_LINK}|participant))*"
_IS = regex(rf"(?:\A| )(?:(?:{_OPENER}){_LINKED}|as{_LINKED} (?:{_MADE}){_LINKED})\Z")
"""Introduces a name by which a model identifies itself: "I'm an assistant made by", "speaking as a"."""

_AS = regex(rf"(?:\A| )(?:as|being){_LINKED}\Z")
_AS_I = regex(
    rf"[{re.escape(MARKUP)}]*(?:[\s,-]+(?:{_LINK})\b){{0,8}}[\s,]*"
    rf"(?:\b(?:I|my|we|our|me)\b|\b(?:{_MADE})\s+by\b)",
    re.IGNORECASE,
)
"""Follows "as NAME" if the model refers to itself."""

_OF_ME = regex(
    rf"\W{{0,4}}\s(?:(?:has|have|who|which|that)\s)?(?:{_MADE})\sme\b(?=\s*(?:[.,;:!)]|\Z|(?:to|as|and|with|on|for)\b))"
    r"|\s\(me\)|['\u2019]s\s(?:\w+\s)?(?:policy|policies|guidelines|rules|terms),?\s"
    r"(?:I\b|(?:prevent|forbid|require)s?\sme\b|(?:do|does)(?:\snot|n['\u2019]t)\s(?:allow|let|permit)\sme\b)",
    re.IGNORECASE,
)
"""Follows a name of the author, whatever precedes it: "OpenAI trained me to …"."""

_HERE = regex(
    rf"[{re.escape(MARKUP)}]*(?:\s(?:here|speaking)\s?[.,:;!\u2013\u2014-]|[:\])][\s*_]*I\b)", re.IGNORECASE
)
_SIGNED = regex(r"\s*(?:[-\u2013\u2014]{1,3}|signed|sincerely|regards|yours)[\s,*_]*\Z", re.IGNORECASE)
_END = regex(r"[\s.*_]*\Z")


def names_itself(before: str, text: str, stop: int) -> bool:
    """Whether the author names itself with the name between `before` and `text[stop:]`."""
    if _OF_ME.match(text, stop):
        return True
    sentence = before[sentence_start(before) :]
    if not sentence.strip(MARKUP + " \n"):
        return bool(_HERE.match(text, stop))
    if _SIGNED.match(sentence):
        return bool(_END.match(text, stop))
    lead = _lead(sentence)
    if lead == "this is":
        return bool(_HERE.match(text, stop))
    return bool(_IS.search(lead) or (_AS.search(lead) and _AS_I.match(text, stop)))


def sentence_start(text: str) -> int:
    """The start of the last sentence or the last line of `text`."""
    return max(text.rfind(mark) + len(mark) if mark in text else 0 for mark in ("\n", ". ", "! ", "? "))


def _lead(sentence: str) -> str:
    """The last words of `sentence`, at most `_LONGEST`, without their markup."""
    words = sentence.lower().replace("\u2019", "'").split()[-_LONGEST:]
    return " ".join(filter(None, (word.strip(MARKUP + ",:") for word in words)))
