"""A short answer out of the words around it: its markup, its caveat, and what it says it is not."""

from __future__ import annotations

import re

from ..markup.notation import plain, unmarked
from ..regex import regex
from .equivalence import read

__all__ = ["LONGEST", "SIGNS", "boxed", "credible", "definite", "missing", "value_of"]

LONGEST = 600
"""Characters in which an answer and its caveat are looked for."""

WORDS = 8
"""The most words of an answer that is not a number, a date, a letter, yes or no."""

SIGNS = "→➡✅✔☑👉🎯🎉\ufe0f"
"""What is drawn beside an answer to point at it."""


def value_of(written: str) -> str:
    """The answer in what was written for it: `12` of `**12** (assuming a full tank)`, `7` of `not 5 but 7`.

    Empty when there is none, or only a placeholder such as `<value>`. What is longer than `LONGEST` and
    does not begin with a short answer is given as it stands.
    """
    start = _unwrapped(written[:LONGEST])
    if not start or _PLACEHOLDER.fullmatch(start):
        return ""
    value = _unwrapped(_spoken_of(_before_caveat(_contrasted(_HEDGE.sub("", start, count=1)))))
    if "=" in value and read(value).kind == "number":
        value = _unwrapped(value.rpartition("=")[2])
    return written.strip() if len(written) > LONGEST and value == start else value


def definite(value: str) -> bool:
    """Whether `value` is a number, a date, an option's letter, or yes or no."""
    return read(value).kind != "text"


def credible(value: str) -> bool:
    """Whether `value` is definite, or a few words that do not evade the question."""
    return definite(value) or (0 < len(value.split()) <= WORDS and not _EVASIVE.match(value))


def missing(value: str) -> bool:
    """Whether `value` says in an answer's place that there is none: `N/A`, `TBD`, `I don't know`."""
    return bool(_MISSING.fullmatch(value))


def boxed(text: str) -> str:
    r"""What the last \boxed{} in `text` holds."""
    start = text.rfind("\\boxed{")
    depth = 0
    for at in range(start + 6, len(text)) if start >= 0 else ():
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return text[start + 7 : at].strip()
    return ""


_PLACEHOLDER = regex(
    r"[<\[{(]\s*(?:(?:the|your|insert|final|short|an?)\s+)*"
    r"(?:value|answer|result|letter|number|option)\b.*[>\]})]"
    r"|value|answer|[.…?!*_ -]*",
    re.IGNORECASE,
)
_MISSING = regex(
    r"(?:n\s?/\s?a|n\.\s?a\.?|not (?:applicable|available)|unsure|tb[ad]"
    r"|to be (?:determined|decided|announced)"
    r"|(?:there (?:is|exists) )?no (?:(?:one|single|simple|definite|final) )?(?:short )?answer"
    r"(?: (?:exists|here|(?:to|for) .*))?|(?:i(?: am|['\u2019]m) )?not sure"
    r"|i (?:really |honestly )?(?:do not|don['\u2019]t) know(?: the answer)?)"
    r"(?:\s*[(;:.!].*|,\s.*|\s+-+\s.*)?",
    re.IGNORECASE | re.DOTALL,
)
"""Not `none`, which counts things; `unknown` and `cannot be determined` may be what was found."""
_WRAPPINGS = tuple(
    regex(form)
    for form in (
        r"\$\$?((?:[^$\\]|\\.)+)\$\$?",
        r"\\\((.*)\\\)",
        r"\\\[(.*)\\\]",
        r"\\text(?:bf|it|rm)?\s*\{([^{}]*)\}",
        r"<([^<>]*)>",
        r'"([^"]*)"',
        r"'([^']*)'",
    )
)
_ABBREVIATION = regex(r"\b\w\.\s?\w\.$")


def _unwrapped(text: str) -> str:
    text = boxed(text) or text
    while True:
        before, text = text, unmarked(text).strip(" \t|,;:`" + SIGNS)
        text = text if _ABBREVIATION.search(text) else text.rstrip(".")
        wrapped = next(filter(None, (form.fullmatch(text) for form in _WRAPPINGS)), None)
        if wrapped and not _PLACEHOLDER.fullmatch(text):
            text = wrapped[1]
        if text == before:
            return text


