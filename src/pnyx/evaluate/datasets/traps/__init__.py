"""Questions whose obvious answer is wrong: classic traps, and classics changed so that the trap is gone."""

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
