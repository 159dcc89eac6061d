"""Expressions and the values that an answer can state, as small immutable trees."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

__all__ = [
    "NODES",
    "Apply",
    "Bindings",
    "Comparison",
    "Constant",
    "Difference",
    "Group",
    "Matrix",
    "Node",
    "Number",
    "Union",
    "Value",
    "Variable",
]


@dataclass(frozen=True, slots=True)
class Number:
    value: Fraction


@dataclass(frozen=True, slots=True)
class Constant:
    """name: pi, e, i or inf."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """word: whether it is a word of several letters, which may be prose."""

    name: str
    word: bool = False


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator or a function with its arguments: `+`, `*`, `/`, `^`, `neg`, `±`, `!`, `deg`, `sin`, …"""

    name: str
    args: tuple[Node, ...]


Node: TypeAlias = "Number | Constant | Variable | Apply"
NODES = (Number, Constant, Variable, Apply)
"""Expressions with one value."""


@dataclass(frozen=True, slots=True)
class Group:
    """Values in brackets, or separated by commas without any.

    opens, closes: the brackets, `⦃` for a set; empty for a bare list.
    """

    opens: str
    closes: str
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    rows: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True, slots=True)
class Union:
    """A union of sets."""

    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """The set `whole` without `part`."""

    whole: Value
    part: Value


@dataclass(frozen=True, slots=True)
class Comparison:
    """A chain `terms[0] signs[0] terms[1] …`; `parts` of several are joined by `joint`."""

    terms: tuple[Value, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conditions:
    """Comparisons that hold together (`and`) or one of which holds (`or`)."""

    joint: Literal["and", "or", ","]
    parts: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True)
class Bindings:
    """Names with their values, in order: `x = 1, y = 2`. One name has all of its values: `x = 1, x = 2`."""

    values: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Based:
    """Digits in a number base, as in `1101_2`."""

    digits: str
    base: int


Value: TypeAlias = "Node | Group | Matrix | Union | Difference | Comparison | Conditions | Bindings | Based"
