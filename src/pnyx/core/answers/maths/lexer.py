"""Tokens of mathematical notation, plain or LaTeX."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ...caching.regex import regex
from .notation import GREEK_LETTERS, before_greek, cleaned

__all__ = ["MAX_CHARS", "NO_TOKEN", "Token", "UnreadableError", "tokens"]

MAX_CHARS = 400
"""Characters of a text that is read as mathematics."""

MAX_NUMBER = 100
"""Digits of a number."""


class UnreadableError(Exception):
    """The text is not mathematics, or too large to read."""


Kind = Literal["number", "name", "word", "function", "command", "symbol", "separator"]


@dataclass(frozen=True, slots=True)
class Token:
    """kind: number, name (one letter), word, function, command, symbol or separator (`and`, `or`).

    text: the symbol in ASCII or as one character, the name, or what is in `\\text{…}`. value: of a number.
    spaced: whether space is before it. plain: whether a number is an integer in plain digits, and whether a
    word is one by its command.
    """

    kind: Kind
    text: str
    value: Fraction | None = None
    spaced: bool = False
    plain: bool = False


NO_TOKEN = Token("symbol", "")
"""Before the first token, and behind the last one."""
_NUMBER = regex(r"\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+")
_BARE_NUMBER = regex(r"\d+(?:\.\d+)?|\.\d+")
_EXPONENT = regex(r"[eE]([+-]?\d{1,4})(?![\w.])")
_COMMAND = regex(r"\\([A-Za-z]+\*?|.)", re.DOTALL)
_TEXT = regex(
    r"\\(?:text(?:bf|it|rm|tt|sf|normal)?|math(?:rm|bf|it|sf|bb|tt|cal)|mbox|hbox|operatorname\*?|emph|underline)\s*\{([^{}]*)\}"
)
_LETTERS = regex(r"[^\W\d_]+")
_NAMING = frozenset("=≡∈≔\\")
"""Signs next to which words are a name or a modulus, and what commands begin with."""

SYMBOLS = {
    "times": "*", "cdot": "*", "ast": "*", "div": "/", "pm": "±", "mp": "∓", "infty": "∞", "pi": "π",
    "le": "≤", "leq": "≤", "leqslant": "≤", "ge": "≥", "geq": "≥", "geqslant": "≥", "ne": "≠", "neq": "≠",
    "lt": "<", "gt": ">", "approx": "≈", "equiv": "≡", "sim": "~", "to": "→", "rightarrow": "→",
    "implies": "⇒", "Rightarrow": "⇒", "in": "∈", "notin": "∉", "cup": "∪", "cap": "∩", "setminus": "∖",
    "circ": "°", "degree": "°", "degrees": "°", "percent": "%", "lvert": "|", "rvert": "|", "vert": "|",
    "mid": "|", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "langle": "⟨", "rangle": "⟩",
    "lbrace": "{", "rbrace": "}", "lbrack": "[", "rbrack": "]", "emptyset": "∅", "varnothing": "∅",
    "ldots": "…", "dots": "…", "cdots": "…", "prime": "'", "{": "⦃", "}": "⦄", "|": "|", "%": "%", "#": "#",
    "&": "&", "$": "¤", "_": "_", "colon": ":", "propto": "∝", "wedge": "∧", "vee": "∨", "neg": "¬",
    "land": "∧", "lor": "∨", "mapsto": "→", "iff": "⇔", "parallel": "∥", "perp": "⊥", "backslash": "∖",
    "\\": "\\\\",
}  # fmt: skip
"""LaTeX commands that are one symbol. ⦃ and ⦄ are the braces of a set; `{` and `}` only group in LaTeX."""
_PAIRS = {
    "**": "^", ">=": "≥", "<=": "≤", "!=": "≠", "<>": "≠", "==": "≡", "=>": "⇒", "->": "→", ":=": "≔",
    "=<": "≤", "=/=": "≠", "=/": "≠", "/=": "≠", "~=": "≈", "+-": "±", "+/-": "±", "&&": "∧",
}  # fmt: skip
_PAIR = regex("|".join(re.escape(pair) for pair in sorted(_PAIRS, key=len, reverse=True)))
_SINGLE = frozenset("+-*/^=<>≤≥≠≈≡~→⇒⇔≔∈∉∪∩∖±∓∞π°%|⌊⌋⌈⌉⟨⟩()[]{}⦃⦄∅…'!_,;:√∛∜¤∧∨∝&")
FUNCTIONS = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "cot",
        "sec",
        "csc",
        "arcsin",
        "arccos",
        "arctan",
        "arccot",
        "arcsec",
        "arccsc",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "coth",
        "arcsinh",
        "arccosh",
        "arctanh",
        "asinh",
        "acosh",
        "atanh",
        "log",
        "ln",
        "lg",
        "exp",
        "sqrt",
        "cbrt",
        "abs",
        "floor",
        "ceil",
        "ceiling",
        "max",
        "min",
        "gcd",
        "lcm",
        "sgn",
        "det",
    ]
)
_VARIANTS = {"varepsilon": "epsilon", "varphi": "phi", "vartheta": "theta"}
GREEK = frozenset((*GREEK_LETTERS.values(), *_VARIANTS, "Upsilon", "hbar"))
"""Names of letters, as LaTeX has them."""
_STRUCTURES = frozenset(
    [
        "frac",
        "dfrac",
        "tfrac",
        "cfrac",
        "sqrt",
        "binom",
        "dbinom",
        "tbinom",
        "choose",
        "begin",
        "end",
        "overline",
        "over",
        "pmod",
        "bmod",
        "bar",
        "hat",
        "vec",
    ]
)
_SEPARATORS = {
    "or": "or",
    "and": "and",
    "oder": "or",
    "und": "and",
    "ou": "or",
    "et": "and",
    "o": "or",
    "y": "and",
}


def tokens(text: str, *, is_name: bool = False) -> list[Token]:
    """The tokens of `text`. Raises `UnreadableError` for what is not mathematics, without reading on.

    is_name: whether words beside each other may be a name. Otherwise they are prose, unless the text has a
    sign that gives a name a value.
    """
    if len(text) > MAX_CHARS:
        raise UnreadableError
    text = cleaned(text)
    return _Lexer(text, is_name or not _NAMING.isdisjoint(text)).read()


class _Lexer:
    def __init__(self, text: str, has_names: bool) -> None:
        self.text, self.has_names, self.at, self.depth, self.spaced = text, has_names, 0, 0, False
        self.found: list[Token] = []

    def read(self) -> list[Token]:
        while self.at < len(self.text):
            char = self.text[self.at]
            if char.isspace():
                self.at, self.spaced = self.at + 1, True
                continue
            if char.isdigit() or (char == "." and self.text[self.at + 1 : self.at + 2].isdigit()):
                self._number()
            elif char == "\\":
                self._command()
            elif char.isalpha():
                self._letters()
            else:
                self._symbol(char)
        return self.found

    def _add(self, kind: Kind, text: str, value: Fraction | None = None, plain: bool = False) -> None:
        self.found.append(Token(kind, text, value, self.spaced, plain))
        self.spaced = False

    def _number(self) -> None:
        # Inside brackets a comma separates: (5,100) is a pair, and 5,100 a number.
        match = (_BARE_NUMBER if self.depth else _NUMBER).match(self.text, self.at)
        if match is None or len(match[0]) > MAX_NUMBER:
            raise UnreadableError
        self.at = match.end()
        digits = match[0].replace(",", "")
        value = Fraction(digits.rstrip("."))
        if exponent := _EXPONENT.match(self.text, self.at):
            if abs(int(exponent[1])) > 300:
                raise UnreadableError
            self.at = exponent.end()
            value *= Fraction(10) ** int(exponent[1])
        self._add("number", digits, value, digits.isdigit())

    def _command(self) -> None:
        if words := _TEXT.match(self.text, self.at):
            self.at = words.end()
            self._words(words[1])
            return
        match = _COMMAND.match(self.text, self.at)
        if match is None:
            raise UnreadableError
        name, self.at = match[1], match.end()
        if name in SYMBOLS:
            self._push_symbol(SYMBOLS[name])
        elif name in FUNCTIONS and name != "sqrt":
            self._add("function", name)
        elif name in GREEK:
            self._add("name", _VARIANTS.get(name, name))
        elif name in _STRUCTURES:
            self._add("command", name)
        else:
            raise UnreadableError

    def _words(self, content: str) -> None:
        bare = content.strip()
        folded = bare.casefold().strip(" ,.")
        if not folded:
            self.spaced = True
        elif folded in _SEPARATORS:
            self._add("separator", _SEPARATORS[folded])
        elif len(bare) == 1 and bare.isalpha():
            self._add("name", bare)
        elif folded in FUNCTIONS:
            self._add("function", folded)
        elif bare.isdigit():
            self._add("number", bare, Fraction(int(bare)), True)
        else:
            self._add("word", " ".join(bare.split()), plain=True)

    def _letters(self) -> None:
        match = _LETTERS.match(self.text, self.at)
        assert match is not None, "called at a letter"
        run = before_greek(match[0])
        self.at = match.start() + len(run)
        folded = run.casefold()
        if folded in _SEPARATORS and len(run) > 1:
            self._add("separator", _SEPARATORS[folded])
        elif run in FUNCTIONS:
            self._add("function", run)
        elif folded in ("infinity", "inf", "oo"):
            self._add("symbol", "∞")
        elif folded == "pi" or run == "π":
            self._add("symbol", "π")
        elif folded in ("degrees", "degree", "deg"):
            self._add("symbol", "°")
        elif run in GREEK:
            self._add("name", run)
        elif len(run) == 1 and (run.isascii() or run in GREEK_LETTERS):
            self._add("name", GREEK_LETTERS.get(run, run))
        elif self.spaced and not self.has_names and self.found and self.found[-1].kind == "word":
            raise UnreadableError  # prose, most of which is left unread
        else:
            self._add("word", run)

    def _symbol(self, char: str) -> None:
        if pair := _PAIR.match(self.text, self.at):
            self.at = pair.end()
            self._add("symbol", _PAIRS[pair[0]])
            return
        if char not in _SINGLE:
            raise UnreadableError
        self.at += 1
        self._push_symbol(char)

    def _push_symbol(self, char: str) -> None:
        self.depth += (char in "([{⦃⟨") - (char in ")]}⦄⟩")
        self._add("symbol", char)
