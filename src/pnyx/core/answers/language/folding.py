"""The canonical text of words: without case, articles, markup and punctuation that only separates."""

from __future__ import annotations

import functools
import re
import unicodedata

from ...caching.regex import regex
from ...markup.notation import plain
from ..words import table

__all__ = [
    "fold_words",
    "is_formula",
    "items_of",
    "same_name",
    "strip_edges",
    "without_title",
]

_EDGES = regex(
    r"""^(?![.:!#]+[^\W\d])[\s"'.,;:!?\u00a1\u00bf\u060c\u061b\u061f\u06d4\u0964\u3001]+(?<![.:!#](?=[^\W\d]))(?<![.,](?=\d))"""
    r"""|(?:[\s"'.,;:?\u060c\u061b\u061f\u06d4\u0964\u3001]|(?<![\d)])(?<!\b[a-z])!)+$"""
)
"""Marks around an answer; the ! of a factorial is none, and neither is the point of .5."""
_WRAPPED = regex(r"\(([^(),]*)\)|\[([^\[\],]*)\]|\{([^{},]*)\}|<([^<>,=]*)>")


def strip_edges(text: str) -> str:
    """`text` in plain notation, without surrounding punctuation and brackets."""
    while True:
        before, text = text, plain(text)
        if wrapped := _WRAPPED.fullmatch(text):
            text = next(filter(None, wrapped.groups()), text)
        if not (text[:1].isalnum() and text[-1:].isalnum()):
            text = _EDGES.sub("", text) or text
        if text == before:
            return text


def _without_accents(text: str) -> str:
    """`text` with the base letters of Latin letters with accents: `sao paulo` of `são paulo`."""
    letters = unicodedata.normalize("NFD", text)
    bare = "".join(c for c in letters if not "\u0300" <= c <= "\u036f")
    return bare.translate(_BASE)


_BASE = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "Ø": "O", "Ł": "L", "Đ": "D", "İ": "I"}
)
_CAPITALS = regex(r"(?:[^\W\d_a-z]|(?:de|da|do|del|la|di|du|van|von|der|dos|das|of|y|e)\b)")
_WORDS = regex(r"[^\W\d_]+")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


def same_name(one: str, two: str) -> bool:
    """Whether two texts are one name: with or without accents, its title, or with the last name first.

    Accents tell words apart, as in `schon` and `schön`, so that only these lose them: names, whose words all
    have capitals, and words without umlauts. Words that the table `accents.json` lists keep theirs.
    """
    mine, theirs = _name(one), _name(two)
    if mine == theirs:
        return True
    if mine[:1].isascii() and theirs[:1].isascii() and mine[:1] != theirs[:1]:
        return False
    if mine.isascii() and theirs.isascii():
        return False
    capital = all(_CAPITALS.match(word) for text in (one, two) for word in _WORDS.findall(text))
    if not capital and any(c in "äöüåø" for c in mine + theirs):
        return False
    bare = {_without_accents(mine), _without_accents(mine.translate(_UMLAUTS))}
    folded = _without_accents(theirs)
    if folded not in bare and _without_accents(theirs.translate(_UMLAUTS)) not in bare:
        return False
    return (mine.isascii() or theirs.isascii() or _only_variants(mine, theirs)) and not (
        set(_WORDS.findall(folded)) & set(table("accents")["words"])
    )


def _only_variants(one: str, two: str) -> bool:
    """Whether two spellings differ by letters that look alike only: a cedilla or a comma below."""
    return one.translate(_LOOKALIKES) == two.translate(_LOOKALIKES)


_LOOKALIKES = str.maketrans({"ş": "ș", "ţ": "ț", "Ş": "Ș", "Ţ": "Ț"})


@functools.lru_cache(maxsize=4096)
def _name(text: str) -> str:
    """A name in small letters, its first name first, without a title that leaves two words or more."""
    if match := _REVERSED.fullmatch(text.strip()):
        text = f"{match[2]} {match[1]}"
    bare = _INITIAL_SPACE.sub("", _TITLE.sub("", text))
    return fold_words(strip_edges(bare if len(bare.split()) > 1 else text))


_REVERSED = regex(r"([^\W\d_a-z][\w'-]+), ([^\W\d_a-z][\w.'-]*(?: [^\W\d_a-z][\w.'-]*)?)")
_INITIAL_SPACE = regex(r"(?<=\b[A-Z])\.?\s(?=[A-Z]\b)")
_TITLE = regex(
    r"^(?:(?:Dr|Prof|Professor|Sir|Dame|Mr|Mrs|Ms|Miss|Madame|Mme|Monsieur|President|Herr|Frau|Señora?|Rev|King"
    r"|Queen|Pope|Emperor)\.? )+"
)


def without_title(text: str) -> str:
    """A name without the title of a person before it: `Lincoln` of `President Lincoln`."""
    return _TITLE.sub("", text) or text


_SEPARATOR = regex(
    r"\s*(?:[,;、，،]|\s(?:and|und|et|y|e|и|och|en|dan|ve|और|و)(?=\s)|\s&\s)+\s*|\s*(?:和|と|및)\s*"
)
_STEP = regex(r"\s*(?:,?\s*(?:and )?then\b|→|->|>|<|[,;、，])\s*|\s*(?:^|(?<=\s))\d+[.)]\s+")


_ALL_ENCLOSED = regex(r"\([^()]*(?:\([^()]*\)[^()]*)*\)")


