"""Replies of the OpenAI dialect, which most hosts and servers speak, each in its own way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ...base import FinishReason
from ..failures import failure, report
from .reply import Reader, ToolCallParts, items, mapping, text_of

__all__ = ["OpenAIReader"]

THOUGHTS = ("reasoning_content", "reasoning", "thinking", "thinking_content", "reasoning_details")
"""Fields of thoughts, of which a host may send several with the same text."""
MAX_CHOICES = 16
"""Only the first choice is read; it may stand behind others."""
THOUGHT_PARTS = ("thinking", "reasoning", "reasoning_text", "thought")


class OpenAIReader(Reader):
    FINISHES: ClassVar[Mapping[str, FinishReason]] = {
        **dict.fromkeys(("length", "max_tokens", "model_length", "max_output_tokens"), "length"),
        **dict.fromkeys(("content_filter", "safety", "sensitive", "refusal", "moderation"), "filter"),
        **dict.fromkeys(("prohibited_content", "recitation", "blocklist", "guardrail"), "filter"),
        **dict.fromkeys(("tool_calls", "function_call", "tool_use", "tool_call"), "tool"),
    }
    FAILURES: ClassVar[Mapping[str, int]] = {
        **dict.fromkeys(("error", "internal_error", "failed", "unknown_error"), 500),
        **dict.fromkeys(("insufficient_system_resource", "network_error", "engine_overloaded"), 503),
        **dict.fromkeys(("overloaded", "abort", "aborted", "timeout", "cancelled"), 503),
    }

    def read(self, document: Mapping[str, Any]) -> Iterator[str]:
        self.model = text_of(document.get("model")) or self.model
        self.report_usage(document.get("usage") or mapping(document.get("x_groq")).get("usage"))
        for choice in self._choices(document):
            yield from self._choice(choice)
        # Usage alone is the last event of a stream.
        self.done = self.done or (document.get("choices") == [] and bool(document.get("usage")))

    def _choices(self, document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield the first choice, which some servers put elsewhere."""
        choices = document.get("choices") or mapping(document.get("output")).get("choices")
        for choice in items(choices)[:MAX_CHOICES]:
            if isinstance(choice, Mapping) and choice.get("index") in (0, None, "0"):
                yield choice
        if not choices and isinstance(document.get("message"), Mapping):  # Ollama's own API
            yield {**document, "finish_reason": document.get("done_reason")}

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[str]:
        if found := report({"error": choice.get("error")}):
            raise failure(found)
        self.report_usage(choice.get("usage"))
        delta, message = mapping(choice.get("delta")), mapping(choice.get("message"))
        # A last event may repeat the whole message.
        part = delta or ({} if self.text and "delta" in choice else message)
        self.any = self.any or bool(part or "delta" in choice or "message" in choice or "text" in choice)
        self._thoughts(part)
        yield from self._content(part.get("content"))
        yield from self.piece(choice.get("text"))
        if isinstance(part.get("refusal"), str) and part["refusal"]:
            self.refusal.append(part["refusal"])
        for call in items(part.get("tool_calls")):
            self._call(mapping(call))
        if function := mapping(part.get("function_call")):
            self._call({"index": "function", "function": function})
        for one in items(part.get("annotations")):
            self.cite(mapping(mapping(one).get("url_citation")).get("url"))
        self.finish = text_of(choice.get("finish_reason")) or self.finish

    def _thoughts(self, part: Mapping[str, Any]) -> None:
        self.think(next(filter(None, (text_of(part.get(name)) for name in THOUGHTS)), ""))

    def _content(self, content: object) -> Iterator[str]:
        if not isinstance(content, list | Mapping):
            yield from self.piece(content)
            return
        for one in [content] if isinstance(content, Mapping) else content:
            kind = text_of(mapping(one).get("type"))
            if kind in THOUGHT_PARTS:
                self.think(text_of(one))
            elif kind == "refusal":
                self.refusal.append(text_of(mapping(one).get("refusal")))
            elif isinstance(one, str) or kind in ("", "text", "output_text", "input_text"):
                yield from self.piece(text_of(one))

    def _call(self, call: Mapping[str, Any]) -> None:
        function = mapping(call.get("function")) or call
        id = text_of(call.get("id")) or (str(call["id"]) if isinstance(call.get("id"), int) else "")
        tool = self.tools.setdefault(self._place(call.get("index"), id), ToolCallParts())
        tool.id = tool.id or id
        tool.name = tool.name or text_of(function.get("name"))
        arguments = function.get("arguments", function.get("parameters"))
        if isinstance(arguments, str):
            tool.written.append(arguments)
        elif isinstance(arguments, Mapping | list):
            tool.value = arguments if isinstance(arguments, Mapping) else {"arguments": arguments}

    def _place(self, index: object, id: str) -> object:
        """Where a piece of a call belongs: by its index, its id, or after the piece before it."""
        known = list(self.tools)
        if id:
            for place, tool in self.tools.items():
                if tool.id == id:
                    return place
        if isinstance(index, int | str):
            at = self.tools.get(index)
            # Some hosts number every call 0.
            return index if at is None or not id or not at.id or not at.is_complete() else (index, id)
        if id or not known:
            return id or len(known)
        return known[-1]

    def failure_words(self, document: Mapping[str, Any]) -> str:
        choice = next(self._choices(document), {})
        return text_of(choice.get("native_finish_reason")) and (
            f"the host ended the reply with {self.finish!r} ({text_of(choice['native_finish_reason'])})"
        )
