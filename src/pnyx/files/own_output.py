"""Whether a file is what this process writes: `pnyx ask --diff > out.md` is no question about out.md."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["is_own_output"]

STDOUT, STDERR = 1, 2


def is_own_output(path: Path) -> bool:
    """Whether stdout or stderr of this process writes to the file."""
    try:
        found = path.stat()
    except OSError:
        return False
    return any(_is_open(number, found) for number in (STDOUT, STDERR))


def _is_open(number: int, found: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.fstat(number), found)
    except OSError:  # closed
        return False
