"""The line numbers of a diff."""

from __future__ import annotations

import re

from ..core.caching.regex import regex

__all__ = ["is_diff", "number_diff"]

_HUNK = regex(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_DIFF = regex(r"^(diff --git |--- .+\n\+\+\+ .+\n@@ -\d)", re.MULTILINE)


def is_diff(text: str) -> bool:
    """Whether a text is a unified diff, such as `git diff` and `diff -u` print it."""
    return _DIFF.search(text) is not None


def number_diff(text: str) -> str:
    """`text`, a unified diff, with the number of each line in the new file, as in "12| +x = 1".

    Removed lines and headers have no number.
    """
    out = []
    old = new = number = 0  # lines that the hunk still has of either file, and the number of the next one
    for line in text.split("\n"):
        if not (old > 0 or new > 0):
            if hunk := _HUNK.match(line):
                old, new = int(hunk[1] or 1), int(hunk[3] or 1)
                number = int(hunk[2])
            out.append(line)
        elif line.startswith("-"):
            out.append(f"| {line}")
            old -= 1
        elif line.startswith("\\"):
            out.append(f"| {line}")
        else:
            out.append(f"{number}| {line}")
            number += 1
            new -= 1
            old -= not line.startswith("+")
    return "\n".join(out)
