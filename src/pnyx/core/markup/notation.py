"""One plain notation for Unicode look-alikes, LaTeX and Markdown marks."""

from __future__ import annotations

import re
import unicodedata

from ..caching.regex import regex
from .characters import LOWERED_DIGITS, RAISED, RAISED_TO, VULGAR, replacing

__all__ = ["ascii_punctuation", "digits_in_ascii", "plain", "strip_emphasis"]

ascii_punctuation = replacing(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2015\u2212\u2043\ufe58\ufe63\uff0d", "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"')
    | {"\uff1a": ":", "\u3002": ".", "\u3001": ", ", "\u2014": " - "}
)
"""A text with ASCII dashes, quotes, colons and full stops; an em dash becomes a dash between spaces."""
_OPERATORS = str.maketrans(
    dict.fromkeys("*\u22c5\u00b7\u2219\u2217", "\u00d7") | dict.fromkeys("\u2044\u2215\u00f7", "/")
)
_SUBSCRIPT = regex(r"(?<=\d)[₀₁₂₃₄₅₆₇₈₉]+")

_MARK = regex(r"(?<![\w*_)\]])[*_]+(?=[^\s*_])|(?<=[^\s*_])[*_]+(?![\w*_(\[])|~~")

_MATH = regex(r"(?<!\\)\$(?=\S)((?:[^$\\]|\\.)+)(?<!\s)\$(?!\d)")
_TEX_SPACE = regex(r"\\(?:[,;: \\]|q?quad(?![A-Za-z]))|(?<=\d)~(?=\w)")
_TEX_DROPPED = regex(
    r"\\(?:[!()\[\]]|(?:left|right|[bB]igg?[lr]?|displaystyle|textstyle|limits)(?![A-Za-z]))|\$\$"
)
_TEX_ESCAPE = regex(r"\\([%$#&_{}])")
_TEX_SYMBOLS = {
    "times": "\u00d7", "cdot": "\u00d7", "div": "/", "approx": "≈", "sim": "~", "pm": "±", "infty": "∞",
    "pi": "π", "theta": "θ", "alpha": "\u03b1", "beta": "β", "mu": "μ", "Omega": "Ω", "circ": "°",
    "degree": "°", "percent": "%", "euro": "€", "pounds": "£", "textdollar": "$", "le": "≤", "leq": "≤",
    "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "to": "→",
    "cap": "∩", "cup": "∪", "subset": "⊂", "subseteq": "⊆", "supset": "⊃", "in": "∈", "notin": "∉",
    "implies": "⇒", "Rightarrow": "⇒", "iff": "⇔", "Leftrightarrow": "⇔", "rightarrow": "→", "setminus": "∖",
    "emptyset": "∅", "varnothing": "∅", "neg": "¬", "lnot": "¬", "land": "∧", "lor": "∨",
    "wedge": "∧", "vee": "∨",
    "equiv": "≡", "perp": "⊥", "parallel": "∥", "angle": "∠", "triangle": "△", "bmod": "mod",
    "forall": "∀", "exists": "∃", "ldots": "...", "dots": "...", "sqrt": "√",
}  # fmt: skip
_TEX_SYMBOL = regex(rf"\\({'|'.join(_TEX_SYMBOLS)})(?![A-Za-z])")
# Each matches only if it holds no further braces, so repetition works from the inside out.
_TEX_FRACTION = regex(r"\\[dtc]?frac\s*(?:\{([^{}]*)\}|(\d))\s*(?:\{([^{}]*)\}|(\d))")
_TEX_WRAPPED = regex(
    r"\\(?:boxed|fbox|mbox|text(?:bf|it|rm|tt|sf|normal)?|math(?:rm|bf|it|sf|bb|tt)|operatorname|emph"
    r"|underline|bf|rm)\s*\{([^{}]*)\}"
)
_TEX_MODULO = regex(r"\s*\\pmod\s*(?:\{([^{}]*)\}|(\w))")
_TEX_GROUP = regex(r"([√^])\s*\{([^{}]*)\}")

_ATOM = regex(r"[+-]?[\w.,√°]+")
_ROOT = regex(r"\bsqrt\s*(?=\()|√\s+")
_ROOT_OF_ATOM = regex(r"√\(\s*(\w+)\s*\)")


def digits_in_ascii(text: str) -> str:
    """`text` with the decimal digits of any script as 0 to 9, and with the marks that go with them."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.digit(c)) if c.isdecimal() else _MARKS.get(c, c) for c in text)


_MARKS = {"\u066b": ".", "\u066c": ",", "\u066a": "%", "\uff05": "%", "\u060c": ","}


_MARKS_IN_ASCII = frozenset("*_~$\\{")


def strip_emphasis(text: str) -> str:
    """`text` without Markdown emphasis; a star or underscore between words or inside a word stays."""
    return _MARK.sub("", text)


def plain(value: str) -> str:
    """`value` on one line in plain notation: ASCII punctuation, `a/b`, `x^2`, one times sign, no markup.

    The time can grow with the square of the length, so callers must bound it.
    """
    if value.isascii() and _MARKS_IN_ASCII.isdisjoint(value) and "sqrt" not in value:
        return " ".join(value.split())
    text = strip_emphasis(value)
    if not text.isascii():
        text = digits_in_ascii(text)
        text = _SUBSCRIPT.sub(lambda m: "_" + m[0].translate(LOWERED_DIGITS), text)
        text = RAISED.sub(lambda m: "^" + m[0].translate(RAISED_TO), text)
        text = unicodedata.normalize("NFKC", VULGAR.sub(" ", ascii_punctuation(text)))
        text = ascii_punctuation("".join(c for c in text if unicodedata.category(c) != "Cf"))
    text = _tex(text).replace("**", "^").translate(_OPERATORS).replace("^°", "°")
    return " ".join(_ROOT_OF_ATOM.sub(r"√\1", _ROOT.sub("√", text)).split())


def _tex(text: str) -> str:
    text = _MATH.sub(r"\1", _TEX_DROPPED.sub("", text))
    if not set("\\{~").intersection(text):
        return text
    text = _TEX_SPACE.sub(" ", text.replace("{,}", ","))
    text = _TEX_MODULO.sub(lambda m: f" (mod {m[1] or m[2]})", text)
    text = _TEX_SYMBOL.sub(lambda m: _TEX_SYMBOLS[m[1]], text)
    before = ""
    while text != before:
        before = text
        text = _TEX_FRACTION.sub(_fraction, text)
        text = _TEX_WRAPPED.sub(r"\1", text)
        text = _TEX_GROUP.sub(lambda m: m[1] + _parenthesize(m[2]), text)
    return _TEX_ESCAPE.sub(r"\1", text)


def _fraction(match: re.Match[str]) -> str:
    above, below = match[1] or match[2] or "", match[3] or match[4] or ""
    mixed = match.start() > 0 and match.string[match.start() - 1].isdigit()
    return f"{' ' if mixed else ''}{_parenthesize(above)}/{_parenthesize(below)}"


def _parenthesize(text: str) -> str:
    text = text.strip()
    return text if _ATOM.fullmatch(text) else f"({text})"
