"""A recursive parser of expressions. What it cannot read whole is not mathematics."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .letters import letters_apart
from .lexer import FUNCTIONS, NO_TOKEN, Token, UnreadableError
from .nodes import Apply, Constant, Node, Number, Variable
from .shapes import combination, with_fraction

__all__ = ["Parser"]

MAX_DEPTH = 40
"""Brackets and operators inside each other."""

MAX_TOKENS = 250

_ADD, _MULTIPLY = {"+", "-", "±", "∓"}, {"*", "/"}
_CLOSES = {"(": ")", "[": "]", "{": "}", "⦃": "⦄", "⌊": "⌋", "⌈": "⌉"}
_FENCED = {"⌊": "floor", "⌈": "ceil"}
_ROOTS = {"√": 2, "∛": 3, "∜": 4}
FRACTIONS = frozenset(("frac", "dfrac", "tfrac", "cfrac"))
CALLED = frozenset(("f", "g", "F", "G", "O", "Omega", "Theta"))
"""Names that are functions where a bracket follows; other letters may be factors, as in k(k + 1)."""


class Parser:
    """Reads one expression from `tokens`, from `at` on. Methods raise `UnreadableError` if they cannot."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        if len(tokens) > MAX_TOKENS:
            raise UnreadableError
        tokens = letters_apart(tokens)
        self.tokens, self.at, self.depth, self.bars = tokens, 0, 0, 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else NO_TOKEN

    def is_symbol(self, *texts: str) -> bool:
        return self.next.kind == "symbol" and self.next.text in texts

    def take(self, *texts: str) -> bool:
        found = self.next.kind == "symbol" and self.next.text in texts and bool(self.next.text)
        self.at += found
        return found

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise UnreadableError

    def whole(self) -> Node:
        """The expression that all tokens form."""
        node = self.sum()
        if self.at != len(self.tokens):
            raise UnreadableError
        return node

    def sum(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnreadableError
        node = self.product()
        while self.next.kind == "symbol" and self.next.text in _ADD:
            sign = self.next.text
            self.at += 1
            right = self.product()
            node = Apply(
                "+", (node, right if sign == "+" else Apply("neg" if sign == "-" else "±", (right,)))
            )
            if sign == "∓":
                node = Apply("+", (node.args[0], Apply("∓", (right,))))
        self.depth -= 1
        return node

    def product(self) -> Node:
        node = self.signed()
        while True:
            if self.next.kind == "symbol" and self.next.text in _MULTIPLY:
                sign = self.next.text
                self.at += 1
                node = Apply(sign, (node, self.signed()))
            elif self.next.kind == "command" and self.next.text == "bmod":
                self.at += 1
                node = Apply("mod", (node, self.signed()))
            elif self._continues():
                before, after = self.tokens[self.at - 1], self.next
                self._check_neighbours(before, after)
                right = self.power()
                # 3 1/2 and 3\frac{1}{2} are mixed numbers.
                node = with_fraction(node, right, mixed=before.plain and after.text in FRACTIONS)
            else:
                return node

    def _check_neighbours(self, before: Token, after: Token) -> None:
        """Whether two neighbours without a sign can be a product; words beside each other are prose."""
        if after.kind == "number" and before.kind == "number":
            following = self.tokens[self.at + 1 : self.at + 3]
            mixed = before.plain and after.plain and len(following) == 2 and following[0].text == "/"
            if not (mixed and after.spaced and following[1].plain):
                raise UnreadableError
        if "word" in (before.kind, after.kind) and not (
            after.kind != "word" and (not after.spaced and after.text == "(")
        ):
            raise UnreadableError
        if before.kind == "name" and after.kind == "number":
            raise UnreadableError

    def _continues(self) -> bool:
        """Whether the next token begins a factor without a times sign."""
        token = self.next
        if token.kind in ("number", "name", "word", "function"):
            return True
        if token.kind == "command":
            return token.text not in ("end", "over", "pmod", "bmod", "choose")
        if token.text == "|":
            return not self.bars
        return token.kind == "symbol" and token.text in {
            "(",
            "[",
            "{",
            "⦃",
            "√",
            "∛",
            "∜",
            "π",
            "∞",
            "⌊",
            "⌈",
        }

    def signed(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnreadableError
        try:
            if self.take("-"):
                return Apply("neg", (self.signed(),))
            if self.take("+"):
                return self.signed()
            if self.take("±"):
                return Apply("±", (self.signed(),))
            if self.take("∓"):
                return Apply("∓", (self.signed(),))
            return self._mixed()
        finally:
            self.depth -= 1

    def _mixed(self) -> Node:
        """A power; an integer with a spaced fraction in digits is one number: `3 1/2`."""
        here = self.tokens[self.at : self.at + 4]
        if len(here) == 4 and all(t.plain for t in (here[0], here[1], here[3])) and here[2].text == "/":
            whole, above, below = (t.value or Fraction(0) for t in (here[0], here[1], here[3]))
            if here[1].spaced and below and above < below:
                self.at += 4
                return Number(whole + above / below)
        return self.power()

    def power(self) -> Node:
        node = self.postfix()
        if self.take("^"):
            if self._degree():
                return Apply("deg", (node,))
            if self.is_symbol("'"):
                return self._primes(node)
            exponent = self._exponent()
            node = Apply("^", (node, exponent))
            while self.is_symbol("!", "°", "%"):
                node = self._after(node)
        return node

    def _degree(self) -> bool:
        """Whether the exponent is a degree sign."""
        texts = [t.text for t in self.tokens[self.at : self.at + 3]]
        if texts[:1] == ["°"]:
            self.at += 1
            return True
        if texts in (["{", "°", "}"], ["(", "°", ")"]):
            self.at += 3
            return True
        return False

    def _exponent(self) -> Node:
        if self.take("-"):
            return Apply("neg", (self._exponent(),))
        if self.take("+"):
            return self._exponent()
        # As in LaTeX, ^23 without braces would be ^2 and 3, but models mean 23.
        return self.power()

    def postfix(self) -> Node:
        node = self.atom()
        while self.is_symbol("!", "°", "%", "'"):
            if self.is_symbol("'"):
                return self._primes(node)
            node = self._after(node)
        return node

    def _after(self, node: Node) -> Node:
        if self.take("!"):
            return Apply("!!", (node,)) if self.take("!") else Apply("!", (node,))
        if self.take("°"):
            return Apply("deg", (node,))
        self.expect("%")
        if self.next.kind in ("number", "name", "word") or self.is_symbol("("):
            raise UnreadableError  # a remainder, as in n % 2
        return Apply("/", (node, Number(Fraction(100))))

    def _primes(self, node: Node) -> Node:
        if not isinstance(node, Variable):
            raise UnreadableError
        name = node.name
        while self.take("'"):
            name += "'"
        return Variable(name)

    def atom(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnreadableError
        node = self._atom()
        self.depth -= 1
        return node

    def _atom(self) -> Node:
        token = self.next
        if token.kind == "symbol" and token.text == "¤":
            self.at += 1
            token = self.next
        self.at += 1
        match token.kind:
            case "number":
                assert token.value is not None, "a number has its value"
                return Number(token.value)
            case "name":
                return self._name(token.text)
            case "word" if self.is_symbol("(") and not self.next.spaced:
                return Apply(f"{token.text}()", self._arguments())
            case "word":
                return self._subscripted(token.text, word=True)
            case "function":
                return self._function(token.text)
            case "command":
                return self._structure(token.text)
            case "symbol":
                return self._bracketed(token.text)
        raise UnreadableError

    def _name(self, name: str) -> Node:
        if name in ("e", "i") and not self.is_symbol("_", "'"):
            return Constant(name)
        if name in ("C", "P") and (chosen := combination(name, self.tokens[self.at : self.at + 5])):
            self.at += 5
            return chosen
        if name in CALLED and self.is_symbol("(") and not self.next.spaced:
            return Apply(f"{name}()", self._arguments())
        return self._subscripted(name)

    def _subscripted(self, name: str, *, word: bool = False) -> Node:
        if self.take("_"):
            word = False
            name += "_" + self.subscript()
        return Variable(name, word)

    def subscript(self) -> str:
        """The text of a subscript, in braces or of one token."""
        opens = self.next.text
        if self.take("{", "("):
            end = next(
                (n for n in range(self.at, len(self.tokens)) if self.tokens[n].text == _CLOSES[opens]), None
            )
            if end is None or end - self.at > 8:
                raise UnreadableError
            text = "".join(t.text for t in self.tokens[self.at : end])
            self.at = end + 1
            return text
        if self.next.kind not in ("number", "name", "word"):
            raise UnreadableError
        self.at += 1
        return self.tokens[self.at - 1].text

    def _bracketed(self, opens: str) -> Node:
        if opens in _ROOTS:
            return Apply("root", (self._root_argument(), Number(Fraction(_ROOTS[opens]))))
        if opens == "π":
            return Constant("pi")
        if opens == "∞":
            return Constant("inf")
        if opens == "|":
            self.bars += 1
            node = self.sum()
            self.expect("|")
            self.bars -= 1
            return Apply("abs", (node,))
        if opens not in _CLOSES or opens == "⦃":
            raise UnreadableError
        bars, self.bars = self.bars, 0
        node = self.sum()
        if opens == "{" and self.next.kind == "command" and self.next.text in ("choose", "over"):
            name = "binom" if self.next.text == "choose" else "/"
            self.at += 1
            node = Apply(name, (node, self.sum()))
        self.expect(_CLOSES[opens])
        self.bars = bars
        return Apply(_FENCED[opens], (node,)) if opens in _FENCED else node

    def _root_argument(self) -> Node:
        """The argument of a root sign: √2x is √2 · x."""
        return self.postfix()

    def group(self) -> Node:
        """An argument of a LaTeX command: in braces, or one digit or letter, as in \\frac12."""
        if self.take("{"):
            bars, self.bars = self.bars, 0
            node = self.sum()
            self.expect("}")
            self.bars = bars
            return node
        token = self.next
        if token.kind == "number" and token.plain and len(token.text) > 1:
            # \\frac12: the digits are two arguments.
            rest = Token("number", token.text[1:], Fraction(int(token.text[1:])), False, True)
            self.tokens = [*self.tokens[: self.at], rest, *self.tokens[self.at + 1 :]]
            return Number(Fraction(int(token.text[0])))
        return self.atom()

    def _structure(self, name: str) -> Node:
        if name in FRACTIONS:
            above = self.group()
            return Apply("/", (above, self.group()))
        if name == "sqrt":
            degree: Node = Number(Fraction(2))
            if self.take("["):
                degree = self.sum()
                self.expect("]")
            return Apply("root", (self.group(), degree))
        if name in ("binom", "dbinom", "tbinom"):
            above = self.group()
            return Apply("binom", (above, self.group()))
        if name in ("bar", "hat", "vec", "overline"):
            inner = self.group()
            if name == "hat" and inner == Constant("i"):
                return Variable("hat i")
            if isinstance(inner, Variable):
                return Variable(f"{name} {inner.name}")
        raise UnreadableError

    def _function(self, name: str) -> Node:
        if name in ("max", "min", "gcd", "lcm"):
            return Apply(name, self._arguments())
        exponent: Node | None = None
        base: Node | None = None
        if name in ("sqrt", "cbrt"):
            degree = Number(Fraction(2 if name == "sqrt" else 3))
            return Apply("root", (self._root_argument(), degree))
        while self.is_symbol("^", "_"):
            if self.take("_"):
                base = self.group() if self.is_symbol("{", "(") else self.atom()
            else:
                self.expect("^")
                exponent = self._exponent()
        argument = self._function_argument()
        if exponent == Apply("neg", (Number(Fraction(1)),)):
            name, exponent = f"arc{name}", None
            if name not in FUNCTIONS:
                raise UnreadableError
        args = (argument,) if base is None else (argument, base)
        node: Node = Apply(name, args)
        return node if exponent is None else Apply("^", (node, exponent))

    def _function_argument(self) -> Node:
        """The argument: in brackets, or the product up to the next sign, as in \\sin 2x."""
        if self.is_symbol("(", "[", "{", "|"):
            return self.postfix()
        node = self.signed()
        while self._continues() and self.next.kind not in ("function", "word") and not self.is_symbol("("):
            node = Apply("*", (node, self.power()))
        return node

    def _arguments(self) -> tuple[Node, ...]:
        opens = self.next.text
        if not self.take("(", "{", "⦃"):
            raise UnreadableError
        found = [self.sum()]
        while self.take(","):
            found.append(self.sum())
        self.expect(_CLOSES[opens])
        return tuple(found)
