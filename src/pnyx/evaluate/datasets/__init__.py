"""The test sets included in pnyx: its own questions, with targets computed in code."""

from __future__ import annotations

from importlib import import_module

from ...errors import UsageError
from ..items import Item
from .drawing import Dataset, draw

__all__ = ["NAMES", "load"]

NAMES: tuple[str, ...] = ("small", "traps", "hard")


def load(name: str, *, seed: int = 0, limit: int | None = None) -> list[Item]:
    """The questions of a test set, the same ones for the same seed; at most `limit` of them.

    `small` is generated and returns as many as `limit` requests, 240 by default; the others have a fixed
    number. Raises `UsageError` for an unknown name and for a limit below 1.
    """
    if name not in NAMES:
        raise UsageError(f"unknown test set {name!r}; choose one of: {', '.join(NAMES)}")
    if limit is not None and limit < 1:
        raise UsageError(f"the limit is {limit}; it must be at least 1")
    dataset: Dataset = import_module(f"{__name__}.{name}").DATASET
    return draw(name, dataset, seed, limit)
