"""Replies of the OpenAI dialect, which most hosts and servers speak, each in its own way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..failures import failure, report
from .finishes import reason_of
from .reply import Reader, ToolCallParts, first_of, items, mapping, text_of

__all__ = ["OpenAIReader"]

THOUGHTS = (
    *("reasoning_content", "reasoning", "thinking", "thinking_content", "reasoning_text"),
    *("reasoning_details", "thinking_blocks", "thinking_block"),
    *("thoughts", "thought", "reasoningContent", "reasoning_summary"),
)
"""Fields of thoughts, of which a host may send several with the same text."""
THOUGHT_PARTS = ("thinking", "reasoning", "reasoning_text", "thought")
TEXT_PARTS = ("", "text", "output_text", "input_text")
WRAPPERS = ("result", "data", "completion", "chat_completion")
"""Fields that hold a whole reply: of Cloudflare, and of gateways with a code and a message."""
_OLLAMA = {"prompt_eval_count": "prompt_tokens", "eval_count": "completion_tokens"}


class OpenAIReader(Reader):
    """A choice may have a delta, a message, both, or bare text; the last message may repeat all deltas."""

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[object, object] = {}
        """Index -> the place in `tools` of the last call that has it."""
        self._documents = 0
        self._usage_at: list[int] = []
        """Which documents had usage."""

    def read(self, document: Mapping[str, Any]) -> Iterator[str]:
        for wrapper in WRAPPERS:
            document = mapping(document.get(wrapper)) or document
        self.model = text_of(document.get("model")) or self.model
        groq = mapping(document.get("x_groq"))
        _check(groq.get("error"))
        usage = document.get("usage") or groq.get("usage") or mapping(document.get("output")).get("usage")
        self._documents += 1
        counts = any(value for value in mapping(usage).values() if not isinstance(value, Mapping))
        if counts or not self.usage:  # some hosts end a stream with a report of zeros
            self.report_usage(usage)
        if counts:
            self._usage_at.append(self._documents)
        for choice in self._choices(document):
            yield from self._choice(choice)
        # Usage alone is the last event of a stream, and says of a whole reply that it is empty.
        if document.get("choices") == [] and document.get("usage"):
            self.any = self.done = True

    @property
    def is_complete(self) -> bool:
        """Also if usage came once, in the last event of several: Snowflake's streams say their end so."""
        has_counted = self._documents > 1 and self._usage_at == [self._documents]
        return super().is_complete or (has_counted and not self.failed)

    def _choices(self, document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield the first choice, which some servers put elsewhere."""
        choices = document.get("choices") or mapping(document.get("output")).get("choices")
        if isinstance(choices, Mapping) and choices and all(str(name).isdecimal() for name in choices):
            choices = list(choices.values())  # PHP writes a list with gaps so
        if isinstance(choices, list) and choices and isinstance(choices[0], str):
            choices = [{"text": choices[0]}]
        yield from first_of(choices)
        if choices:
            return
        output = mapping(document.get("output"))
        if output.get("text"):  # DashScope's own API
            yield output
        elif isinstance(document.get("message"), Mapping):  # Ollama's own API, and Cohere's
            self.report_usage({ours: document.get(name) for name, ours in _OLLAMA.items()})
            delta = {"delta": document["message"]}
            yield {**delta, "finish_reason": document.get("done_reason") or document.get("finish_reason")}
        for name in ("response", "result"):  # Cloudflare's own API and Ollama's older one; Baidu's older one
            if isinstance(document.get(name), str):
                self.report_usage({ours: document.get(name) for name, ours in _OLLAMA.items()})
                thoughts = {"thinking": document.get("thinking")}
                yield {
                    "text": document[name],
                    "finish_reason": document.get("done_reason"),
                    "delta": thoughts,
                }

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[str]:
        _check(choice.get("error"))
        self.report_usage(choice.get("usage"))
        delta = choice.get("delta")
        delta = {"content": delta} if isinstance(delta, str) else mapping(delta)
        delta = {name: value for name, value in delta.items() if value}
        part = {**self._rest(mapping(choice.get("message"))), **delta}
        self.any = self.any or bool(
            part or {"delta", "message", "messages", "text"} & choice.keys() or choice.get("finish_reason")
        )
        _check(part.get("error"))
        self._thoughts(part)
        if "extra_content" in part and mapping(mapping(part["extra_content"]).get("google")).get("thought"):
            thought, _, content = text_of(part.get("content")).partition("</thought>")
            self.think(thought.removeprefix("<thought>"))
            part = {**part, "content": content}
        yield from self._content(part.get("content"))
        if not part.get("content"):
            plain = (choice.get(name) for name in ("text", "message", "messages"))
            yield from self.piece(next((text for text in plain if isinstance(text, str)), None))
        if isinstance(part.get("refusal"), str) and part["refusal"]:
            self.refusal.append(part["refusal"])
        for call in items(part.get("tool_calls")):
            self._call(mapping(call), whole="tool_calls" not in delta)
        if function := mapping(part.get("function_call")):
            self._call({"index": "function", "function": function}, whole="function_call" not in delta)
        for one in items(part.get("annotations")):
            self.cite(mapping(mapping(one).get("url_citation")).get("url"))
        self.end(choice.get("finish_reason"))
        native = text_of(choice.get("native_finish_reason"))  # of OpenRouter: the word of the host behind it
        if native and reason_of(native) == "filter" and reason_of(self.finish) == "stop" and not self.failed:
            self.finish = native

    def _rest(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a message says that was not read yet: the last event of a stream may repeat all of it."""
        if not message or not (self.text or self.reasoning or self.refusal):
            return message
        written, content = "".join(self.text), message.get("content")
        repeated = {*THOUGHTS, "refusal"} if self.reasoning or self.refusal else set()
        rest = {name: value for name, value in message.items() if name not in repeated}
        if isinstance(content, str) and content.startswith(written):
            rest["content"] = content[len(written) :]
        if self.tools:
            rest["tool_calls"] = [
                call for call in items(message.get("tool_calls")) if mapping(call).get("id")
            ]
        return rest

    def _thoughts(self, part: Mapping[str, Any]) -> None:
        if "provider_specific_fields" in part:  # of LiteLLM
            part = {**mapping(part["provider_specific_fields"]), **part}
        found = (text_of(part[name]) for name in THOUGHTS if name in part)
        self.think(next(filter(None, found), ""))

    def _content(self, content: object) -> Iterator[str]:
        if not isinstance(content, list | Mapping):
            yield from self.piece(content)
            return
        for one in [content] if isinstance(content, Mapping) else content:
            kind = text_of(mapping(one).get("type"))
            part = mapping(one)
            thought = "" if kind else next((part[name] for name in THOUGHTS if part.get(name)), "")
            if kind in THOUGHT_PARTS or thought:
                self.think(text_of(thought or one))
            elif kind == "refusal":
                self.refusal.append(text_of(mapping(one).get("refusal")))
            elif isinstance(one, str) or kind in TEXT_PARTS:
                yield from self.piece(text_of(one))

    def _call(self, call: Mapping[str, Any], whole: bool) -> None:
        """Read a tool call. whole: it is no piece of one."""
        function = mapping(call.get("function")) or call
        id = text_of(call.get("id")) or (str(call["id"]) if isinstance(call.get("id"), int) else "")
        name = text_of(function.get("name"))
        tool = self.tools.setdefault(self._place(call.get("index"), id, name, whole), ToolCallParts())
        tool.id, tool.name = tool.id or id, tool.name or name
        arguments = function.get("arguments", function.get("parameters"))
        if isinstance(arguments, str):
            if whole:
                tool.written.clear()
            tool.written.append(arguments)
        elif isinstance(arguments, Mapping | list):
            tool.value = arguments if isinstance(arguments, Mapping) else {"arguments": arguments}

    def _place(self, index: object, id: str, name: str, whole: bool) -> object:
        """Where a piece of a call belongs: by its id, its index, or after the piece before it."""
        known = list(self.tools)
        if id:
            for place, tool in self.tools.items():
                if tool.id == id:
                    return place
        if not isinstance(index, int | str):
            index = known[-1] if known and not (id or whole) else ("new", len(known))
        place = self._places.get(index, index)
        at = self.tools.get(place)
        # Some hosts number every call 0, or none.
        if at is not None and name and ((id and at.id) or (at.is_complete() and not id and not at.id)):
            place = self._places[index] = (index, len(known))
        return place

    def failure_words(self, document: Mapping[str, Any]) -> str:
        choice = next(iter(first_of(document.get("choices"))), {})
        return text_of(choice.get("native_finish_reason")) and (
            f"the host ended the reply with {self.finish!r} ({text_of(choice['native_finish_reason'])})"
        )


def _check(error: object) -> None:
    """Raise `ProviderError` for what a part of a document reports as its error."""
    if error and (found := report({"error": error})):
        raise failure(found)
