"""The form of an expression, for questions that ask for one: factored or expanded."""

from __future__ import annotations

from .nodes import Apply, Constant, Number, Value

__all__ = ["factors", "has_products_of_sums"]

MAX_POWER = 50


def factors(value: Value) -> int:
    """How many factors with variables a product has: 2 of `3(x - 1)(x + 1)`, 1 of a sum, 0 of a number."""
    match value:
        case Apply("*", (one, two)):
            return factors(one) + factors(two)
        case Apply("neg", (inner,)) | Apply("/", (inner, Number())):
            return factors(inner)
        case Apply("^", (base, Number(exponent))) if exponent.denominator == 1 and 0 < exponent <= MAX_POWER:
            return factors(base) * int(exponent)
        case Number() | Constant():
            return 0
        case Apply(_, args):
            return int(any(map(factors, args)))
    return 1


def has_products_of_sums(value: Value) -> bool:
    """Whether a sum with variables is multiplied or raised to a power somewhere: `x(x + 1)`, `(x + 1)^2`."""
    match value:
        case Apply("*" | "^" as name, args):
            sums = args if name == "*" else args[:1]
            return any(_is_sum(arg) or has_products_of_sums(arg) for arg in sums)
        case Apply(_, args):
            return any(map(has_products_of_sums, args))
    return False


def _is_sum(value: Value) -> bool:
    match value:
        case Apply("+", args):
            return any(map(factors, args))
        case Apply("neg", (inner,)):
            return _is_sum(inner)
    return False
