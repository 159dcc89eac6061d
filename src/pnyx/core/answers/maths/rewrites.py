"""Notations that are rewritten before they are read: sets in words, `log2(8)`, `9C4`, `(1010)_2`, `1+2j`."""

from __future__ import annotations

import re
from collections.abc import Callable

from ...caching.regex import regex

__all__ = ["rewritten"]

_UNIT_VECTOR = regex(r"\\(?:mathbf|vec|hat|boldsymbol)\s*\{\s*\\?([ijk])(?:math)?\s*\}")
"""The unit vectors in bold, which others write with a hat."""
_PLAIN_VECTOR = regex(r"(?=.*\bi\b|.*\dk?i)(?=.*(?<![A-Za-z])j)[-+*/().\d\s√ijk]+")
_REALS = r"(?:\\mathbb\s*\{?R\}?|ℝ|(?:the )?(?:set of )?(?:all )?real(?: number)?s)"
_INTEGERS = r"(?:\\mathbb\s*\{?Z\}?|ℤ|(?:the )?(?:set of )?all integers)"
_EXCEPT = r",? (?:except|other than|excluding|but)(?: for)? (?:[a-z] ?= ?)?"
_VALUES = r"(?P<values>[^,{}]{1,30}(?:(?:,| and|, and) [^,{}]{1,30}){0,3})"


def _excluded(match: re.Match[str]) -> str:
    values = re.sub(r",? and ", ", ", match["values"]).replace("x =", "").replace("x=", "")
    values = _PLUS_MINUS.sub(r"\1, -\1", values)
    return f"{'Z' if 'ntegers' in match[0] else '(-∞,∞)'}∖\\{{{values}\\}}"


_PLUS_MINUS = regex(r"(?:±|\\pm(?![A-Za-z]))\s*([^,]+)")
_NOT_EQUAL = r"(?:≠|\\neq?(?![A-Za-z])|\\not ?=|!=)"
_ONE = r"[^,=<>≠≤≥±\\]{1,20}"


def _not_equal(match: re.Match[str]) -> str:
    """`x ≠ ±2` and `x ≠ 2, -2` with a relation for each value."""
    values = _PLUS_MINUS.sub(r"\1, -\1", re.sub(r",? and ", ", ", match["values"])).split(",")
    return " and ".join(f"{match['name']}≠{value.strip()}" for value in values)


def _chosen(match: re.Match[str]) -> str:
    n, sign, k = match["n"], match["sign"], match["k"]
    return f"\\binom{{{n}}}{{{k}}}" if sign == "C" else f"({n}!/({n}-{k})!)"


_FORMS: tuple[tuple[str, re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    ("", regex(r"^(?:there (?:is|are) )?no (?:real )?solutions?$", re.IGNORECASE), "∅"),
    ("", regex(rf"^{_REALS}{_EXCEPT}{_VALUES}$", re.IGNORECASE), _excluded),
    (
        "",
        regex(
            rf"^(?P<name>[a-z])\s*{_NOT_EQUAL}\s*(?P<values>(?:±|\\pm)\s*[^,=<>≠≤≥±]{{1,30}}"
            rf"|{_ONE}(?:(?:,| and) ?{_ONE}){{1,3}})$"
        ),
        _not_equal,
    ),
    ("", regex(rf"^{_INTEGERS}{_EXCEPT}{_VALUES}$", re.IGNORECASE), _excluded),
    (
        "",
        regex(rf"^{_REALS} (?P<x>[a-z]),? (?:with|where|such that|for which) (?P=x)(?= ?[<>≤≥≠=!\\])", 2),
        r"\g<x>",
    ),
    ("{", regex(rf"{_REALS}\s*[-–]\s*(?=\\?\{{)", re.IGNORECASE), "(-∞,∞)∖"),
    ("", regex(r"\\mathbb\s*\{?R\}?|ℝ|^(?:all )?real numbers$|^all reals$", re.IGNORECASE), "(-∞,∞)"),
    ("", regex(r"^(?:the )?empty set$", re.IGNORECASE), "∅"),
    ("U", regex(r"(?<=[)\]])\s*U\s*(?=[(\[])"), "∪"),
    ("log", regex(r"(?<![A-Za-z\\])log_?(2|10)\s?(?=\()"), r"\\log_{\1}"),
    ("_", regex(r"^\(([0-9A-Za-z]{1,40})\)(?=_)"), r"\1"),
    (
        "",
        regex(r"^([0-9A-F]{1,40}),? (?:in base |base |\((?:in )?base )-?(\w{1,8})\)?$", re.IGNORECASE),
        r"\1_{\2}",
    ),
    ("", regex(r"^(?:in )?base[ -](\w{1,8})(?::|,) ?([0-9A-F]{1,40})$", re.IGNORECASE), r"\2_{\1}"),
    ("\\math", regex(r"\\math(?:cal|rm|bf)\s*\{O\}|\\mathcal O"), "O"),
    ("{:}", regex(r"\{:\}"), ":"),
    (
        "_",
        regex(r"(?:\{?\}?_\{?(?P<n>\d{1,4})\}?\s?(?P<sign>[CP])\s?_\s?\{?(?P<k>\d{1,4})\}?)"),
        _chosen,
    ),
    ("", regex(r"^\^?\{?(?P<n>\d{1,4})\}?(?P<sign>[CP])_?\{?(?P<k>\d{1,4})\}?$"), _chosen),
    ("<", regex(r"^<([^<>=]+(?:,[^<>=]+)+)>$"), r"⟨\1⟩"),
)
"""What a text must have, for which most texts are searched faster; what is replaced; by what."""
_SYMPY = regex(r"(?=.*(?:\*I\b|\bI\*|\d\s*[-+]\s*I\b))(?:[-+*/().\d\sI]|sqrt)+")
"""A complex number as SymPy writes it, `1 + 2*I`."""
_COMPLEX = regex(r"[-+*/().\d\s]*\dj[-+*/().\d\s]*")


def rewritten(text: str) -> str:
    """`text` in the notation that the lexer reads."""
    for part, form, new in _FORMS:
        if part in text:
            text = form.sub(new, text)
    if "math" in text or "vec" in text or "hat" in text:
        text = _UNIT_VECTOR.sub(r"\\hat{\1}", text)
    if "I" in text and _SYMPY.fullmatch(text):
        text = text.replace("I", "i")
    if "j" in text:
        if _COMPLEX.fullmatch(text):
            text = text.replace("j", "i")
        elif _PLAIN_VECTOR.fullmatch(text):
            text = re.sub(r"(?<![A-Za-z])([ijk])(?![A-Za-z])", r"\\hat{\1}", text)
    return text
