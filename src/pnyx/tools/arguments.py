"""Reads the arguments of a tool call. A wrong one raises `ToolError` with a message for the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import ToolError

__all__ = ["number", "text"]


def text(arguments: Mapping[str, Any], name: str) -> str:
    """Return the text argument `name`. Raises `ToolError` if it is missing, blank or not text."""
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ToolError(f"{name} is required and must be non-empty text")
    return value


def number(arguments: Mapping[str, Any], name: str, default: int, most: int) -> int:
    """Return the integer argument `name`, clamped to 1 … `most`, or `default` if it is missing."""
    value = arguments.get(name)
    if value is None:
        return default
    try:
        # Models write 5, 5.0 and "5" for the same number.
        parsed = int(value)
    except (TypeError, ValueError, OverflowError):
        raise ToolError(f"{name} must be a whole number from 1 to {most}") from None
    return min(max(parsed, 1), most)
