"""A short body that unpacks to a long one."""

from __future__ import annotations

import gzip
from functools import cache

__all__ = ["bomb"]


@cache
def bomb() -> bytes:
    """An object of JSON of 300 MB that does not end, compressed; made for the first test that sends it."""
    return gzip.compress(b'{"a": "' + b"x" * 300_000_000)
