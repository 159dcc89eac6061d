"""What a text in mathematical notation states: a value, values in brackets, relations, named values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ...caching.regex import regex
from .bases import based_digits, modulus_of
from .lexer import Token, UnreadableError, tokens
from .matrices import read_matrix
from .nodes import (
    Apply,
    Based,
    Bindings,
    Comparison,
    Conditions,
    Constant,
    Difference,
    Group,
    Number,
    Union,
    Value,
    Variable,
)
from .parser import Parser

__all__ = ["name_of", "read_maths"]

RELATIONS = frozenset("=<>≤≥≠≈≡~→⇒⇔≔∈∉∝")
_OPENS, _CLOSES = frozenset("([{⦃⟨"), frozenset(")]}⦄⟩")
MAX_ITEMS = 60


@lru_cache(maxsize=2048)
def read_maths(text: str) -> Value | None:
    """The value, or None if `text` as a whole is not mathematics.

    text: without Markdown and without the sentence around it.
    """
    if _OTHER.fullmatch(text):
        return None
    try:
        found = tokens(text)
        if not found or not _is_mathematical(found):
            return None
        return _Reader().statement(found)
    except (UnreadableError, RecursionError):
        return None


@lru_cache(maxsize=2048)
def name_of(left: str) -> str | None:
    """The name that `left` is on the left of an equals sign; empty for a calculation, None for other text."""
    try:
        found = tokens(left, is_name=True)
        if not found:
            return None
        if name := _name(found):
            return name
        return "" if isinstance(_Reader().value(found), (Number, Constant, Apply)) else None
    except (UnreadableError, RecursionError):
        return None


_OTHER = regex(
    r"\d+(?:st|nd|rd|th)|[A-Ja-j]\s*-\s*[A-Ja-j]|[Nn]/[Aa]|\d{1,4}([-/.])\d{1,4}\1\d{1,4}(?:\1\d+)*"
)
"""Ordinals, ranges of letters, and what may be a date."""


def _is_mathematical(found: Sequence[Token]) -> bool:
    """Whether a token shows that letters are variables: `well-known` and `and/or` are words."""
    # 3-5 is a range or a score.
    if [t.text if t.kind == "symbol" else t.plain for t in found] == [True, "-", True]:
        return False
    if any(t.kind in ("number", "function", "command") for t in found):
        return True
    signs = {t.text for t in found if t.kind == "symbol"}
    if signs & (set("+^*±∞√π∅∪∩°_|=<>≤≥≠≈∈→") | {"⦃"}):
        return True
    single = all(t.kind in ("name", "symbol") for t in found)
    return (
        single
        and len(found) > 1
        and bool(signs & set("-/([,!"))
        and not (
            signs <= set("-/")
            and len(found) == 3
            and all(t.text.isupper() for t in found if t.kind == "name")
        )
    )


_DERIVATIVE = regex(r"(?:[dt]?frac)?d([A-Za-z])/?d([A-Za-z])")


class _Reader:
    """Splits a text at its signs outside brackets."""

    def statement(self, found: Sequence[Token]) -> Value:
        parts, joints = _split(found)
        if len(parts) > MAX_ITEMS:
            raise UnreadableError
        if len(parts) == 1:
            return self.clause(parts[0])
        clauses = [self.clause(part) for part in parts]
        if isinstance(clauses[0], Bindings) and not any(isinstance(c, Comparison) for c in clauses):
            return self._bindings(clauses)
        if any(isinstance(c, Comparison) for c in clauses):
            clauses = [_as_comparison(c) for c in clauses]
        if all(isinstance(c, Comparison) for c in clauses):
            joint = "or" if "or" in joints else "and" if "and" in joints else ","
            return Conditions(joint, tuple(c for c in clauses if isinstance(c, Comparison)))  # type: ignore[arg-type]
        if any(isinstance(c, (Comparison, Bindings, Conditions)) for c in clauses):
            raise UnreadableError
        return Group("", "", tuple(clauses))

    def _bindings(self, clauses: Sequence[Value]) -> Value:
        """Named values; a value without a name has the name before it: `x = 1, 2`."""
        found: list[tuple[str, Value]] = []
        for clause in clauses:
            if isinstance(clause, Bindings):
                found += clause.values
            elif isinstance(clause, (Comparison, Conditions)):
                raise UnreadableError
            else:
                found.append((found[-1][0], clause))
        names = list(dict.fromkeys(name for name, _ in found))
        values = {name: [value for other, value in found if other == name] for name in names}
        return Bindings(
            tuple((n, v[0] if len(v) == 1 else Group("", "", tuple(v))) for n, v in values.items())
        )

    def clause(self, found: Sequence[Token]) -> Value:
        """A relation, or a value."""
        sides, signs = _sides(found)
        if not signs:
            return self.value(found)
        if signs == ["≡"] and (modulus := modulus_of(sides[1])):
            return self._congruence(sides[0], sides[1][: modulus[0]], modulus[1])
        if set(signs) == {"="}:
            if name := _name(sides[0]):
                return self._named(name, sides[1:])
            if (point := self._point(sides)) is not None:
                return point
            terms = tuple(self.value(side) for side in sides)
            return Comparison(terms, tuple(signs))
        if signs == ["∈"] and (name := _name(sides[0])):
            inside = self.value(sides[1])
            if isinstance(inside, (Group, Union, Difference)):
                return Bindings(((name, inside),))
        return Comparison(tuple(self.value(side) for side in sides), tuple(signs))

    def _congruence(
        self, left: Sequence[Token], right: Sequence[Token], modulus: Sequence[Token]
    ) -> Comparison:
        """`x ≡ 4 (mod 7)`, with the least residue if it and the modulus are numbers."""
        terms = [self.value(side) for side in (left, right, modulus)]
        match terms[1], terms[2]:
            case Number(rest), Number(m) if rest.denominator == m.denominator == 1 and m > 0:
                terms[1] = Number(rest % m)
            case Apply("neg", (Number(rest),)), Number(m) if rest.denominator == m.denominator == 1 and m > 0:
                terms[1] = Number(-rest % m)
        return Comparison(tuple(terms), ("≡", "mod"))

    def _point(self, sides: Sequence[Sequence[Token]]) -> Bindings | None:
        """The named values of `(x, y) = (2, 5)`."""
        if len(sides) != 2 or sides[0][0].text != "(" or sides[0][-1].text != ")":
            return None
        names = [_name(part) for part in _split_at(sides[0][1:-1], {","})]
        right = self.value(sides[1])
        if len(names) < 2 or not all(names) or not isinstance(right, Group) or len(right.items) != len(names):
            return None
        return Bindings(tuple(zip(names, right.items, strict=True)))

    def _named(self, name: str, sides: Sequence[Sequence[Token]]) -> Value:
        values = [self.value(side) for side in sides]
        if len(values) == 1:
            return Bindings(((name, values[0]),))
        return Bindings(((name, Comparison(tuple(values), ("=",) * (len(values) - 1))),))

    def value(self, found: Sequence[Token]) -> Value:
        """A value without relations at its top."""
        if not found:
            raise UnreadableError
        if len(parts := _split_at(found, {"∖"})) == 2:
            return Difference(self.value(parts[0]), self.value(parts[1]))
        parts = _split_at(found, {"∪"})
        if len(parts) > 1:
            return Union(tuple(self.value(part) for part in parts))
        negative = found[0].text == "-"
        if based := based_digits(found[negative:]):
            return Based(f"-{based.digits}", based.base) if negative else based
        if (matrix := read_matrix(found)) is not None:
            return matrix
        if (group := self._group(found)) is not None:
            return group
        if len(found) == 1 and found[0].text == "∅":
            return Group("⦃", "⦄", ())
        return Parser(found).whole()

    def _group(self, found: Sequence[Token]) -> Value | None:
        opens, closes = found[0].text, found[-1].text
        if found[0].kind != "symbol" or opens not in _OPENS or closes not in _CLOSES or not _encloses(found):
            return None
        inside = found[1:-1]
        if opens == "⟨":
            opens, closes = "(", ")"
        if opens == "{" and closes == "}":
            if any(t.kind == "command" and t.text in ("choose", "over") for t in inside):
                return None
            opens, closes = "⦃", "⦄"
        items = _split_at(inside, {",", ";"}) if inside else []
        if len(items) > MAX_ITEMS:
            raise UnreadableError
        if len(items) == 1 and opens == "(":
            # Round brackets around one value only group it.
            return self.clause(items[0]) if closes == ")" else None
        if opens == "⦃" and any(t.text in "|:" or t.text in RELATIONS for t in inside):
            return self._described(inside)
        return Group(opens, closes, tuple(self.value(item) for item in items))

    def _described(self, inside: Sequence[Token]) -> Value:
        """A set that a condition describes, `{x | x > 3}`: what its condition says."""
        depth = 0
        for n, token in enumerate(inside):
            depth += (token.text in _OPENS) - (token.text in _CLOSES)
            if not depth and token.kind == "symbol" and token.text in ("|", ":") and n:
                if not _is_real_variable(inside[:n]):
                    raise UnreadableError  # a set of integers or of pairs
                return self.statement(inside[n + 1 :])
        raise UnreadableError


def _is_real_variable(found: Sequence[Token]) -> bool:
    """Whether `found` is the name of a real number: `x`, `x ∈ R`."""
    texts = [t.text for t in found]
    return found[0].kind == "name" and texts[1:] in ([], ["∈", "(", "-", "∞", ",", "∞", ")"])


def _as_comparison(value: Value) -> Value:
    """The named value of one letter as an equation, so that it can stand beside inequalities."""
    match value:
        case Bindings(((name, bound),)) if len(name) == 1:
            return Comparison((Variable(name), bound), ("=",))
    return value


def _encloses(found: Sequence[Token]) -> bool:
    """Whether the first bracket closes with the last token."""
    depth = 0
    for n, token in enumerate(found):
        if token.kind == "symbol":
            depth += (token.text in _OPENS) - (token.text in _CLOSES)
        if not depth:
            return n == len(found) - 1
    return False


def _split_at(found: Sequence[Token], marks: set[str]) -> list[Sequence[Token]]:
    """`found` in parts, at the marks outside brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in found:
        if token.kind in ("symbol", "separator"):
            depth += (token.text in _OPENS) - (token.text in _CLOSES)
            if not depth and token.text in marks:
                parts.append([])
                continue
        parts[-1].append(token)
    return list(parts)


