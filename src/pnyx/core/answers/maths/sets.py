"""Sets of real numbers as disjoint intervals in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from typing import Any

from .evaluate import close, inexact, is_real, mp, number
from .nodes import (
    NODES,
    Apply,
    Comparison,
    Conditions,
    Difference,
    Group,
    Node,
    Union,
    Value,
    Variable,
)

__all__ = ["Span", "spans"]

_FLIP = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "≠": "≠", "=": "="}


@dataclass(frozen=True, slots=True)
class Span:
    """An interval with its ends, exact or with 50 digits, infinite ones included."""

    low: Any
    high: Any
    with_low: bool = False
    with_high: bool = False

    def same(self, other: Span) -> bool:
        ends = (self.with_low, self.with_high) == (other.with_low, other.with_high)
        return ends and close(self.low, other.low) and close(self.high, other.high)


def spans(value: Value) -> tuple[Span, ...] | None:
    """The intervals that `value` is made of; None if it is no set of real numbers with known ends."""
    found = _spans(value)
    return None if found is None else _merged(found)


def _spans(value: Value) -> list[Span] | None:
    match value:
        case Union(parts):
            each = [_spans(part) for part in parts]
            return None if None in each else [span for found in each for span in found or ()]
        case Difference(whole, part):
            inside, cut = spans(whole), spans(part)
            if inside is None or cut is None:
                return None
            return [span for a in inside for b in _outside(cut) if (span := _overlap(a, b))]
        case Group("(" | "[" as opens, ")" | "]" as closes, (low, high)):
            ends = _end(low), _end(high)
            if ends[0] is None or ends[1] is None or _order(*ends) > 0:
                return None
            return [Span(*ends, opens == "[", closes == "]")]
        case Group("⦃", _, items):
            points = [_end(item) for item in items]
            return None if None in points else [Span(p, p, True, True) for p in points]
        case Conditions(joint, parts):
            return _joined(joint, parts)
        case Comparison():
            return _solved(value)
    return None


def _outside(cut: Sequence[Span]) -> list[Span]:
    """The intervals between `cut`, which is in order."""
    infinity = mp().inf
    out, start, with_start = list[Span](), -infinity, False
    for span in cut:
        if _order(start, span.low) < 0:
            out.append(Span(start, span.low, with_start, not span.with_low))
        start, with_start = span.high, not span.with_high
    if start != infinity:
        out.append(Span(start, infinity, with_start, False))
    return out


def _joined(joint: str, parts: Sequence[Comparison]) -> list[Span] | None:
    each = [_spans(part) for part in parts]
    names = {t.name for part in parts for t in part.terms if isinstance(t, Variable)}
    if None in each or len(names) != 1:
        return None
    sets = [found or [] for found in each]
    if joint != "or":
        both = sets[0]
        for found in sets[1:]:
            both = [span for a in both for b in found if (span := _overlap(a, b))]
        # x < 1, x > 3: a comma joins ranges that do not overlap.
        if both or joint == "and":
            return both
    return [span for found in sets for span in found]


def _overlap(one: Span, two: Span) -> Span | None:
    low, high = max(one, two, key=_low_key), min(one, two, key=_high_key)
    start, end = low.low, high.high
    order = _order(start, end)
    if order > 0 or (not order and not (low.with_low and high.with_high)):
        return None
    return Span(start, end, low.with_low, high.with_high)


def _solved(relation: Comparison) -> list[Span] | None:
    """The values of the only variable in `1 < x ≤ 3`, `x ≠ 0` or `x > 3`."""
    terms, signs = list(relation.terms), list(relation.signs)
    if len(terms) == 2 and (split := _without_abs(relation)) is not None:
        return split
    at = [n for n, term in enumerate(terms) if isinstance(term, Variable)]
    if len(at) != 1 or len(terms) > 3 or (len(terms) == 3 and at[0] != 1) or not set(signs) <= _FLIP.keys():
        return None
    infinity = mp().inf
    found = [Span(-infinity, infinity)]
    for n, sign in enumerate(signs):
        left, right = terms[n], terms[n + 1]
        other, sign = (right, sign) if n == at[0] else (left, _FLIP[sign])
        end = _end(other)
        if end is None or mp().isinf(inexact(end)):
            return None
        sides = {
            "<": [Span(-infinity, end)],
            "≤": [Span(-infinity, end, False, True)],
            ">": [Span(end, infinity)],
            "≥": [Span(end, infinity, True)],
            "=": [Span(end, end, True, True)],
            "≠": [Span(-infinity, end), Span(end, infinity)],
        }[sign]
        found = [span for a in found for b in sides if (span := _overlap(a, b))]
    return found


def _without_abs(relation: Comparison) -> list[Span] | None:
    """The values of x in `|x - 1| < 2`; None if no absolute value of a variable with a shift is compared."""
    (left, right), (sign,) = relation.terms, relation.signs
    if isinstance(right, Apply) and right.name == "abs":
        left, right, sign = right, left, _FLIP.get(sign, "")
    end = _end(right)
    if not (isinstance(left, Apply) and left.name == "abs") or end is None or sign not in "<>≤≥" or not sign:
        return None
    shift = _shift(left.args[0])
    if shift is None or _order(end, Fraction(0)) <= 0:
        return None
    low, high, infinity = _sum(shift, -end), _sum(shift, end), mp().inf
    closed = sign in "≤≥"
    if sign in "<≤":
        return [Span(low, high, closed, closed)]
    return [Span(-infinity, low, False, closed), Span(high, infinity, closed, False)]


def _shift(node: Node) -> Any:
    """The value a of `x - a`, where x is a variable."""
    match node:
        case Variable():
            return Fraction(0)
        case Apply("+", (Variable(), Apply("neg", (other,)))):
            return _end(other)
        case Apply("+", (Variable(), other)):
            found = _end(other)
            return None if found is None else -found
    return None


def _sum(one: Any, two: Any) -> Any:
    if isinstance(one, Fraction) and isinstance(two, Fraction):
        return one + two
    return inexact(one) + inexact(two)


def _end(value: Value) -> Any:
    if not isinstance(value, NODES):
        return None
    node: Node = value
    found = number(node)
    return found if found is not None and is_real(found) else None


def _order(one: Any, two: Any) -> int:
    if close(one, two):
        return 0
    return -1 if inexact(one) < inexact(two) else 1


_END_KEY = cmp_to_key(_order)


def _low_key(span: Span) -> Any:
    return _END_KEY(span.low), not span.with_low


def _high_key(span: Span) -> Any:
    return _END_KEY(span.high), span.with_high


def _merged(found: Sequence[Span]) -> tuple[Span, ...]:
    """The spans in order, with those joined that touch: (1, 2) and [2, 3) are (1, 3)."""
    out: list[Span] = []
    for span in sorted(found, key=_low_key):
        if out:
            before, order = out[-1], _order(span.low, out[-1].high)
            if order < 0 or (not order and (span.with_low or before.with_high)):
                last = max(before, span, key=_high_key)
                out[-1] = Span(before.low, last.high, before.with_low, last.with_high)
                continue
        out.append(span)
    return tuple(out)
