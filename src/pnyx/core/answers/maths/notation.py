"""One notation of mathematics for the lexer: ASCII digits and signs, LaTeX for what is above or below."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

from ...caching.regex import regex
from ...markup.characters import LOWERED_DIGITS, RAISED, RAISED_TO, VULGAR
from ...markup.notation import ascii_punctuation
from .rewrites import rewritten

__all__ = ["GREEK_LETTERS", "before_greek", "cleaned"]

_LOWERED = regex("[₀₁₂₃₄₅₆₇₈₉]+")
_GROUPED = regex(r"(?<=\d)(?:\{,\}|,\\!|\\,|\\!|\\;|'|\u2009|\u202f|\u00a0)(?=\d{3}(?!\d))")
_SPACE = regex(r"(?<!\\)\\(?:[;: !,]|q?quad(?![A-Za-z]))|~")
_DROPPED = regex(
    r"\\(?:left|right|[bB]igg?[lrm]?|middle|displaystyle|textstyle|limits|nolimits|mathstrut|cal|it|rm|bf)(?![A-Za-z])"
    r"|\\phantom\{[^{}]*\}|(?<!\\)\$|\\\(|\\\)|(?<!\\)\\\[|(?<!\\)\\\]"
)
_HAS_MARKS = regex(r"[\\$~]")
_PLAIN = {
    "×": "*", "⋅": "*", "·": "*", "∙": "*", "∗": "*", "÷": "/", "∕": "/", "⁄": "/", "⩽": "≤", "⩾": "≥",
    "º": "°", "˚": "°", "∣": "|", "：": ":", "，": ",", "；": ";", "（": "(", "）": ")",
}  # fmt: skip
GREEK_LETTERS = dict(
    zip(
        [
            "α",
            "β",
            "γ",
            "δ",
            "ε",
            "ζ",
            "η",
            "θ",
            "ι",
            "κ",
            "λ",
            "μ",
            "ν",
            "ξ",
            "ρ",
            "σ",
            "τ",
            "υ",
            "φ",
            "χ",
            "ψ",
            "ω",
            "Γ",
            "Δ",
            "Θ",
            "Λ",
            "Ξ",
            "Σ",
            "Φ",
            "Ψ",
            "Ω",
            "ℓ",
        ],
        [
            "alpha",
            "beta",
            "gamma",
            "delta",
            "epsilon",
            "zeta",
            "eta",
            "theta",
            "iota",
            "kappa",
            "lambda",
            "mu",
            "nu",
            "xi",
            "rho",
            "sigma",
            "tau",
            "upsilon",
            "phi",
            "chi",
            "psi",
            "omega",
            "Gamma",
            "Delta",
            "Theta",
            "Lambda",
            "Xi",
            "Sigma",
            "Phi",
            "Psi",
            "Omega",
            "ell",
        ],
        strict=True,
    )
)


def cleaned(text: str) -> str:
    if not text.isascii():
        text = RAISED.sub(lambda m: f"^({m[0].translate(RAISED_TO)})", text)
        text = _LOWERED.sub(lambda m: f"_({m[0].translate(LOWERED_DIGITS)})", text)
        text = _GROUPED.sub("", text)
        text = ascii_punctuation(VULGAR.sub(" ", text)).replace(" - ", "-")
        text = "".join(map(_plain, text))
    else:
        text = _GROUPED.sub("", text)
    text = fractions_of_repeating(text)
    text = rewritten(text)
    return _SPACE.sub(" ", _DROPPED.sub(" ", text)) if _HAS_MARKS.search(text) else text


def fractions_of_repeating(text: str) -> str:
    """`text` with fractions in brackets for decimals that repeat for ever: `(1/3)` for `0.(3)`."""
    return _REPEATING.sub(_fraction, text) if "." in text else text


_REPEATING = regex(
    r"(?<![\d.,])(?P<whole>\d*)\.\s*(?:(?P<head>\d*)\s*(?:\((?P<block>\d{1,20})\)(?![\d(^])"
    r"|\\(?:dot|bar|overline)\s*(?:\{(?P<marked>\d{1,20})\}|(?P<digit>\d)))"
    r"|(?P<lead>\d*?)(?P<run>\d{1,6}?)(?P=run)+\s?(?:\.\.\.|…|\\(?:l|c)?dots| (?:repeating|recurring))"
    r"|(?P<few>\d*?)(?P<last>\d) (?:repeating|recurring))"
)


def _fraction(match: re.Match[str]) -> str:
    parts = match.groupdict()
    head = next(filter(None, (parts[name] for name in ("head", "lead", "few"))), "")
    block = next(filter(None, (parts[name] for name in ("block", "marked", "digit", "run", "last"))))
    nines = 10 ** len(block) - 1
    above = int(f"{parts['whole']}{head}" or 0) * nines + int(block)
    return f"({Fraction(above, nines * 10 ** len(head))})"


def before_greek(run: str) -> str:
    """The letters up to a Greek one, which is a name of its own: in `2πr` and in `iπ`."""
    at = next((n for n, c in enumerate(run) if c in GREEK_LETTERS or c == "π"), None)
    return run if at is None or len(run) == 1 else run[: at or 1]


def _plain(char: str) -> str:
    """One character in plain notation: ½ as a fraction, full-width as ASCII, without invisible ones."""
    if char in _PLAIN:
        return _PLAIN[char]
    if char.isascii() or unicodedata.category(char) == "Cf":
        return char if char.isascii() else ""
    same = unicodedata.normalize("NFKC", char)
    above, slash, below = same.partition("⁄")
    if slash and above and below:
        return f"\\frac{{{above}}}{{{below}}}"
    return "".join(_PLAIN.get(c, c) for c in same)