def _split(found: Sequence[Token]) -> tuple[list[Sequence[Token]], set[str]]:
    """The parts between commas, `and` and `or`, and what joins them. `1, 2, and 3` has three."""
    marks = {",", ";", "and", "or", "∧", "∨"}
    parts = _split_at(found, marks)
    kept = [part for n, part in enumerate(parts) if part or n in (0, len(parts) - 1)]
    joints = {t.text for t in found if t.kind == "separator" or t.text in "∧∨"}
    joints |= {"and"} if "∧" in joints else set()
    joints |= {"or"} if "∨" in joints else set()
    if kept and not kept[-1]:
        kept.pop()
    if not kept or not all(kept):
        raise UnreadableError
    return kept, joints


def _sides(found: Sequence[Token]) -> tuple[list[Sequence[Token]], list[str]]:
    """The sides of the relations outside brackets, and their signs."""
    sides = _split_at(found, set(RELATIONS))
    depth, signs = 0, list[str]()
    for token in found:
        if token.kind == "symbol":
            depth += (token.text in _OPENS) - (token.text in _CLOSES)
            if not depth and token.text in RELATIONS:
                signs.append(token.text)
    if signs and not all(sides):
        raise UnreadableError
    return sides, signs


def _name(found: Sequence[Token]) -> str:
    """The name that the left side of an equation gives to its right side; empty if it is an expression.

    A name is a variable, words, a function as in `f(x)`, `f^{-1}(x)` and `f(2)`, or a derivative.
    """
    texts = [t.text for t in found]
    if (
        len(found) == 4
        and found[0].kind == "name"
        and found[2].kind == "number"
        and texts[1::2] == ["(", ")"]
    ):
        return "".join(texts)  # f(2), whose value is asked for
    if any(t.kind == "number" for t in found if t.kind == "number" and "_" not in texts and "^" not in texts):
        return ""
    if found and all(t.kind in ("name", "word", "separator") for t in found):
        alone = (
            len(found) == 1
            or any(t.kind == "word" and t.spaced for t in found[1:])
            or found[0].kind == "word"
        )
        return (
            " ".join(texts).casefold()
            if (alone and texts[0] not in ("i", "e", "d")) or len(found) == 1
            else ""
        )
    if derivative := _DERIVATIVE.fullmatch("".join(t for t in texts if t not in "{}")):
        return f"{derivative[1]}'"
    return _function_name(found)


