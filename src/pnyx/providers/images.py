"""Which models read images, by the names that hosts give them; settings say it for others."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib import resources
from typing import Any

__all__ = ["image_factor", "reads_images"]

USUAL = 1600
"""The most tokens that hosts count for an image, but for the models in the table's `tokens`."""


@lru_cache(maxsize=256)  # every run asks for each of its seats, and a name is compared with 88 patterns
def reads_images(model: str) -> bool:
    """Whether the model of this name at its host reads images; False if it is not known."""
    name, table = _plain(model), _table()
    return any(fnmatchcase(name, one) for one in table["read"]) and not any(
        fnmatchcase(name, one) for one in table["read_not"]
    )


def image_factor(model: str) -> float:
    """By what a model's host multiplies the usual number of tokens of an image."""
    name = _plain(model)
    return next((most / USUAL for one, most in _table()["tokens"].items() if fnmatchcase(name, one)), 1.0)


def _plain(model: str) -> str:
    """The name without the maker before it, as in "openai/gpt-4o"."""
    return model.lower().rpartition("/")[2]


@cache
def _table() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("image_models.json").read_text("utf-8")
    table: dict[str, Any] = json.loads(text)
    return table