# In small letters only: capitals may begin a title.
_HEDGE = regex(
    r"(?:(?:therefore|thus|then|clearly|simply|just|indeed|actually|definitely|certainly|probably|presumably"
    r"|(?:most )?likely|it's|it is|I think)\b[,:]?\s+)+"
)
_CONTRAST = regex(
    r"not\s+(?!only\b).{1,100}?(?:[,;.:-]?\s+but(?:\s+(?:rather|instead|actually|in fact))?"
    r"|[,;.:-]\s+(?:(?:it|that|the\s+(?:correct\s+|right\s+|real\s+)?answer)(?:\s+is|'s)|rather|instead))"
    r"[:,]?\s+(.+)",
    re.IGNORECASE,
)


def _contrasted(value: str) -> str:
    match = _CONTRAST.fullmatch(value)
    return match[1] if match else value


_SAID_OF = regex(r"(?P<value>.{1,60}?)\s+(?:is|are)\s+(?P<rest>.{1,100})", re.IGNORECASE)
_THERE_IS = regex(
    r"there\s+(?:is|are)\s+(?:exactly\s+|only\s+)?(?P<value>\S.{0,60}?)"
    r"(?P<rest>(?:\s+(?:in|on|at|of|to|for|from|left|between|among|per|each|that|who)\b.{0,100})?)",
    re.IGNORECASE,
)
_MORE = regex(
    r"[,;:\d]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|half|and|or|then|but|so|giving|leaving"
    r"|which|making|not|no|never|neither|nor|wrong|incorrect|false|impossible|too|if|either|maybe|perhaps)\b|n't",
    re.IGNORECASE,
)
"""What makes more of a sentence than one value and what it is of."""
_CALLED = regex(r"(?:the|what|how|correct|right)\b", re.IGNORECASE)
_COUNTED = regex(r"\d[\d.,]*\s+[a-z]{3,}", re.IGNORECASE)
_SUPERLATIVE = regex(
    r"the\s+(?:\w+est|best|worst|most|least|only|winner|first|second|third|fourth|last)\b"
    r"(?!.*\b(?:\w+est|best|worst|most|least|first|second|third|fourth|last)\b).*",
    re.IGNORECASE,
)
_ONE_NAME = regex(
    r"(?!(?:It|This|That|These|Those|There|He|She|They|We|What|Who|Which|One|The|Nobody|Everyone|None)\b)[A-Z][a-z]+"
)


def _spoken_of(value: str) -> str:
    """What a sentence is about: `13 people` of `There are 13 people in it`, `Ada` of `Ada is the oldest`.

    Only a number that is called something or counts something, or a name that is called the first or most,
    and only in a sentence that says no more than that.
    """
    if read(value).kind != "text":
        return value
    for form in (_THERE_IS, _SAID_OF):
        match = form.fullmatch(value)
        if match is None or _MORE.search(match["rest"]):
            continue
        about, rest = match["value"], match["rest"]
        told = form is _THERE_IS or _CALLED.match(rest) or _COUNTED.fullmatch(about)
        if told and read(about).kind in ("number", "date"):
            return about
        if form is _SAID_OF and _ONE_NAME.fullmatch(about) and _SUPERLATIVE.fullmatch(rest):
            return about
    return value


_EVASIVE = regex(
    r"(?:not|un(?:clear|known|certain|determined|decided|available|likely)|that|to|in|on|at|by|because|based"
    r"|given|found|obtained|dependent|as|below|above|simple|complex|complicated|whether|what|which|somewhere"
    r"|possibly|either|neither|none of|it|still|hard)\b",
    re.IGNORECASE,
)
_BREAK = regex(r"\s*[(\[]|[,;:.!?]\s+|\s+-+\s+|\s+(?=[a-z])")
_CAVEAT = regex(
    r"(?:assuming|assumes|provided|given|unless|although|though|but|however|because|since|as long as"
    r"|depending|subject|with the caveat|rounded|rounding|not|rather|instead|if|when|where|which|note"
    r"|approximately|i\.e\.|that is|based|excluding|including|ignoring|barring|according"
    r"|at least if|under the|so)\b",
    re.IGNORECASE,
)
_CAVEAT_ALONE = regex(
    r"(?:assuming|provided that|given that|unless|although|because|rather than|instead of)\b", re.IGNORECASE
)
"""Words that begin a caveat even without punctuation before them, and behind any answer."""

