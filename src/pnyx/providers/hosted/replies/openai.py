"""Replies of the OpenAI dialect, which most hosts and servers speak, each in its own way."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ..failures import failure, report
from .finishes import reason_of
from .reply import ENDS, PARTS, THOUGHT_PARTS, Reader, ToolCallParts, first_of, items, mapping, text_of

__all__ = ["OpenAIReader", "holds_object"]

THOUGHTS = (
    *("reasoning_content", "reasoning", "thinking", "thinking_content", "reasoning_text"),
    *("reasoning_details", "thinking_blocks", "thinking_block"),
    *("thoughts", "thought", "reasoningContent", "thinkingContent", "reasoning_summary"),
    "tool_plan",  # of Cohere
)
"""Fields of thoughts, of which a host may send several with the same text."""
ARGUMENTS = ("arguments", "parameters", "args", "input")
"""Fields of a tool call's arguments."""
TEXT_PARTS = ("", "text", "output_text", "input_text")


class OpenAIReader(Reader):
    """A choice may have a delta, a message, both, or bare text; the last message may repeat all deltas."""

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[object, object] = {}
        """Index -> the place in `tools` of the last call that has it."""
        self._documents = 0
        self._usage_at: list[int] = []
        """Which documents had usage."""
        self._has_counted = False
        """Whether a document had nothing else."""

    def read(self, document: Mapping[str, Any]) -> Iterator[str]:
        self.model = text_of(document.get("model")) or self.model
        _check(mapping(document.get("x_groq")).get("error"))
        usage = next(iter(items(document.get("usage"))), None)
        self._documents += 1
        self.report_usage(usage)
        for choice in self._choices(document):
            yield from self._choice(choice)
        # Behind the choices: an event that reports a failure is no end, whatever it counts.
        if any(value for value in mapping(usage).values() if not isinstance(value, Mapping)):
            self._usage_at.append(self._documents)
        # Usage alone is the last event of a stream, and says of a whole reply that it is empty.
        if document.get("choices") == [] and document.get("usage"):
            self.any = self._has_counted = True

    @property
    def is_complete(self) -> bool:
        """Also if usage came once, in the last event of several: Snowflake's streams say their end so."""
        has_counted = self._has_counted or (self._documents > 1 and self._usage_at == [self._documents])
        return super().is_complete or (has_counted and not self.failed)

    def _choices(self, document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield the first choice, which some servers put elsewhere."""
        choices = document.get("choices")
        if isinstance(choices, Mapping) and choices and all(str(name).isdecimal() for name in choices):
            choices = list(choices.values())  # PHP writes a list with gaps so
        if isinstance(choices, list) and choices and isinstance(choices[0], str):
            choices = [{"text": choices[0]}]
        yield from first_of(choices)
        if choices:
            return
        ends = {name: document[name] for name in ENDS if document.get(name)}
        if isinstance(message := document.get("message"), Mapping):
            # The own APIs of Ollama, Cohere and Clova. What says the end may repeat all of the text.
            yield {("message" if ends else "delta"): message, **ends}
        elif document.get("content") and text_of(document.get("role")).lower() == "assistant":
            yield {"delta": document, **ends}
        elif (
            isinstance(answer := document.get("response"), str | int | float)
            or document.get("tool_calls")
            or holds_object(document)
        ):
            # Cloudflare's own API and Ollama's older one
            part = {name: document.get(name) for name in ("thinking", "tool_calls")}
            yield {"text": _written(answer), "delta": part, **ends}
        elif isinstance(document.get("result"), str):  # Baidu's older one
            yield {"text": document["result"], **ends}
        elif ends:
            yield ends

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[str]:
        _check(choice.get("error"))
        self.report_usage(choice.get("usage"))
        self.report_usage(_message(choice).get("usage"))
        delta = choice.get("delta")
        delta = {"content": delta} if isinstance(delta, str) else mapping(delta)
        delta = {name: value for name, value in delta.items() if value}
        part = {**self._rest(_message(choice)), **delta}
        self.any = self.any or bool(
            part or {"delta", "message", "messages", "text"} & choice.keys() or choice.get("finish_reason")
        )
        _check(part.get("error"))
        self._thoughts({**choice, **part})
        if part.get("type") == "tool_use":  # of Snowflake
            self._tool_use(part)
        google = mapping(mapping(part.get("extra_content")).get("google"))
        # Gemini marks answers behind a signed thought too; those have no tag, and are no delta.
        if google.get("thought") and (delta or "<thought>" in text_of(part.get("content"))):
            thought, _, content = text_of(part.get("content")).partition("</thought>")
            self.think(thought.removeprefix("<thought>"))
            part = {**part, "content": content}
        yield from self._content(part.get("content"))
        if not part.get("content"):
            plain = [part.get("text"), *(choice.get(name) for name in ("text", "message", "messages"))]
            yield from self.piece(next((text for text in plain if isinstance(text, str | int | float)), None))
        if isinstance(part.get("refusal"), str) and part["refusal"]:
            self.refusal.append(part["refusal"])
        for call in items(part.get("tool_calls")):
            self._call(mapping(call), whole="tool_calls" not in delta)
        if function := mapping(part.get("function_call")):
            self._call({"index": "function", "function": function}, whole="function_call" not in delta)
        for one in items(part.get("annotations")):
            self.cite(mapping(mapping(one).get("url_citation")).get("url"))
        self.end(next((choice[name] for name in ENDS if choice.get(name)), choice.get("finish_reason")))
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
        if not isinstance(content, list | Mapping) or _is_answer(content):
            yield from self.piece(_written(content))
            return
        for one in [content] if isinstance(content, Mapping) else content:
            part = mapping(one)
            kind = text_of(part.get("type")).lower()
            thought = "" if kind else next((part[name] for name in THOUGHTS if part.get(name)), "")
            if kind in THOUGHT_PARTS or thought:
                self.think(text_of(thought or one))
            elif kind == "refusal":
                self.refusal.append(text_of(part.get("refusal")))
            elif kind == "tool_use":
                self._tool_use(part)
            elif isinstance(one, str) or kind in TEXT_PARTS:
                yield from self.piece(text_of(one))

    def _tool_use(self, part: Mapping[str, Any]) -> None:
        """Read a call, or a piece of one, with the names of Anthropic."""
        id = part.get("id") or part.get("tool_use_id")
        self._call(
            {"id": id, "name": part.get("name"), "arguments": part.get("input")}, whole=bool(part.get("id"))
        )

    def _call(self, call: Mapping[str, Any], whole: bool) -> None:
        """Read a tool call. whole: it is no piece of one."""
        function = mapping(call.get("function")) or call
        id = text_of(call.get("id")) or (str(call["id"]) if isinstance(call.get("id"), int) else "")
        name = text_of(function.get("name"))
        tool = self.tools.setdefault(self._place(call.get("index"), id, name, whole), ToolCallParts())
        tool.id = tool.id or id
        # A name comes whole, maybe again with each piece of the arguments, or in pieces before them.
        if name.startswith(tool.name):
            tool.name = name
        elif not whole and not any(tool.written) and not tool.name.endswith(name):
            tool.name += name
        arguments = next((function[name] for name in ARGUMENTS if function.get(name) is not None), None)
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


_OF_OTHERS = ("user", "human", "tool", "function", "system", "developer")
_CLOUDFLARE = {"response", "tool_calls", "usage"}
_OF_PARTS = frozenset((*PARTS, "type", "annotations", "signature", "refusal", "error"))
"""Keys of a part of a message."""


def _is_answer(value: object) -> bool:
    """Whether a value is the object of JSON that was asked for, which Cloudflare parses."""
    return (
        isinstance(value, Mapping) and bool(value.keys() - _OF_PARTS) and not {"type", "error"} & value.keys()
    )


def holds_object(document: Mapping[str, Any]) -> bool:
    """Whether a document of Cloudflare's own API has such an object as its answer."""
    return document.keys() <= _CLOUDFLARE and _is_answer(document.get("response"))


def _written(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else value


def _message(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message of a choice: of several, the last one that the model wrote, not a tool or the user."""
    found = [mapping(one) for one in items(choice.get("message") or choice.get("messages"))]
    if len(found) > 1:
        found = [one for one in found if text_of(one.get("role")).lower() not in _OF_OTHERS]
    return found[-1] if found else {}


def _check(error: object) -> None:
    """Raise `ProviderError` for what a part of a document reports as its error."""
    if error and (found := report({"error": error})):
        raise failure(found)
