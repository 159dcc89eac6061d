"""Replies in the form of Bedrock's Converse API, as gateways pass them on: JSON, or JSON in events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .reply import Reader, ToolCallParts, items, mapping, text_of

__all__ = ["BLOCK", "EVENTS", "ConverseReader"]

EVENTS = frozenset(
    ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata")
)
"""Names of its events, each the only key of a document."""
BLOCK = "contentBlockIndex"
"""A key of events whose documents lack their names, which Bedrock's own stream has beside them."""


class ConverseReader(Reader):
    def read(self, document: Mapping[str, Any]) -> Iterator[str]:
        self.any = True
        message = mapping(mapping(document.get("output")).get("message"))
        for place, block in enumerate(items(message.get("content"))):
            yield from self._block(mapping(block), place)
        events = [document.get("contentBlockStart"), document.get("contentBlockDelta")]
        for event in map(mapping, (*events, document if BLOCK in document else None)):
            for key in ("start", "delta"):
                yield from self._block(mapping(event.get(key)), event.get(BLOCK))
        self.report_usage(document.get("usage") or mapping(document.get("metadata")).get("usage"))
        self.end(document.get("stopReason") or mapping(document.get("messageStop")).get("stopReason"))

    def _block(self, block: Mapping[str, Any], place: object) -> Iterator[str]:
        """Read a block, its start or a piece of it."""
        thought = mapping(block.get("reasoningContent"))
        self.think(mapping(thought.get("reasoningText")).get("text") or thought.get("text"))
        yield from self.piece(block.get("text"))
        for part in items(mapping(block.get("citationsContent")).get("content")):
            yield from self.piece(mapping(part).get("text"))
        if call := mapping(block.get("toolUse")):
            tool = self.tools.setdefault(place if isinstance(place, int) else None, ToolCallParts())
            tool.id = tool.id or text_of(call.get("toolUseId"))
            tool.name = tool.name or text_of(call.get("name"))
            written = call.get("input")
            if isinstance(written, str):
                tool.written.append(written)
            elif isinstance(written, Mapping):
                tool.value = written
