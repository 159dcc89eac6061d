"""Replies of the Anthropic dialect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .reply import Reader, ToolCallParts, items, kind_of, mapping, text_of

__all__ = ["AnthropicReader"]


_SIGNS = {"input": "tool_use", "thinking": "thinking"}
"""A field of a block -> the type of the block, which it may lack."""


class AnthropicReader(Reader):
    """Blocks may come whole, as starts and deltas, or as deltas alone; with or without their index."""

    def __init__(self) -> None:
        super().__init__()
        self._id = ""
        self._of_host: set[object] = set()
        """Places of blocks of tools that the host runs."""

    def read(self, document: Mapping[str, Any]) -> Iterator[str]:
        kind = text_of(document.get("type"))
        message = mapping(document.get("message"))
        if kind == "message_start" or message:
            yield from self._message(message)
        elif "delta" in document or "content_block" in document:
            yield from self._block_event(document)
        elif kind == "message_stop":
            self.done = True
        elif "content" in document or kind == "message":
            yield from self._message(document)
        self.report_usage(document.get("usage"))

    def _message(self, message: Mapping[str, Any]) -> Iterator[str]:
        id = text_of(message.get("id"))
        if id and self._id and id != self._id and not self.finish:
            self.forget()  # a gateway has asked another host, which starts again
        self._id = id or self._id
        self.model = text_of(message.get("model")) or self.model
        self.report_usage(message.get("usage"))
        content = message.get("content")
        self.any = self.any or isinstance(content, list | str | Mapping)
        if isinstance(content, str):
            yield from self.piece(content)
        for place, block in enumerate(items(content)):
            yield from self._block(place, mapping(block) or {"type": "text", "text": block})
        self._end(message)

    def _end(self, holder: Mapping[str, Any]) -> None:
        """Read why the reply ended, and in which words the host refuses to go on."""
        self.end(holder.get("stop_reason"))
        if words := text_of(mapping(holder.get("stop_details")).get("explanation")):
            self.refusal.append(words)

    def _block_event(self, document: Mapping[str, Any]) -> Iterator[str]:
        index, self.any = document.get("index"), True
        place = index if isinstance(index, int | str) else None
        if block := mapping(document.get("content_block")):
            yield from self._block(place, block)
        delta = mapping(document.get("delta"))
        self._end(delta)
        yield from self.piece(delta.get("text"))
        self.think(delta.get("thinking"))
        if isinstance(written := delta.get("partial_json"), str) and place not in self._of_host:
            tool = self.tools.get(place) or next(reversed(self.tools.values()), None)
            if tool is not None:
                tool.written.append(written)
        self._cite(delta.get("citation"))

    def _block(self, place: object, block: Mapping[str, Any]) -> Iterator[str]:
        """Read a block, or the start of one."""
        kind = kind_of(block, _SIGNS)
        self._of_host.discard(place)
        if kind in ("text", ""):
            for citation in items(block.get("citations")):
                self._cite(citation)
            yield from self.piece(block.get("text"))
        elif kind == "thinking":
            self.think(block.get("thinking"))
        elif kind == "tool_use":
            tool = ToolCallParts(text_of(block.get("id")), text_of(block.get("name")))
            self.tools[(place, len(self.tools)) if place in self.tools else place] = tool
            arguments = block.get("input")
            if isinstance(arguments, str):
                tool.written.append(arguments)
            elif isinstance(arguments, Mapping) and arguments:
                tool.value = arguments
        elif kind.endswith(("_tool_use", "_tool_result")):  # of a tool that the host runs
            self._of_host.add(place)
            self.searches += block.get("name") == "web_search"
            self.interrupt()

    def _cite(self, citation: object) -> None:
        self.cite(mapping(citation).get("url"))
