"""Streams of Cohere's own API. Its whole replies are close enough to OpenAI's for that reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .reply import Reader, ToolCallParts, items, mapping, text_of

__all__ = ["EVENTS", "CohereReader"]

EVENTS = frozenset(
    (
        *("message-start", "message-end", "content-start", "content-delta", "content-end", "tool-plan-delta"),
        *("tool-call-start", "tool-call-delta", "tool-call-end", "citation-start", "citation-end"),
    )
)
"""Types of its events."""


class CohereReader(Reader):
    def read(self, document: Mapping[str, Any]) -> Iterator[str]:
        self.any = True
        delta = mapping(document.get("delta"))
        message = mapping(delta.get("message"))
        content = message.get("content")
        if isinstance(content, Mapping):
            self.think(content.get("thinking"))
            yield from self.piece(content.get("text"))
        self.think(message.get("tool_plan"))
        for call in items(message.get("tool_calls")):
            self._call(mapping(call), document.get("index"))
        for citation in items(message.get("citations")):
            for source in items(mapping(citation).get("sources")):
                self.cite(mapping(mapping(source).get("document")).get("url"))
        self.report_usage(delta.get("usage"))
        self.end(delta.get("finish_reason"))

    def failure_words(self, document: Mapping[str, Any]) -> str:
        return text_of(mapping(document.get("delta")).get("error"))

    def _call(self, call: Mapping[str, Any], index: object) -> None:
        place = index if isinstance(index, int | str) else None
        tool = self.tools.setdefault(place, ToolCallParts())
        function = mapping(call.get("function"))
        tool.id, tool.name = tool.id or text_of(call.get("id")), tool.name or text_of(function.get("name"))
        if isinstance(arguments := function.get("arguments"), str):
            tool.written.append(arguments)