def _function_name(found: Sequence[Token]) -> str:
    parser = Parser(found)
    if parser.next.kind not in ("name", "word"):
        return ""
    name = parser.next.text
    parser.at += 1
    if parser.take("_"):
        try:
            name += "_" + parser.subscript()
        except UnreadableError:
            return ""
    if parser.take("^"):
        inverse = [t.text for t in found[parser.at : parser.at + 4]]
        if inverse != ["{", "-", "1", "}"] and inverse[:2] != ["-", "1"]:
            return ""
        parser.at += 4 if inverse[0] == "{" else 2
        name += "^-1"
    while parser.take("'"):
        name += "'"
    rest = found[parser.at :]
    if not rest:
        return name.casefold()
    inside = rest[1:-1]
    called = rest[0].text == "(" and rest[-1].text == ")" and _encloses(rest)
    arguments = called and inside and all(t.kind in ("name", "number") or t.text == "," for t in inside)
    # x(1) may be a product, f(x) is a name: an argument is a variable, or the function has a usual letter.
    if arguments and (any(t.kind == "name" for t in inside) or name[0] in "fghPpFGQq"):
        written = "".join(t.text for t in inside)
        # f(x) and f(t) are one function; f(2), P(A) and P(B) are values of their own.
        return name.casefold() if written.islower() and "," not in written else f"{name}({written})"
    return ""
