"""How many keys the objects of a JSON body have, counted while it arrives.

A body of 11 MB can have 600,000 keys, and reading and checking it then takes ten seconds and a gigabyte.
"""

from __future__ import annotations

import re

from ...core.caching.regex import regex

__all__ = ["MOST_KEYS", "KeyCount"]

MOST_KEYS = 100_000
"""Keys of all objects of a body. 10,000 messages with two parts each have 80,000."""
_STRINGS = regex(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+("|\\?\Z)', re.DOTALL)
"""A string, or the first part of one at the end of what has arrived."""


class KeyCount:
    """Counts the colons outside strings. keys: so far. is_utf8: False if a byte is zero, as half of those of
    UTF-16 and UTF-32 are, which JSON may not be in, and no text in UTF-8 that is JSON."""

    def __init__(self) -> None:
        self.keys, self.is_utf8 = 0, True
        self._before = b""

    def add(self, data: bytes) -> None:
        """Count the next part of the body."""
        self.is_utf8 = self.is_utf8 and b"\0" not in data
        rest, strings = _STRINGS.subn(rb"\1", self._before + data)
        self.keys += rest.count(b":")
        # What is left of a string that has not ended is nothing, or the backslash before its next character.
        is_inside = strings > rest.count(b'"')
        self._before = b'"' + rest[-1:] if is_inside and rest.endswith(b"\\") else b'"' if is_inside else b""
