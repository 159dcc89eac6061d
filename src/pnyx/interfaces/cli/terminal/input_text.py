"""The text of a question on stdin, or typed."""

from __future__ import annotations

from ....errors import UsageError

__all__ = ["MOST_BYTES", "as_text"]

MOST_BYTES = 4 << 20
"""Longest question on stdin; the largest context windows hold about as much."""


def as_text(raw: bytes) -> str:
    """Decode a question, with CRLF as LF. Raises `UsageError` if it is too long or not UTF-8 text."""
    if len(raw) > MOST_BYTES:
        raise UsageError(f"the question on stdin is longer than {MOST_BYTES >> 20} MiB")
    try:
        question = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as exc:
        raise UsageError(f"the question on stdin is not UTF-8 (byte {exc.start})") from exc
    if "\0" in question:
        raise UsageError("the question on stdin is not text: it contains NUL")
    return question