@functools.lru_cache(maxsize=4096)
def items_of(text: str, *, ordered: bool = False) -> tuple[str, ...]:
    """The items of a list in words. ordered: arrows, `then` and numbers separate too: `1. mix 2. bake`."""
    whole = text.removesuffix(" only")
    parts = (_STEP if ordered else _SEPARATOR).split(whole[1:-1] if _ALL_ENCLOSED.fullmatch(whole) else whole)
    if any(part.count("(") != part.count(")") for part in parts):
        return (text,)  # brackets that group: `not (a and b)`
    return tuple(item for part in parts if (item := part.strip(" .()[]{}")))


_INITIALS = regex(r"\b(?:[^\W\d_]\.\s?)+[^\W\d_]\b\.?")
_SIGNS = "+×/^=<>≤≥≠≈≡±|→∩∪⊂⊆⊃∈∉⇒⇔∖∧∨"
_REWRITES = tuple(
    (parts.split(), regex(pattern), new)
    for parts, pattern, new in (
        # Lists: brackets around three or more items have no meaning; around two they may be an interval.
        (
            "{ [ (",
            r"^(?:\{([^{}]*,[^{}]*)\}|\[([^\[\]]*,[^\[\]]*,[^\[\]]*)\]|\(([^()]*,[^()]*,[^()]*)\))$",
            r"\1\2\3",
        ),
        ("and &", r"(?<=\d)\s+(?:and|&)\s+(?=[+-]?\d)", ", "),
        ("and &", r"(,[^,]*[^\s,])(?:\s*,)?\s+(?:and|&)\s+(?=[^,]+$)", r"\1, "),
        ("\" '", r'"|(?<!\w)\'|\'(?!\w)', ""),
        ("∞", "∞", "infinity"),
        ("<=>", "<=>", "⇔"),
        ("=>", "=>", "⇒"),
        ("->", "->", "→"),
        ("<=", "<=", "≤"),
        (">=", ">=", "≥"),
        ("!=", "!=", "≠"),
        (" ".join(_SIGNS), rf"\s*([{_SIGNS}])\s*", r"\1"),
        (":", r"(?<=\d)\s*:\s*(?=\d)", ":"),
        ("pi", r"\bpi\b|(?<=\d)pi\b", "π"),
        ("π", r"(?<=\d)[\s×]*(?=π)", ""),
        # A dash next to a digit or bracket or between two letters is a minus; between words, punctuation.
        ("-", r"(?<=[\d)])\s+-\s+(?=[\w(])|(?<=[\w)])\s+-\s+(?=[\d(])", "-"),
        ("-", r"(?<=\b[^\W\d_])\s+-\s+(?=[^\W\d_]\b)", "-"),
        ("-", r"(?<=[^\W\d_]{2})-(?=[^\W\d_])|(?<=[^\W\d_])-(?=[^\W\d_]{2})|\s-+(?=\s)", " "),
        (", ;", r"(?<=[\d)\]}])(?!,\d{3}(?!\d))\s*[,;]\s*(?=[\d(\[{+.√π-])", ", "),
        (", ;", r"(?<![\d)\]}])[,;]|(?<=[)\]}])[,;](?!\s[\d(\[{+.√π-])", " "),
        (". : ! ?", r"[.:!?]+(?=\s|$)", ""),
        ("&", r"\s&\s", " and "),
        ("of", r"\b(spring|summer|autumn|fall|winter) of (?=\d{4}\b)", r"\1 "),
        ("none", r"^none of (?:the (?:above|following|options|others?)|them|these|those)$", "none"),
        ("the a", r"^(?:(?:the|an?)\s+)+(?=\S)(?!(?:or|and)\b)|(?<=\s)(?:the|an)\s+(?=\S)", ""),
    )
)
"""What a text must have a part of, for which most texts are searched faster; what is replaced; by what."""


_FORMULA = regex(r"(?=.*[A-Z].*[A-Z])(?:[A-Z][a-z]?(?:_?[({]?\d{1,3}[)}]?)?){2,12}(?:\^?[({]?\d?[+-][)}]?)?")
"""A chemical formula, whose digits may be lowered: `H_2O`, `CO_{2}`."""
_FORMULA_MARKS = regex(r"[_^(){}]")
_ARTICLE = regex(
    r"^(?:(?:Der|Das|Les|der|die|das|la|le|les|el|il|lo|het|de|den|een|ein|eine|un|une|una|um|uma) |l['’])"
    r"(?=[^\W\d_]{2,}$)"
)
"""An article of another language before one word. `La` and `El` with a capital may begin a name."""


def is_formula(text: str) -> bool:
    """Whether `text` is a chemical formula, whose digits may be lowered."""
    return bool(_FORMULA.fullmatch(text))


def fold_words(text: str) -> str:
    """`text` without case, articles and punctuation that only separates words."""
    text = _FORMULA_MARKS.sub("", text) if _FORMULA.fullmatch(text) else _ARTICLE.sub("", text)
    words = _INITIALS.sub(_joined_initials, text.casefold())
    for parts, pattern, new in _REWRITES:
        if any(part in words for part in parts):
            words = pattern.sub(new, words)
    return words.strip() or text


def _joined_initials(initials: re.Match[str]) -> str:
    joined = re.sub(r"[.\s]", "", initials[0])
    return joined if joined != "pi" else "p i"  # `P. I. Tchaikovsky` is not π
