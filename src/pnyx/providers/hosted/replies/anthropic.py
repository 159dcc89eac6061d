"""Replies of the Anthropic dialect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ...base import FinishReason
from .reply import Reader, ToolCallParts, items, mapping, text_of

__all__ = ["AnthropicReader"]


class AnthropicReader(Reader):
    FINISHES: ClassVar[Mapping[str, FinishReason]] = {
        **dict.fromkeys(("max_tokens", "model_context_window_exceeded", "pause_turn"), "length"),
        **dict.fromkeys(("refusal", "content_filter", "safety"), "filter"),
        "tool_use": "tool",
    }
    FAILURES: ClassVar[Mapping[str, int]] = {"error": 500, "overloaded": 529}

    def read(self, document: Mapping[str, Any]) -> Iterator[str]:
        kind = text_of(document.get("type"))
        message = mapping(document.get("message"))
        if kind == "message_start" or message:
            yield from self._message(message)
        elif kind in ("content_block_start", "content_block_delta") or "delta" in document:
            yield from self._block_event(document)
        elif kind == "message_stop":
            self.done = True
        elif "content" in document or kind == "message":
            yield from self._message(document)
        self.report_usage(document.get("usage"))

    def _message(self, message: Mapping[str, Any]) -> Iterator[str]:
        self.model = text_of(message.get("model")) or self.model
        self.report_usage(message.get("usage"))
        content = message.get("content")
        self.any = self.any or isinstance(content, list | str)
        if isinstance(content, str):
            yield from self.piece(content)
        for place, block in enumerate(items(content)):
            yield from self._block(place, mapping(block) or {"type": "text", "text": block})
        self._stop(message)

    def _stop(self, found: Mapping[str, Any]) -> None:
        self.finish = text_of(found.get("stop_reason")) or self.finish

    def _block_event(self, document: Mapping[str, Any]) -> Iterator[str]:
        place, self.any = document.get("index"), True
        if block := mapping(document.get("content_block")):
            yield from self._block(place, block)
        delta = mapping(document.get("delta"))
        self._stop(delta)
        yield from self.piece(delta.get("text"))
        self.think(delta.get("thinking"))
        if isinstance(written := delta.get("partial_json"), str):
            tool = self.tools.get(place)
            if tool is not None:
                tool.written.append(written)
        self._cite(delta.get("citation"))

    def _block(self, place: object, block: Mapping[str, Any]) -> Iterator[str]:
        """Read a block, or the start of one."""
        kind = text_of(block.get("type"))
        if kind in ("text", ""):
            for citation in items(block.get("citations")):
                self._cite(citation)
            yield from self.piece(block.get("text"))
        elif kind == "thinking":
            self.think(block.get("thinking"))
        elif kind == "tool_use":
            tool = self.tools.setdefault(place, ToolCallParts())
            tool.id, tool.name = text_of(block.get("id")), text_of(block.get("name"))
            given = block.get("input")
            if isinstance(given, str):
                tool.written.append(given)
            elif isinstance(given, Mapping) and given:
                tool.value = given
        elif kind == "server_tool_use" or kind.endswith("_tool_result"):
            self.searches += block.get("name") == "web_search"
            self.interrupt()

    def _cite(self, citation: object) -> None:
        self.cite(mapping(citation).get("url"))
