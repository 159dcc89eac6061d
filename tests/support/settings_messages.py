"""Messages about settings files, without the lines that `tests/config/test_key_lines.py` checks."""

from __future__ import annotations

import re

__all__ = ["without_lines"]


def without_lines(message: str) -> str:
    return re.sub(r"\.toml:\d+", ".toml", message)