_SENTENCE = regex(
    r"(?:it|this|that|these|those|there|the|note|i|we|you|all|here|let|please|my|in|as|to|for)\b"
    r"|\S+(?:\s+\S+){2}",
    re.IGNORECASE,
)
_REMARK = regex(r"(?:it|this|that|these|those|there|note|i|we|they|he|she)\b", re.IGNORECASE)
_CONJUNCTION = regex(r"(?:and|or|to)\b|&", re.IGNORECASE)
_ITEM_END = regex(r"[,;]|\.(?!\d)|\s\(|\s(?:and|or)\s")
_ROMAN = regex(r"[IVX]+")
_SYMBOLS = regex(
    r"(?=.*(?:[^\W\d_]|[√±∞]))"
    r"(?:[\d\s.+×/^=±√∞°()-]|(?<![^\W\d_])(?:sin|cos|tan|log|ln|exp|pi|[^\W\d_])(?![^\W\d_]))+"
)
"""An expression, in plain notation: no words but the names of variables, constants and functions."""
_QUALIFIED = regex(r"mod(?:ulo)?\s|base[\s-](?:\d|two|eight|ten|sixteen)\b", re.IGNORECASE)
"""What makes another number of the one before it."""
_REMAINDER = regex(r"remainder\s+\d", re.IGNORECASE)
_INITIAL = regex(r"[A-Z]\.")
_CLOSE = regex(r"[)\]]")


def _before_caveat(value: str) -> str:
    """`12` of `12, since …`, `12 (if …)`, `12. This holds …`; all of a list, a date or a title."""
    if read(value).kind in ("number", "date"):
        return value
    for found in _BREAK.finditer(value):
        head, tail, sign = value[: found.start()], value[found.end() :], found[0].strip()
        if not head or not tail or (found[0] in ("(", "[") and _applied(head, tail)):
            continue
        if _CAVEAT_ALONE.match(tail) or (_CAVEAT.match(tail) and (sign or definite(head))):
            return head
        if sign and definite(head) and not _goes_on(head, sign, tail):
            return head
        if sign == "." and _REMARK.match(tail) and len(head.split()) <= WORDS:
            return head
    return value


def _applied(head: str, tail: str) -> bool:
    """Whether a bracket right behind `head` holds what it is applied to: `O(n)`, `2(n+1)`."""
    lone = len(head) == 1 and head.isalpha()
    return lone or (head[-1].isdigit() and bool(_SYMBOLS.fullmatch(plain(_CLOSE.split(tail)[0]))))


def _goes_on(head: str, sign: str, tail: str) -> bool:
    """Whether what follows a definite answer is part of it: the next item, or the rest of an expression."""
    if _CONJUNCTION.match(tail):
        return True
    match sign:
        case "(" | "[":
            return bool(_QUALIFIED.match(tail) or re.search(r"[)\]]\s*[\w$€£√+×*/^=<>-]", tail))
        case "." | "!" | "?":
            return not _SENTENCE.match(tail) or bool(len(head) == 1 and _INITIAL.match(tail))
        case "," | ";":
            further = _QUALIFIED.match(tail) or _REMAINDER.match(tail)
            return bool(further) or _is_item(_ITEM_END.split(tail, maxsplit=1)[0], head)
        case _:
            return not tail[0].isalpha() or (len(tail) == 1 and read(head).kind != "truth")


def _is_item(text: str, head: str) -> bool:
    """Whether `text` is one more answer after `head`. What follows an option's letter may be its text."""
    symbol = read(head).kind == "number" or (len(head) == 1 and head.islower())
    return definite(text) or bool(_ROMAN.fullmatch(text) or (symbol and _SYMBOLS.fullmatch(plain(text))))
