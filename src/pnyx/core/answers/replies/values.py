"""The value of a short answer, without markup, caveats and the alternatives that it denies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from ...caching.regex import regex
from ...markup.notation import plain, strip_emphasis
from ..reading.envelopes import boxed_value
from ..reading.labels import SIGNS, denial_ends, find_label, is_denied, option_letter, without_ending
from ..same.equivalence import read

__all__ = [
    "MAX_CHARS",
    "SIGNS",
    "as_literal",
    "emphasised",
    "is_credible",
    "is_definite",
    "value_of",
]

MAX_CHARS = 600
"""Characters in which an answer and its caveat are searched."""

MAX_WORDS = 8
"""The most words of a credible answer that is not a number, a date, a letter, yes or no."""

MAX_LETTERS = 80
"""The most characters of such an answer in a language other than English, which may not space its words."""

ENGLISH = ("en",)
"""The languages of a text whose rules for sentences apply."""


def value_of(written: str, languages: Sequence[str] = ENGLISH) -> str:
    """The answer in `written`: `12` of `**12** (assuming a full tank)`, `7` of `not 5 but 7`.

    A literal in quotes or backticks keeps them, with all that stands in them, and so does a relation: `x >=
    5` is not 5. Empty if there is none, or only a placeholder such as `<value>`. A text longer than
    `MAX_CHARS` that does not begin with a short answer is returned unchanged. languages: the codes of those
    that `written` may be in.
    """
    start = _unwrap(written[:MAX_CHARS])
    if not start or _PLACEHOLDER.fullmatch(start):
        return ""
    start = _result(start) if "=" in start else start
    if "en" in languages:
        value = _before_caveat(_after_contrast(_HEDGE.sub("", start, count=1)))
        value = _APPOSITION.sub(r"\g<name>", _result(_unwrap(_subject(value))))
    else:
        languages = tuple(languages)
        value = _unwrap(without_ending(start, languages))
        begins = denial_ends(value, languages)
        value = value[begins:] if begins is not None else value
        value = _result(_unwrap(without_ending(_before_remark(_unwrap(value)), languages)))
        value = option_letter(value, languages) or value
    return written.strip() if len(written) > MAX_CHARS and value == start else value


_APPOSITION = regex(
    r"^(?P<name>[A-Z][\w'-]*(?: [A-Z][\w'-]*){0,3}), the [a-z]+ (?:of|in|that|which|who) [^,;]*$"
)
"""What a name is, behind it: `Paris, the capital of France`."""


def emphasised(written: str) -> str:
    """The only part of a sentence in bold type, `14:30` of `At **14:30**.`, if it is a value; else empty."""
    parts = _BOLD.findall(written[:MAX_CHARS])
    value = value_of(parts[0]) if len(parts) == 1 else ""
    return value if value and is_definite(value) else ""


_BOLD = regex(r"\*\*([^*\n]{1,80})\*\*")


def as_literal(code: str) -> str:
    """`code` in backticks, unless it reads the same without them: a number, a letter, a small word."""
    code = code.strip()
    return code if not code or _PLAIN.fullmatch(code) or "`" in code else f"`{code}`"


_PLAIN = regex(r"-?(?:0|[1-9]\d*)|[A-Za-z]|(?i:yes|no)|(?!(?:true|false|none|null|nan|inf)$)[a-z]+|[*_\s]*")
"""Code that says the same without its marks; `True`, `Init` and `007` do not: case and zeros count."""


def is_definite(value: str) -> bool:
    """Whether `value` is a number, a date, an option's letter, or yes or no."""
    return read(value).kind != "text"


def is_credible(value: str, languages: Sequence[str] = ENGLISH) -> bool:
    """Whether `value` is definite, or a few words that do not evade the question."""
    if "en" not in languages:
        few = 0 < len(value.split()) <= MAX_WORDS and len(value) <= MAX_LETTERS
        # A word that denies is an answer by itself: "no".
        return (few or is_definite(value)) and (" " not in value or not is_denied(value, tuple(languages)))
    if _CONNECTIVE.fullmatch(value):
        return False
    return is_definite(value) or (0 < len(value.split()) <= MAX_WORDS and not _EVASIVE.match(value))


_CONNECTIVE = regex(
    r"(?:actually|indeed|however|okay|ok|finally|therefore|thus|hence|certainly|thanks|sorry|overall|clearly"
    r"|of course|in fact|in short)",
    2,
)
"""Words that only begin a sentence."""


