"""The test sets that pnyx brings itself: questions of its own making, with targets worked out in code."""

from __future__ import annotations

from importlib import import_module

from ...errors import UsageError
from ..items import Item
from .drawing import Dataset, draw

__all__ = ["NAMES", "load"]

NAMES: tuple[str, ...] = ("small", "traps", "hard")


def load(name: str, *, seed: int = 0, limit: int | None = None) -> list[Item]:
    """The questions of a test set, the same ones for the same seed; `limit` gives the first of them.

    `small` is generated and has as many as asked for, 240 if not told; the others have a fixed number.
    Raises `UsageError` for an unknown name and for a limit that gives no questions.
    """
    if name not in NAMES:
        raise UsageError(f"no test set {name!r}; there are {', '.join(NAMES)}")
    if limit is not None and limit < 1:
        raise UsageError(f"a limit of {limit} leaves no questions")
    dataset: Dataset = import_module(f"{__name__}.{name}").DATASET
    return draw(name, dataset, seed, limit)
