"""Code fences of Markdown."""

from __future__ import annotations

from ..caching.regex import regex

__all__ = ["closes_fence", "opening_fence"]

_FENCE = regex(r"[\s>]*(?:(?:[-*+]|\d+[.)])\s+)?(`{3,}|~{3,})")


def opening_fence(line: str) -> str:
    """The code fence that `line` opens, else empty; backticks that close on the same line are inline code."""
    match = _FENCE.match(line)
    return match[1] if match and not (match[1][0] == "`" and "`" in line[match.end() :]) else ""


def closes_fence(line: str, fence: str) -> bool:
    """Whether `line` closes the code fence."""
    match = _FENCE.match(line)
    return match is not None and match[1].startswith(fence) and not line[match.end() :].strip()
