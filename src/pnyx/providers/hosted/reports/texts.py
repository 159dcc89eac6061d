"""The documents in the text of a report."""

from __future__ import annotations

import ast
import json
from contextlib import suppress
from typing import Any

from ....core.caching.regex import regex

__all__ = ["first_document", "read_document"]


def first_document(body: str) -> Any:
    """The JSON in `body`, or the first of several: a relay may send a report twice, then as an event."""
    try:
        return json.loads(body)
    except json.JSONDecodeError as exc:
        if exc.msg != "Extra data" or body.lstrip()[:1] != "{":
            raise
        return json.loads(body[: exc.pos])


def read_document(text: str) -> Any:
    """A document as JSON has it, or as an exception of a client in Python does; None for other text."""
    text = text.strip()
    is_python = text.startswith(("{'", "[{'")) and not _ODD_ESCAPE.search(text)
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        return (ast.literal_eval if is_python else json.loads)(text) if text[:1] in ("{", "[") else None
    return None


_ODD_ESCAPE = regex(r"\\[^\\'\"abfnrtvxuUN0-7]")
"""Python would warn of it."""
