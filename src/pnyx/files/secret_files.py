"""Which files look like secrets: they are read only if they are named, and then with a warning."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from pathlib import PurePath

from ..core.caching.regex import regex

__all__ = ["looks_secret"]

SAMPLE = 1 << 20


def looks_secret(name: str, data: bytes = b"") -> bool:
    """Whether a file's name, or what it holds, is that of a key or of a file of passwords."""
    last, table = PurePath(name).name.lower(), _table()
    if any(fnmatchcase(last, one) for one in table["names"]):
        return not any(fnmatchcase(last, one) for one in table["examples"])
    text = data[:SAMPLE].decode("ascii", "replace")
    return any(regex(one).search(text) for one in table["contents"])


@cache
def _table() -> dict[str, list[str]]:
    text = resources.files(__package__).joinpath("secret_names.json").read_text("utf-8")
    table: dict[str, list[str]] = json.loads(text)
    return table
