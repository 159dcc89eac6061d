"""Functions of a text that remember their last results."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Concatenate, ParamSpec, TypeVar

__all__ = ["CHARACTERS", "remembered"]

P = ParamSpec("P")
R = TypeVar("R")
ENTRIES = 128
"""Results that are remembered. A decision reads each text several times, one right after the other."""
CHARACTERS = 10_000
"""Characters of a text whose result is remembered, so that the texts take little memory."""


def remembered(function: Callable[Concatenate[str, P], R]) -> Callable[Concatenate[str, P], R]:
    """Decorate a pure function of a text and other hashable arguments, whose result nobody changes."""
    cached: Callable[Concatenate[str, P], R] = lru_cache(maxsize=ENTRIES)(function)  # type: ignore[assignment]

    @wraps(function)
    def call(text: str, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return (cached if len(text) <= CHARACTERS else function)(text, *args, **kwargs)

    return call
