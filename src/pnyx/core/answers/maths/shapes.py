"""Parts of expressions that are one thing by their shape: mixed numbers, `C(5, 2)`."""

from __future__ import annotations

from collections.abc import Sequence

from .lexer import Token
from .nodes import Apply, Node, Number

__all__ = ["combination", "with_fraction"]


def _is_proper_fraction(node: Node) -> bool:
    match node:
        case Apply("/", (Number(above), Number(below))):
            return above.denominator == below.denominator == 1 and 0 < above < below
    return False


def with_fraction(node: Node, right: Node, *, mixed: bool) -> Node:
    """A mixed number with its sign, `-17 1/2`, else a product. mixed: whether digits precede a fraction."""
    if mixed and _is_proper_fraction(right):
        match node:
            case Number():
                return Apply("+", (node, right))
            case Apply("neg", (Number() as whole,)):
                return Apply("neg", (Apply("+", (whole, right)),))
    return Apply("*", (node, right))


def combination(name: str, found: Sequence[Token]) -> Node | None:
    """The combinations of `(5, 2)` behind a C, the permutations behind a P; None for other tokens."""
    if len(found) != 5 or [t.text for t in (found[0], found[2], found[4])] != ["(", ",", ")"]:
        return None
    above, below = found[1], found[3]
    if not (above.plain and below.plain) or above.value is None or below.value is None:
        return None
    if name == "P" and above.value < below.value:
        return None  # a point
    chosen = Apply("binom", (Number(above.value), Number(below.value)))
    return chosen if name == "C" else Apply("*", (chosen, Apply("!", (Number(below.value),))))
