"""Reading what a model gave a tool as arguments. What is wrong becomes a `ToolError` that tells it so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import ToolError

__all__ = ["number", "text"]


def text(arguments: Mapping[str, Any], name: str) -> str:
    """The text called `name`, which must be there and not blank."""
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ToolError(f"{name} must be given, as text that is not empty")
    return value


def number(arguments: Mapping[str, Any], name: str, default: int, most: int) -> int:
    """The whole number called `name`, brought between 1 and `most`; `default` where it is not given."""
    value = arguments.get(name)
    if value is None:
        return default
    try:
        # Models write 5, 5.0 and "5" for the same thing.
        wanted = int(value)
    except (TypeError, ValueError, OverflowError):
        raise ToolError(f"{name} must be a whole number from 1 to {most}") from None
    return min(max(wanted, 1), most)
