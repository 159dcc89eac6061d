"""Rough values of expressions, which tell most pairs of answers apart at once."""

from __future__ import annotations

from functools import lru_cache

from .compare import settled
from .evaluate import UndefinedError, values, variables
from .nodes import NODES
from .statements import read_maths

__all__ = ["differ_clearly", "estimate"]


@lru_cache(maxsize=4096)
def estimate(text: str) -> complex | None:
    """A rough value of an expression without variables, to tell most pairs apart at once; None for others."""
    rough = _rough(text)
    return rough[1][0] if rough and not rough[0] else None


def differ_clearly(one: str, two: str) -> bool:
    """Whether two expressions with the same variables, or without any, have clearly different values.

    It looks at texts, so that trees need no hashing. It decides most pairs of a vote.
    """
    mine, theirs = _rough(one), _rough(two)
    if mine is None or theirs is None or mine[0] != theirs[0]:
        return False
    pairs = zip(mine[1], theirs[1], strict=True)
    return any(abs(a - b) > 1e-6 * max(1, abs(a), abs(b)) for a, b in pairs)


@lru_cache(maxsize=4096)
def _rough(text: str) -> tuple[frozenset[str], tuple[complex, ...]] | None:
    """The variables of an expression, and its rough values; None if it is none, or has no such values."""
    value = read_maths(text)
    if not isinstance(value, NODES) or settled(value) != value:
        return None
    try:
        found = tuple(complex(one) for one in values(value))
        # A larger number is too large for the size of a complex one.
        return (variables(value), found) if all(abs(one) < 1e150 for one in found) else None
    except (OverflowError, UndefinedError, ValueError):
        return None