_PLACEHOLDER = regex(
    r"[<\[{(]\s*(?:(?:the|your|insert|final|short|an?)\s+)*"
    r"(?:value|answer|result|letter|number|option)\b.*[>\]})]"
    r"|value|answer|[.…?!*_ -]*",
    re.IGNORECASE,
)
_WRAPPINGS = tuple(
    regex(form)
    for form in (
        r"\$\$?((?:[^$\\]|\\.)+)\$\$?",
        r"\\\((.*)\\\)",
        r"\\\[(.*)\\\]",
        r"\\text(?:bf|it|rm)?\s*\{([^{}]*)\}",
        r"<([^<>]*)>",
        r"[「『【]([^「」『』【】]*)[」』】]",
        r"\[\[([A-Za-z])\]\]",
    )
)
_QUOTED = regex(r"([\"'])(?:(?!\1)[^\\]|\\.)*\1|[bBrRuUfF]{1,2}([\"'])(?:(?!\2)[^\\]|\\.)*\2")
"""A whole text that is one string literal."""
_CODE = regex(r"(`+)(?!`)\s?(?P<code>[^`]+?)\s?(?<!`)\1")
_GLOB = regex(r"(?:\*\*?/)*[\w.\-/]*\*\.[\w]+")
"""A pattern such as `*.py`, whose star is no emphasis."""
_DUNDER = regex(r"(?P<name>__(?P<word>[a-z][a-z0-9]*(?:_[a-z0-9]+)*)__)\.?")
"""A name such as `__init__`, which Markdown would print in bold."""
_ABBREVIATION = regex(r"\b\w\.\s?\w\.$")


def _unwrap(text: str) -> str:
    text = boxed_value(text) or text
    while True:
        before, text = text, text.strip(" \t|,;:" + SIGNS)
        if (name := _DUNDER.fullmatch(text)) and read(name["word"]).kind == "text":
            return name["name"]
        bare = text.strip("*_ ").rstrip(".")
        if code := _CODE.fullmatch(bare) or _CODE.fullmatch(bare.rstrip("*_ ")):
            return as_literal(code["code"])
        if _QUOTED.fullmatch(bare):
            return bare
        if _GLOB.fullmatch(text):
            return text
        text = strip_emphasis(text).strip(" \t|,;:" + SIGNS)
        text = text.strip("`") if text.count("`") == 1 else text
        text = text if _ABBREVIATION.search(text) else text.rstrip(".")
        wrapped = next(filter(None, (form.fullmatch(text) for form in _WRAPPINGS)), None)
        if wrapped and not _PLACEHOLDER.fullmatch(text):
            text = wrapped[1]
        if text == before:
            return text


def _result(value: str) -> str:
    """The right side of a sum of numbers, `6 * 7 = 42`, and of a description, `total cost = 42`.

    Every other relation stays whole: `x = 5` and `y = 5` differ.
    """
    left, sign, right = value.rpartition("=")
    if sign and (label := find_label(value)) and label.rest.strip() == right.strip():
        return _unwrap(right)
    if not sign or left[-1:] in "<>!=:~≈" or not is_definite(right.strip()):
        return value
    sides = [plain(side).strip() for side in left.split("=")]
    sums = all(_SUM.fullmatch(side) for side in sides)
    return _unwrap(right) if sums or (_DESCRIPTION.fullmatch(sides[0]) and len(sides) == 1) else value


_TERM = r"\(*[-+]?\(*[$€£¥₹]?\d[\d.,]*[%!]?\)*(?:\s+\(?[A-Za-z]{2,}\)?){0,2}\)*"
_DESCRIPTION = regex(r"[^\W\d_]+(?:\.?,?\s+[^\W\d_]+){0,7}\s+[^\W\d_]{2,}")
_SUM = regex(rf"{_TERM}(?:\s*[-+×/^x]\s*{_TERM}){{1,30}}")
"""Numbers, with words for what they count, joined by operators; a name would make it a relation."""

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


def _after_contrast(value: str) -> str:
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
"""Words that show that a sentence says more than one value and what it is the value of."""
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


def _subject(value: str) -> str:
    """The subject of a sentence: `13 people` of `There are 13 people in it`, `Ada` of `Ada is the oldest`.

    Only a number that has a description or counts something, or a name with a superlative, and only in a
    sentence that says nothing else; else `value` unchanged.
    """
    if read(value).kind != "text":
        return value
    for form in (_THERE_IS, _SAID_OF):
        match = form.fullmatch(value)
        if match is None or _MORE.search(match["rest"]):
            continue
        subject, rest = match["value"], match["rest"]
        fits = form is _THERE_IS or _CALLED.match(rest) or _COUNTED.fullmatch(subject)
        if fits and read(subject).kind in ("number", "date"):
            return subject
        if form is _SAID_OF and _ONE_NAME.fullmatch(subject) and _SUPERLATIVE.fullmatch(rest):
            return subject
    return value


