"""The form of a reply, which may be that of another API than the one that was asked.

Gateways pass on what the host behind them sends, and some hosts know only one form for all of their models.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import cohere, converse
from .anthropic import AnthropicReader
from .google import GoogleReader
from .openai import OpenAIReader
from .reply import Reader, mapping
from .responses import ResponsesReader

__all__ = ["Reply"]

_ANTHROPIC_EVENTS = ("message_start", "content_block_start", "content_block_delta")


class Reply:
    """One reply, read by the reader of its own form.

    reader: of the dialect, until a document shows another form.
    """

    def __init__(self, reader: type[Reader]) -> None:
        self.reader = reader()

    def add(self, document: Any) -> Iterator[str]:
        """Read a document; see `Reader.add`."""
        if not self.reader.any and isinstance(document, Mapping):
            form = _form(document)
            if form is not None and not isinstance(self.reader, form):
                self.reader = form()
        return self.reader.add(document)


def _form(document: Mapping[str, Any]) -> type[Reader] | None:
    """The reader for a document of a known form; None if it shows none."""
    kind = document.get("type")
    if "choices" in document:
        return OpenAIReader
    if "candidates" in document or "promptFeedback" in document:
        return GoogleReader
    if kind in _ANTHROPIC_EVENTS or (kind == "message" and isinstance(document.get("content"), list)):
        return AnthropicReader
    if document.get("object") == "response" or (isinstance(kind, str) and kind.startswith("response.")):
        return ResponsesReader
    if kind in cohere.EVENTS:
        return cohere.CohereReader
    if converse.EVENTS & document.keys() or "message" in mapping(document.get("output")):
        return converse.ConverseReader
    return None
