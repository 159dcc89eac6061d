"""Replies in the form of OpenAI's Responses API, which some gateways send to any request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..failures import failure, report
from .reply import Reader, ToolCallParts, items, kind_of, mapping, text_of

__all__ = ["ResponsesReader", "has_items"]

_ENDS = {"completed": "stop"}
_LAST = {"response.completed": "completed", "response.incomplete": "incomplete"}
"""Events that end a stream -> the status of their response, which it may lack."""
_BEFORE_ANSWER = ("commentary", "analysis")
"""Phases of messages that are no answer."""
_WHOLE = {
    "response.output_text.done": "text",
    "response.refusal.done": "refusal",
    "response.reasoning_text.done": "text",
    "response.function_call_arguments.done": "arguments",
}
"""Events that repeat what came in deltas, or say it without any -> where they say it."""


_SIGNS = {"arguments": "function_call", "summary": "reasoning", "content": "message"}
"""A field of an item of output -> the type of the item, which it may lack."""


def has_items(document: Mapping[str, Any]) -> bool:
    """Whether a document has items of output, which show its form where nothing else does."""
    return any(mapping(item).get("type") in _SIGNS.values() for item in items(document.get("output")))


class ResponsesReader(Reader):
    """Items of output may come whole, as deltas, or as both, and again in the last event."""

    def __init__(self) -> None:
        super().__init__()
        self._streamed: set[object] = set()
        """Places of items whose deltas were read, and the types of these."""
        self._places: dict[str, object] = {}
        """The id of an item -> its place."""
        self._commentary: set[object] = set()
        """Places of messages before the answer."""

    def read(self, document: Mapping[str, Any]) -> Iterator[str]:
        kind = text_of(document.get("type"))
        self.any = True
        if response := mapping(document.get("response")):
            yield from self._response(response, _LAST.get(kind, ""))
        elif document.get("object") == "response" or "output_text" in document or has_items(document):
            yield from self._response(document)
        elif kind.endswith(".delta"):
            self._streamed |= {kind, self._place(document)}
            yield from self._delta(kind, document, document.get("delta"))
        elif whole := document.get(_WHOLE.get(kind, "")):
            kind = f"{kind.removesuffix('.done')}.delta"
            if self._streamed.isdisjoint((kind, self._place(document))):
                self._streamed.add(self._place(document))
                yield from self._delta(kind, document, whole)
        elif kind == "response.output_item.added":
            yield from self._start(mapping(document.get("item")), self._place(document))
        elif kind == "response.output_item.done":
            item, place = mapping(document.get("item")), self._place(document)
            if place not in self._streamed or self._is_new_call(item):
                self._streamed.add(place)
                yield from self._item(item, place)

    def _response(self, response: Mapping[str, Any], last: str = "") -> Iterator[str]:
        if found := report({"error": response.get("error")}):
            raise failure(found)
        self.model = text_of(response.get("model")) or self.model
        self.report_usage(response.get("usage"))
        # The last event of a stream repeats all that the others said.
        if not (self.text or self.reasoning or self.refusal or self.tools):
            for place, item in enumerate(items(response.get("output"))):
                yield from self._item(mapping(item), place)
        if not (self.text or self.refusal):
            yield from self.piece(text_of(response.get("output_text")))
        status = text_of(response.get("status")) or last
        if status not in ("", "in_progress", "queued"):
            reason = text_of(mapping(response.get("incomplete_details")).get("reason"))
            self.end(reason or _ENDS.get(status, status))

    def _delta(self, kind: str, document: Mapping[str, Any], delta: object) -> Iterator[str]:
        if kind == "response.output_text.delta" and self._place(document) not in self._commentary:
            yield from self.piece(delta)
        elif kind == "response.refusal.delta":
            self.refusal.append(text_of(delta))
        elif kind.startswith(("response.reasoning", "response.output_text")):
            self.think(delta)
        elif kind == "response.function_call_arguments.delta" and isinstance(delta, str):
            self.tools.setdefault(self._place(document), ToolCallParts()).written.append(delta)

    def _start(self, item: Mapping[str, Any], place: object) -> Iterator[str]:
        """Read the start of an item, whose content follows in deltas or with its end."""
        if item.get("phase") in _BEFORE_ANSWER:
            self._commentary.add(place)
        if item.get("type") == "function_call":
            tool = self.tools.setdefault(place, ToolCallParts())
            tool.id, tool.name = text_of(item.get("call_id")), text_of(item.get("name"))
        elif item.get("type") == "web_search_call":
            yield from self._item(item, place)
            self._streamed.add(place)

    def _is_new_call(self, item: Mapping[str, Any]) -> bool:
        """Whether an item is a call of which no event has said the id: one without a place, or a start."""
        id = text_of(item.get("call_id"))
        known = (tool.id for tool in self.tools.values())
        return id != "" and kind_of(item, _SIGNS) == "function_call" and id not in known

    def _item(self, item: Mapping[str, Any], place: object) -> Iterator[str]:
        kind = kind_of(item, _SIGNS)
        if item.get("phase") in _BEFORE_ANSWER:
            self.think(text_of(item.get("content")))
        elif kind == "message" or item.get("role") == "assistant":
            content = item.get("content")
            for part in [{"text": content}] if isinstance(content, str) else items(content):
                yield from self._part(mapping(part))
        elif kind == "reasoning":
            content = item.get("content")
            for part in items(item.get("summary")) or items(content) or [content]:
                self.think(text_of(part))
        elif kind == "function_call":
            tool = ToolCallParts(text_of(item.get("call_id")), text_of(item.get("name")))
            arguments = item.get("arguments")
            tool.written = [arguments] if isinstance(arguments, str) else []
            tool.value = arguments if isinstance(arguments, Mapping) else None
            self.tools[tool.id if place is None else place] = tool
        elif kind == "web_search_call":
            self.searches += 1
            self.interrupt()

    def _part(self, part: Mapping[str, Any]) -> Iterator[str]:
        if part.get("type") == "refusal" or text_of(part.get("refusal")):
            self.refusal.append(text_of(part.get("refusal")))
            return
        for annotation in items(part.get("annotations")):
            self.cite(mapping(annotation).get("url"))
        yield from self.piece(part.get("text"))

    def _place(self, document: Mapping[str, Any]) -> object:
        """Which item an event belongs to: by its index, which events may lack, or else by its id."""
        id = text_of(document.get("item_id") or mapping(document.get("item")).get("id"))
        place = document.get("output_index")
        if not isinstance(place, int | str):
            return self._places.get(id, id or None)
        if id:
            self._places[id] = place
        return place
