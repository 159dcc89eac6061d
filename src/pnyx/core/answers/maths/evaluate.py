"""Values of expressions: exact where they are rational, else with 50 digits at fixed points.

Two expressions are equal if they have equal values at all points. The points depend on the names of the
variables only, so a decision is the same in every run and on every machine.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, TypeAlias

from .nodes import Apply, Constant, Node, Number, Variable

__all__ = ["POINTS", "UndefinedError", "close", "inexact", "is_real", "number", "values", "variables"]

DIGITS = 50
POINTS = 4
"""Points at which expressions with variables are compared: two with positive ones, two with both signs."""

MAX_BITS = 4000
"""Bits of an exact power; a larger one is evaluated with 50 digits."""
MAX_EXPONENT = 1_000_000
"""The largest exponent of a value, in bits."""
MAX_FACTORIAL = 300

Value: TypeAlias = Any
"""A Fraction, or an mpf or mpc of mpmath."""


class UndefinedError(Exception):
    """The expression has no value, or one too large."""


@cache
def mp() -> Any:
    # Imported at the first expression that is not rational: it takes a tenth of a second.
    from mpmath.ctx_mp import MPContext  # type: ignore[import-untyped]

    context = MPContext()
    context.dps = DIGITS
    return context


@lru_cache(maxsize=4096)
def values(node: Node) -> tuple[Value, ...]:
    """The values of `node` at the points: one if it has no variables. Raises `UndefinedError`."""
    names = variables(node)
    if not names:
        return (_value(node, {}),)
    return tuple(_value(node, {name: _point(name, n) for name in names}) for n in range(POINTS))


@lru_cache(maxsize=4096)
def variables(node: Node) -> frozenset[str]:
    """The names of the variables in `node`."""
    match node:
        case Variable(name):
            return frozenset((name,))
        case Apply(_, args):
            return frozenset().union(*map(variables, args))
    return frozenset()


def number(node: Node) -> Value | None:
    """The value of an expression without variables; None if it has some, or no value."""
    try:
        return None if variables(node) else values(node)[0]
    except UndefinedError:
        return None


def is_real(value: Value) -> bool:
    return isinstance(value, Fraction) or not mp().im(value)


def close(one: Value, two: Value) -> bool:
    """Whether two values are equal: exactly if both are rational, else to 30 digits."""
    if isinstance(one, Fraction) and isinstance(two, Fraction):
        return one == two
    a, b = inexact(one), inexact(two)
    if mp().isinf(a) or mp().isinf(b):
        return bool(a == b)
    return bool(abs(a - b) <= mp().mpf(10) ** -30 * max(abs(a), abs(b), mp().mpf(10) ** -10))


def _point(name: str, n: int) -> Fraction:
    """The value of a variable at point `n`, with a large prime below, so that it is a root of nothing."""
    digest = hashlib.sha256(f"{n} {name}".encode()).digest()
    value = Fraction(int.from_bytes(digest[:4], "big") % 90_000 + 10_007, 30_011)
    # Opposite signs at the last two points: each variable is negative at one of them.
    negative = hashlib.sha256(name.encode()).digest()[0] % 2
    # Larger ones there, so that x + 4 is negative too.
    value *= (1, 1, 7, 37)[n]
    return -value if n >= 2 and (n + negative) % 2 else value


def inexact(value: Value) -> Value:
    """`value` as a number of mpmath, if it is exact."""
    return mp().mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value


def _value(node: Node, at: Mapping[str, Value]) -> Value:
    match node:
        case Number(value):
            return value
        case Variable(name):
            return at[name]
        case Constant("pi"):
            return +mp().pi
        case Constant("e"):
            return +mp().e
        case Constant("i"):
            return mp().mpc(0, 1)
        case Constant("inf"):
            return mp().inf
        case Apply(name, args):
            found = [_value(arg, at) for arg in args]
            try:
                result = _apply(name, found)
            except (ZeroDivisionError, OverflowError, ValueError, TypeError) as exc:
                raise UndefinedError(name) from exc
            return _checked(result)
    raise UndefinedError


def _checked(value: Value) -> Value:
    if isinstance(value, Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > 2 * MAX_BITS:
            return _checked(inexact(value))
        return value
    context = mp()
    if context.isnan(value):
        raise UndefinedError
    if not context.isinf(value) and value and abs(context.mag(value)) > MAX_EXPONENT:
        raise UndefinedError
    if isinstance(value, context.mpc) and abs(value.imag) <= abs(value.real) * context.mpf(10) ** -42:
        return value.real
    if isinstance(value, context.mpc) and abs(value.real) <= abs(value.imag) * context.mpf(10) ** -42:
        return context.mpc(0, value.imag)
    return value


def _apply(name: str, args: list[Value]) -> Value:
    first = args[0]
    match name:
        case "+":
            return _both(args, lambda a, b: a + b)
        case "*":
            return _both(args, lambda a, b: a * b)
        case "/":
            return _both(args, lambda a, b: a / b)
        case "neg":
            return -first
        case "^":
            return _power(first, args[1])
        case "root":
            return _root(first, args[1])
        case "!":
            return _factorial(first)
        case "!!":
            if isinstance(first, Fraction) and first.denominator == 1 and 0 <= first <= MAX_FACTORIAL:
                return Fraction(math.prod(range(int(first), 0, -2)))
            raise UndefinedError
        case "binom":
            return _binomial(first, args[1])
        case "abs":
            return abs(first)
        case "mod":
            return _remainder(first, args[1])
        case "determinant":
            return _determinant(args)
        case "floor" | "ceil" | "ceiling":
            return _rounded(name, first)
        case "max" | "min":
            if not all(map(is_real, args)):
                raise UndefinedError
            return (max if name == "max" else min)(args, key=inexact)
        case "gcd" | "lcm":
            if not all(isinstance(a, Fraction) and a.denominator == 1 for a in args):
                raise UndefinedError
            return Fraction((math.gcd if name == "gcd" else math.lcm)(*map(int, args)))
        case "deg":
            return inexact(first) * mp().pi / 180
        case "log" | "ln" | "lg":
            return _log(name, args)
    if name.endswith("()"):
        return _unknown(name, args)
    return _function(name, inexact(first))


def _unknown(name: str, args: list[Value]) -> Value:
    """A value of an unknown function: another for other arguments, and without any of the usual laws."""
    context = mp()
    total = sum((n + 2) * inexact(arg) for n, arg in enumerate(args))
    if context.mag(total) > 60:
        raise UndefinedError
    return context.cos(total + inexact(_point(name, len(args) % 2))) + inexact(_point(name, 0))


def _both(args: list[Value], operation: Any) -> Value:
    if all(isinstance(a, Fraction) for a in args):
        return operation(*args)
    return operation(*map(inexact, args))


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        if exponent.denominator == 1:
            bits = max(base.numerator.bit_length(), base.denominator.bit_length())
            if bits * abs(exponent) <= MAX_BITS:
                return base ** int(exponent)
        elif base >= 0 and exponent.denominator <= 12 and abs(exponent.numerator) <= 100:
            root = _root(base, Fraction(exponent.denominator))
            if isinstance(root, Fraction):
                return _power(root, Fraction(exponent.numerator))
    a, b = inexact(base), inexact(exponent)
    if a == 0:
        if mp().re(b) <= 0:
            raise UndefinedError
        return mp().mpf(0)
    if mp().isinf(a) or mp().isinf(b):
        raise UndefinedError
    if abs(b) * (abs(mp().mag(a)) + 2) > MAX_EXPONENT:
        raise UndefinedError
    return mp().power(a, b)


def _root(base: Value, degree: Value) -> Value:
    if not isinstance(degree, Fraction) or degree.denominator != 1 or not 1 <= degree <= 100:
        return _power(base, _both([Fraction(1), degree], lambda a, b: a / b))
    n = int(degree)
    if isinstance(base, Fraction):
        if base < 0 and n % 2:
            return -_root(-base, degree)
        above, below = (_exact_root(part, n) for part in (abs(base.numerator), base.denominator))
        if base >= 0 and above is not None and below is not None:
            return Fraction(above, below)
    value = inexact(base)
    if n % 2 and is_real(value) and value < 0:
        return -mp().root(-value, n)
    return mp().root(value, n) if n != 2 else mp().sqrt(value)


def _exact_root(value: int, n: int) -> int | None:
    """The integer whose `n`-th power is `value`, if there is one."""
    if value.bit_length() > MAX_BITS:
        return None
    if n == 2:
        root = math.isqrt(value)
    else:
        root = round(float(mp().root(value, n))) if value.bit_length() < 1000 else 0
    return root if root**n == value else None


def _factorial(value: Value) -> Value:
    if isinstance(value, Fraction) and value.denominator == 1:
        if value < 0:
            raise UndefinedError
        if value <= MAX_FACTORIAL:
            return Fraction(math.factorial(int(value)))
    if not is_real(value) or abs(inexact(value)) > 50_000:
        raise UndefinedError
    return mp().gamma(inexact(value) + 1)


def _binomial(above: Value, below: Value) -> Value:
    if all(isinstance(v, Fraction) and v.denominator == 1 and 0 <= v <= 1000 for v in (above, below)):
        return Fraction(math.comb(int(above), int(below)))
    a, b = inexact(above), inexact(below)
    if not (is_real(a) and is_real(b)) or max(abs(a), abs(b)) > 50_000:
        raise UndefinedError
    return mp().binomial(a, b)


def _remainder(value: Value, modulus: Value) -> Value:
    if not all(isinstance(v, Fraction) and v.denominator == 1 for v in (value, modulus)) or modulus <= 0:
        raise UndefinedError
    return value % modulus


def _determinant(items: list[Value]) -> Value:
    """The determinant of a square matrix, given row by row: by elimination."""
    size = math.isqrt(len(items))
    if not all(isinstance(item, Fraction) for item in items):
        items = list(map(inexact, items))
    rows = [items[n * size : (n + 1) * size] for n in range(size)]
    result: Value = Fraction(1)
    for n in range(size):
        pivot = next((k for k in range(n, size) if rows[k][n]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != n:
            rows[n], rows[pivot], result = rows[pivot], rows[n], -result
        result = _both([result, rows[n][n]], lambda a, b: a * b)
        for row in rows[n + 1 :]:
            factor = row[n] / rows[n][n]
            row[n:] = [a - factor * b for a, b in zip(row[n:], rows[n][n:], strict=True)]
    return result


def _rounded(name: str, value: Value) -> Value:
    if not is_real(value):
        raise UndefinedError
    if isinstance(value, Fraction):
        return Fraction(math.floor(value) if name == "floor" else math.ceil(value))
    if mp().mag(value) > 100:
        raise UndefinedError
    rounded = mp().floor(value) if name == "floor" else mp().ceil(value)
    return Fraction(int(rounded))


def _log(name: str, args: list[Value]) -> Value:
    value = inexact(args[0])
    if value == 0:
        raise UndefinedError
    if len(args) == 2:
        base = inexact(args[1])
        return mp().log(value) / mp().log(base)
    if name == "log":
        # A base that is not written is 10 for some and e for others: laws that hold in every base hold here.
        return mp().log(value) * _ANY_BASE.numerator / _ANY_BASE.denominator
    return mp().log10(value) if name == "lg" else mp().log(value)


_ANY_BASE = Fraction(10_007, 8_191)


_NAMES = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arccot": "acot", "arcsec": "asec",
    "arccsc": "acsc",
    "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "sgn": "sign",
}  # fmt: skip
_FUNCTIONS = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "cot",
        "sec",
        "csc",
        "asin",
        "acos",
        "atan",
        "acot",
        "asec",
        "acsc",
        "sinh",
        "cosh",
        "tanh",
        "coth",
        "asinh",
        "acosh",
        "atanh",
        "exp",
        "sign",
    ]
)


def _function(name: str, value: Value) -> Value:
    name = _NAMES.get(name, name)
    context = mp()
    if name not in _FUNCTIONS or context.isinf(value) or (value and context.mag(value) > 60):
        raise UndefinedError
    if name in ("exp", "sinh", "cosh") and abs(value) > MAX_EXPONENT // 2:
        raise UndefinedError
    result = getattr(context, name)(value)
    # sin π is not 0 but 1e-51; a value that small is a rounded zero.
    if is_real(result) and abs(result) < context.mpf(10) ** -45:
        return Fraction(0)
    if name in ("tan", "sec", "cot", "csc") and abs(result) > context.mpf(10) ** 40:
        raise UndefinedError
    return result