_EVASIVE = regex(
    r"(?:not|un(?:clear|known|certain|determined|decided|available|likely)|that|to|in|on|at(?!\s+(?:least|most)\b)|by|because|based"
    r"|given|found|obtained|dependent|as|below|above|simple|complex|complicated|whether|what|which|somewhere"
    r"|possibly|either|neither|none of|it|still|hard)\b",
    re.IGNORECASE,
)
_BREAK = regex(r"\s*[(\[]|[,;:.!?]\s+|\s+-+\s+|\s+(?=[a-z])")
_BREAKS = 30
"""Places where a caveat may begin that are tried; parsing what stands before each takes time."""
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
"""Words that begin a caveat after any answer, even without punctuation before them."""

_SENTENCE = regex(
    r"(?:it|this|that|these|those|there|the|note|i|we|you|all|here|let|please|my|in|as|to|for)\b"
    r"|\S+(?:\s+\S+){2}",
    re.IGNORECASE,
)
_REMARK = regex(r"(?:it|this|that|these|those|there|note|i(?!\.)|we|they|he|she)\b", re.IGNORECASE)
_CONJUNCTION = regex(r"(?:and|or|to)\b|&", re.IGNORECASE)
_ITEM_END = regex(r"[,;]|\.(?!\d)|\s\(|\s(?:and|or)\s")
_ROMAN = regex(r"[IVX]+")
_SYMBOLS = regex(
    r"(?=.*(?:[^\W\d_]|[√±∞]))"
    r"(?:[\d\s.+×/^=±√∞°()-]|(?<![^\W\d_])(?:sin|cos|tan|log|ln|exp|pi|[^\W\d_])(?![^\W\d_]))+"
)
"""An expression in plain notation: its only words are the names of variables, constants and functions."""
_QUALIFIED = regex(r"mod(?:ulo)?\s|base[\s-](?:\d|two|eight|ten|sixteen)\b", re.IGNORECASE)
"""Words that change the number before them."""
_REMAINDER = regex(r"remainder\s+\d", re.IGNORECASE)
_INITIAL = regex(r"[A-Z]\.")
_CLOSE = regex(r"[)\]]")


def _before_caveat(value: str) -> str:
    """`value` without its caveat: `12` of `12, since …`, `12 (if …)`, `12. This holds …`.

    Lists, dates and titles stay whole.
    """
    if read(value).kind in ("number", "date"):
        return value
    for found in islice(_BREAK.finditer(value), _BREAKS):
        head, tail, sign = value[: found.start()], value[found.end() :], found[0].strip()
        if not head or not tail or (found[0] in ("(", "[") and _is_argument(head, tail)):
            continue
        if _CAVEAT_ALONE.match(tail) or (_CAVEAT.match(tail) and (sign or is_definite(head))):
            return head
        if sign and is_definite(head) and not _continues(head, sign, tail):
            return head
        if sign == "." and _REMARK.match(tail) and len(head.split()) <= MAX_WORDS:
            return head
    return value


def _before_remark(value: str) -> str:
    """`value` before a remark in any language: `12` of `12 (wenn ...)` and of `12, da ...`."""
    if is_definite(value):
        return value
    for found in islice(_BREAK.finditer(value), _BREAKS):
        head, tail, sign = value[: found.start()], value[found.end() :], found[0].strip()
        if not head or not tail or not sign or (found[0] in ("(", "[") and _is_argument(head, tail)):
            continue
        if is_definite(head) and not _continues(head, sign, tail):
            return head
    return value


def _is_argument(head: str, tail: str) -> bool:
    """Whether a bracket right after `head` holds its argument: `O(n)`, `2(n+1)`."""
    lone = len(head) == 1 and head.isalpha()
    return lone or (head[-1].isdigit() and bool(_SYMBOLS.fullmatch(plain(_CLOSE.split(tail)[0]))))


def _continues(head: str, sign: str, tail: str) -> bool:
    """Whether `tail` belongs to the definite answer before it: a next item, or the rest of an expression."""
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
    """Whether `text` is one more answer after `head`. The text after an option's letter may be its own."""
    symbol = read(head).kind == "number" or (len(head) == 1 and head.islower())
    return is_definite(text) or bool(_ROMAN.fullmatch(text) or (symbol and _SYMBOLS.fullmatch(plain(text))))
