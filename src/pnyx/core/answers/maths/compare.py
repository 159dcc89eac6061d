"""Whether two mathematical values are the same."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

from .evaluate import UndefinedError, close, is_real, mp, number, values, variables
from .nodes import (
    NODES,
    Apply,
    Based,
    Bindings,
    Comparison,
    Conditions,
    Constant,
    Difference,
    Group,
    Matrix,
    Node,
    Number,
    Union,
    Value,
    Variable,
)
from .sets import Span, spans

__all__ = ["names_in", "same_value", "settled"]

MAX_SIGNS = 4
"""Signs ± in one expression; each doubles the values."""


def same_value(one: Value, two: Value, *, ordered: bool = False, bases: Sequence[int] = ()) -> bool:
    """Whether two values are the same. ordered: the order of a list without brackets counts.

    bases: number bases that may be left out: with 2 in it, `1101` is `1101_2`.
    """
    return _Comparer(ordered, tuple(bases)).same(settled(one), settled(two))


@lru_cache(maxsize=4096)
def settled(value: Value) -> Value:
    """`value` with ± written out, and without equations that hold: `2 + 3 = 5` is 5."""
    match value:
        case Bindings(found):
            return Bindings(tuple((name, settled(v)) for name, v in found))
        case Comparison(terms, signs):
            terms = tuple(settled(term) for term in terms)
            if set(signs) == {"="} and all(isinstance(t, NODES) for t in terms):
                first = [number(t) for t in terms]  # type: ignore[arg-type]
                if all(n is not None for n in first) and all(close(first[0], n) for n in first[1:]):
                    return terms[-1]
                same = _Comparer(False, ())
                if any(n is None for n in first) and all(same.same(terms[0], t) for t in terms[1:]):
                    return terms[-1]
            return Comparison(terms, signs)
        case Group(opens, closes, items):
            inside = tuple(settled(item) for item in items)
            # ± makes a list of an item, which is no item of a set but several.
            flat = tuple(
                inner
                for item in inside
                for inner in (
                    item.items
                    if opens in ("", "⦃") and isinstance(item, Group) and not item.opens
                    else (item,)
                )
            )
            return Group(opens, closes, flat)
        case Apply() as node:
            signed = _count(node)
            if not signed or signed > MAX_SIGNS:
                return value
            both = [_written(node, iter(signs)) for signs in _sign_choices(node, signed)]
            return Group("", "", tuple(both))
    return value


def _count(node: Node) -> int:
    match node:
        case Apply(name, args):
            return (name in ("±", "∓")) + sum(map(_count, args))
    return 0


def _sign_choices(node: Node, count: int) -> list[tuple[bool, ...]]:
    """The choices of signs: ± and ∓ of one expression change together."""
    if _has(node, "∓"):
        return [(True,) * count, (False,) * count]
    return list(product((True, False), repeat=count))


def _has(node: Node, name: str) -> bool:
    return isinstance(node, Apply) and (node.name == name or any(_has(arg, name) for arg in node.args))


def _written(node: Node, signs: Any) -> Node:
    match node:
        case Apply("±" | "∓" as name, (inner,)):
            positive = next(signs) == (name == "±")
            inside = _written(inner, signs)
            return inside if positive else Apply("neg", (inside,))
        case Apply(name, args):
            return Apply(name, tuple(_written(arg, signs) for arg in args))
    return node


class _Comparer:
    def __init__(self, ordered: bool, bases: tuple[int, ...]) -> None:
        self.ordered, self.bases = ordered, bases

    def same(self, one: Value, two: Value) -> bool:
        if one == two:
            return True
        if isinstance(one, Bindings) or isinstance(two, Bindings):
            return self._same_bindings(one, two)
        if isinstance(one, Based) or isinstance(two, Based):
            return self._same_based(one, two)
        if isinstance(one, NODES) and isinstance(two, NODES):
            return same_expression(one, two)
        if isinstance(one, Matrix) or isinstance(two, Matrix):
            return self._same_matrix(one, two)
        if _is_set(one) or _is_set(two):
            return self._same_sets(one, two)
        if isinstance(one, Comparison) and isinstance(two, Comparison):
            return self._same_relation(one, two)
        if isinstance(one, Group) and isinstance(two, Group):
            return self._same_groups(one, two)
        if isinstance(one, Group) != isinstance(two, Group):
            group, other = (one, two) if isinstance(one, Group) else (two, one)
            assert isinstance(group, Group), "one of them is"
            single = len(group.items) == 1 and group.opens in ("", "⦃")
            return single and not isinstance(other, Group) and self.same(group.items[0], other)
        return False

    def _same_bindings(self, one: Value, two: Value) -> bool:
        if isinstance(one, Bindings) and isinstance(two, Bindings):
            mine, theirs = dict(one.values), dict(two.values)
            if mine.keys() != theirs.keys():
                return self._same_equations(one, two)
            return all(self.same(mine[name], theirs[name]) for name in mine)
        bindings, other = (one, two) if isinstance(one, Bindings) else (two, one)
        assert isinstance(bindings, Bindings), "one of them is"
        if len(bindings.values) == 1:
            name, value = bindings.values[0]
            if isinstance(other, (Comparison, Conditions)):
                return self._same_equations(bindings, other) or (
                    _subject(other) == name and self._same_sets(value, other)
                )
            return self.same(value, other)
        if not isinstance(other, Group) or other.opens not in ("", "(", "⟨"):
            return False
        inner = [v for _, v in bindings.values]
        return len(inner) == len(other.items) and all(map(self.same, inner, other.items))

    def _same_equations(self, one: Value, two: Value) -> bool:
        """Two equations in several unknowns that are multiples of each other."""
        first, second = _as_equation(one), _as_equation(two)
        return first is not None and second is not None and self._same_relation(first, second)

    def _same_based(self, one: Value, two: Value) -> bool:
        if isinstance(one, Based) and isinstance(two, Based):
            return one == two
        based, other = (one, two) if isinstance(one, Based) else (two, one)
        assert isinstance(based, Based), "one of them is"
        if not isinstance(other, Number) or (based.base != 10 and based.base not in self.bases):
            return False
        return (
            "." not in based.digits
            and based.digits.lstrip("-").isdigit()
            and other.value == int(based.digits)
        )

    def _same_matrix(self, one: Value, two: Value) -> bool:
        mine, theirs = _rows(one), _rows(two)
        if mine is None or theirs is None or [len(r) for r in mine] != [len(r) for r in theirs]:
            return False
        pairs = [pair for a, b in zip(mine, theirs, strict=True) for pair in zip(a, b, strict=True)]
        return all(self.same(a, b) for a, b in pairs)

    def _same_groups(self, one: Group, two: Group) -> bool:
        if len(one.items) != len(two.items):
            return False
        brackets = {(one.opens, one.closes), (two.opens, two.closes)}
        bare, sets = ("", "") in brackets, ("⦃", "⦄") in brackets
        if len(brackets) > 1 and not bare:
            return False
        if not one.items:
            return len(brackets) == 1
        if sets or (brackets == {("", "")} and not self.ordered):
            return self._match(one.items, two.items)
        return all(map(self.same, one.items, two.items))

    def _match(self, one: Sequence[Value], two: Sequence[Value]) -> bool:
        """Whether the items are the same in some order."""
        left = list(two)
        for item in one:
            found = next((n for n, other in enumerate(left) if self.same(item, other)), None)
            if found is None:
                return False
            left.pop(found)
        return True

    def _same_sets(self, one: Value, two: Value) -> bool:
        names = {name for v in (one, two) if (name := _subject(v))}
        if len(names) > 1:
            return False
        mine, theirs = _spans(one), _spans(two)
        if mine is not None and theirs is not None:
            return len(mine) == len(theirs) and all(a.same(b) for a, b in zip(mine, theirs, strict=True))
        if isinstance(one, Comparison) and isinstance(two, Comparison):
            return self._same_relation(one, two)
        if isinstance(one, Conditions) and isinstance(two, Conditions):
            return (
                one.joint == two.joint
                and len(one.parts) == len(two.parts)
                and self._match(one.parts, two.parts)
            )
        if isinstance(one, Union) and isinstance(two, Union):
            return len(one.parts) == len(two.parts) and self._match(one.parts, two.parts)
        if isinstance(one, Group) and isinstance(two, Group):
            return self._same_groups(one, two)
        return False

    def _same_relation(self, one: Comparison, two: Comparison) -> bool:
        if len(one.signs) != len(two.signs):
            return False
        for other in (two, _flipped(two)):
            if other is not None and other.signs == one.signs and all(map(self.same, one.terms, other.terms)):
                return True
        return len(one.signs) == 1 and _proportional(one, two)


def names_in(value: Value) -> frozenset[str]:
    """The variables of an expression; none for another value."""
    return variables(value) if isinstance(value, NODES) else frozenset()


def same_expression(one: Node, two: Node) -> bool:
    """Whether two expressions have the same values wherever they are compared."""
    try:
        # 0A and 0B are more often labels than nothing.
        if variables(one) ^ variables(two) == {"C", "c"}:
            one, two = (_renamed(node, "C", "c") for node in (one, two))
        constant = len(values(one)) == 1 or len(values(two)) == 1
        if constant and variables(one) != variables(two):
            a, b = sorted((values(one), values(two)), key=len)
            return not close(a[0], Fraction(0)) and all(close(a[0], value) for value in b)
        if variables(one) != variables(two):
            return False
        a, b = values(one), values(two)
    except UndefinedError:
        return False
    return all(map(close, a, b))


def _renamed(node: Node, old: str, new: str) -> Node:
    """`node` with another name of one variable: the constant of an integral is C or c."""
    match node:
        case Variable(name) if name == old:
            return Variable(new)
        case Apply(name, args):
            return Apply(name, tuple(_renamed(arg, old, new) for arg in args))
    return node


def _is_set(value: Value) -> bool:
    """Whether `value` may be a set of numbers: an interval, a union, inequalities."""
    match value:
        case Union() | Conditions() | Difference():
            return True
        case Comparison(_, signs):
            return not set(signs) <= {"="}
        case Group("(" | "[", ")" | "]", (low, high)) as group:
            ends = (low, high)
            return (group.opens, group.closes) in (("(", "]"), ("[", ")")) or any(map(_is_infinite, ends))
    return False


def _is_infinite(value: Value) -> bool:
    return value == Constant("inf") or value == Apply("neg", (Constant("inf"),))


@lru_cache(maxsize=2048)
def _spans(value: Value) -> tuple[Span, ...] | None:
    return spans(value)


def _subject(value: Value) -> str:
    """The variable of inequalities; empty for an interval."""
    match value:
        case Comparison(terms, _):
            found = {t.name for t in terms if isinstance(t, Variable)}
            return found.pop().casefold() if len(found) == 1 else ""
        case Conditions(_, parts):
            names = {_subject(part) for part in parts}
            return names.pop() if len(names) == 1 else ""
    return ""


def _as_equation(value: Value) -> Comparison | None:
    match value:
        case Comparison((_, _), ("=",)):
            return value
        case Bindings(((name, bound),)) if isinstance(bound, NODES) and len(name) == 1:
            return Comparison((Variable(name), bound), ("=",)) if variables(bound) else None
    return None


def _flipped(relation: Comparison) -> Comparison | None:
    flips = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "=": "=", "≠": "≠", "≈": "≈", "≡": "≡"}
    if not set(relation.signs) <= flips.keys():
        return None
    return Comparison(relation.terms[::-1], tuple(flips[sign] for sign in relation.signs[::-1]))


def _proportional(one: Comparison, two: Comparison) -> bool:
    """Whether two equations, or two inequalities, differ by a constant factor: a positive one for `<`."""
    sides: list[tuple[Node, Node]] = []
    signs = list[str]()
    for relation in (one, two):
        left, right = relation.terms
        sign = relation.signs[0]
        if not (isinstance(left, NODES) and isinstance(right, NODES)) or sign not in "=<>≤≥≠":
            return False
        if sign in ">≥":
            left, right, sign = right, left, "<" if sign == ">" else "≤"
        sides.append((left, right))
        signs.append(sign)
    first, second = (Apply("+", (left, Apply("neg", (right,)))) for left, right in sides)
    if signs[0] != signs[1] or variables(first) != variables(second) or not variables(first):
        return False
    try:
        pairs = list(zip(values(first), values(second), strict=True))
        ratios = [values_ratio(a, b) for a, b in pairs]
    except (UndefinedError, ZeroDivisionError):
        return False
    if not all(close(ratios[0], r) for r in ratios[1:]):
        return False
    return signs[0] in "=≠" or (is_real(ratios[0]) and mp().re(mp().convert(ratios[0])) > 0)


def values_ratio(a: Any, b: Any) -> Any:
    """a / b, exact if both are."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a / b
    context = mp()
    return context.convert(a) / context.convert(b)


def _rows(value: Value) -> tuple[tuple[Value, ...], ...] | None:
    """The rows of a matrix; a vector in brackets is one column, `[[1,2],[3,4]]` a matrix."""
    match value:
        case Matrix(rows):
            return rows
        case Group("(" | "[" | "", _, items):
            if items and all(isinstance(i, Group) and i.opens in ("(", "[") for i in items):
                return tuple(i.items for i in items if isinstance(i, Group))
            return tuple((i,) for i in items)
    return None
