"""What a stream shows in place of characters that its encoding lacks, such as ISO-8859-1 or ASCII."""

from __future__ import annotations

import codecs
import unicodedata

__all__ = ["ERRORS"]

ERRORS = "pnyx.readable"
"""The name of the error handler, for streams."""
SIGNS: dict[int, int | str] = {ord("→"): "->", ord("←"): "<-"}
SIGNS |= str.maketrans("·•…‘’“”‐–—−×✓✗↻█─│", "-*.''\"\"----x+x~#-|")  # noqa: RUF001 (they look alike)
"""Most have one column too, so that tables and the live view stay as they are."""


def _readable(error: UnicodeError) -> tuple[str, int]:
    """Return a sign that looks alike, a letter without its accent, or else an escape.

    Other signs are never replaced by a part of theirs: a power would become a digit, and ≠ would become =.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_ascii, error.object[error.start : error.end])), error.end


def _ascii(char: str) -> str:
    shown = char.translate(SIGNS)
    if char.isalpha():
        shown = "".join(
            part for part in unicodedata.normalize("NFD", char) if not unicodedata.combining(part)
        )
    return shown if shown.isascii() else char.encode("ascii", "backslashreplace").decode()


codecs.register_error(ERRORS, _readable)
