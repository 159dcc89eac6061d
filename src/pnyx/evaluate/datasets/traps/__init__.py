"""Questions that are answered wrong when answered fast: classic traps, and classics altered to be none."""

from __future__ import annotations

from ..drawing import Dataset
from . import altered, chances, numbers, reading, relations, times, words

__all__ = ["DATASET"]

CATEGORIES = {
    "arithmetic": numbers.ARITHMETIC,
    "altered": altered.ALTERED,
    "letters": words.LETTERS,
    "chance": chances.CHANCE,
    "numbers": numbers.NUMBERS,
    "family": relations.FAMILY,
    "time": times.TIME,
    "reading": reading.READING,
}
DATASET = Dataset(CATEGORIES, size=sum(map(len, CATEGORIES.values())))
