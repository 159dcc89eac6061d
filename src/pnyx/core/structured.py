"""Reading a JSON object out of what a model wrote."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["read_object"]

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.DOTALL | re.IGNORECASE)


def read_object(text: str) -> dict[str, Any] | None:
    """The JSON object in `text`: all of it, a fenced block, or the first bare one; None without one."""
    decoder = json.JSONDecoder()
    for candidate in (text.strip(), *(m.strip() for m in _FENCE.findall(text))):
        if candidate.startswith("{"):
            try:
                found, _ = decoder.raw_decode(candidate)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, dict):
                return found
    brace = text.find("{")
    while brace >= 0:
        try:
            found, _ = decoder.raw_decode(text, brace)
        except (ValueError, RecursionError):
            brace = text.find("{", brace + 1)
            continue
        return found if isinstance(found, dict) else None
    return None
