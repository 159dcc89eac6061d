"""Valid replies of every dialect, as documents whose text parts are known, and mutations of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

__all__ = ["DIALECTS", "FORMS", "Envelope", "Mutation", "envelope", "mutations", "wire"]

DIALECTS = ("openai", "anthropic", "google", "mistral")
FORMS = ("responses", "cohere", "converse")
"""Forms of other APIs, which gateways pass on, and which a type or the names of fields show."""
Path = tuple[str | int, ...]
"""Where a value stands: the number of its document, then keys and numbers."""
OTHER_TYPES: tuple[Any, ...] = (0, 7, 1.5, True, False, "", "x", [], ["x"], [{"x": 1}], {}, {"x": 1})
UNKNOWN = (None, 1, "x", {"x": [1, {"y": None}]}, [None, "x"], {"content": "No."})


@dataclass(frozen=True, slots=True)
class Envelope:
    """texts: where each text part stands -> its text. ends: where it says that the reply has ended.

    lists: where a list may have elements of a kind that nobody knows. names: of events, or none. done:
    whether [DONE] ends the stream.
    """

    documents: list[Any]
    texts: dict[Path, str]
    ends: Sequence[Path]
    lists: Sequence[Path]
    names: Sequence[str] = ()
    done: bool = False


def envelope(dialect: str, stream: bool) -> Envelope:
    """A reply with thoughts, two pieces of text and a tool call."""
    builders = {
        "anthropic": (_anthropic, _anthropic_stream),
        "google": (_google, _google_stream),
        "responses": (_responses, _responses_stream),
        "cohere": (_cohere, _cohere_stream),
        "converse": (_converse, _converse_stream),
    }
    return builders.get(dialect, (_openai, _openai_stream))[stream]()


def _openai() -> Envelope:
    function = {"name": "add", "arguments": '{"x": 1}'}
    message = {
        "role": "assistant",
        "content": "Yes, seven.",
        "refusal": None,
        "reasoning_content": "No divisor.",
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }
    document = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "alpha",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }
    return Envelope([document], {(0, "choices", 0, "message", "content"): "Yes, seven."}, [()], [])


def _openai_stream() -> Envelope:
    function = {"name": "add", "arguments": '{"x": 1}'}
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "No divisor."},
        {"content": "Yes, "},
        {"content": "seven."},
        {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]},
        {},
    ]
    frame = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "alpha"}
    documents: list[Any] = [
        {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    documents[-1]["choices"][0]["finish_reason"] = "stop"
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    documents.append({**frame, "choices": [], "usage": usage})
    texts: dict[Path, str] = {
        (2, "choices", 0, "delta", "content"): "Yes, ",
        (3, "choices", 0, "delta", "content"): "seven.",
    }
    return Envelope(documents, texts, [(5, "choices", 0, "finish_reason")], [], done=True)


def _anthropic() -> Envelope:
    content = [
        {"type": "thinking", "thinking": "No divisor.", "signature": "s"},
        {"type": "text", "text": "Yes, "},
        {"type": "text", "text": "seven."},
        {"type": "tool_use", "id": "t", "name": "add", "input": {"x": 1}},
    ]
    document = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "alpha",
        "content": content,
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
    texts: dict[Path, str] = {(0, "content", 1): "Yes, ", (0, "content", 2): "seven."}
    return Envelope([document], texts, [()], [(0, "content")])


def _anthropic_stream() -> Envelope:
    start = {"id": "m", "type": "message", "role": "assistant", "model": "alpha", "content": []}
    usage = {"input_tokens": 10, "output_tokens": 1}
    tool = {"type": "tool_use", "id": "t", "name": "add", "input": {}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**start, "stop_reason": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "No divisor."},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "ping"},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Yes, "}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "seven."}},
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_start", "index": 2, "content_block": tool},
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": '{"x": 1}'},
        },
        {"type": "content_block_stop", "index": 2},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    texts: dict[Path, str] = {(6, "delta"): "Yes, ", (7, "delta"): "seven."}
    ends: list[Path] = [(12, "delta", "stop_reason"), (13, "type")]
    return Envelope(events, texts, ends, [], names=[event["type"] for event in events])


def _google() -> Envelope:
    parts = [
        {"text": "No divisor.", "thought": True},
        {"text": "Yes, "},
        {"text": "seven.", "thoughtSignature": "s"},
        {"functionCall": {"name": "add", "args": {"x": 1}}},
    ]
    candidate = {"content": {"parts": parts, "role": "model"}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    document = {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": "alpha",
        "responseId": "r",
    }
    at: Path = (0, "candidates", 0, "content", "parts")
    return Envelope([document], {(*at, 1): "Yes, ", (*at, 2): "seven."}, [()], [at])


def _google_stream() -> Envelope:
    all_parts: list[list[Any]] = [
        [{"text": "No divisor.", "thought": True}],
        [{"text": "Yes, "}],
        [{"text": "seven."}],
        [{"functionCall": {"name": "add", "args": {"x": 1}}}],
    ]
    documents: list[Any] = [
        {
            "candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}],
            "usageMetadata": {"promptTokenCount": 10, "totalTokenCount": 10},
            "modelVersion": "alpha",
        }
        for parts in all_parts
    ]
    documents[-1]["candidates"][0]["finishReason"] = "STOP"
    documents[-1]["usageMetadata"]["candidatesTokenCount"] = 5
    at: Path = ("candidates", 0, "content", "parts")
    texts: dict[Path, str] = {(1, *at, 0): "Yes, ", (2, *at, 0): "seven."}
    return Envelope(documents, texts, [(3, "candidates", 0, "finishReason")], [(n, *at) for n in range(4)])


def _response(output: list[Any], status: str = "completed") -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, "input_tokens_details": {}}
    return {"id": "r", "object": "response", "status": status, "output": output, "usage": usage}


def _responses() -> Envelope:
    parts: list[Any] = [
        {"type": "output_text", "text": text, "annotations": []} for text in ("Yes, ", "seven.")
    ]
    call = {"type": "function_call", "call_id": "c", "name": "add", "arguments": '{"x": 1}'}
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "No divisor."}]}
    document = _response([thought, {"type": "message", "role": "assistant", "content": parts}, call])
    at: Path = (0, "output", 1, "content")
    return Envelope([document], {(*at, 0): "Yes, ", (*at, 1): "seven."}, [()], [(0, "output")])


def _responses_stream() -> Envelope:
    call = {"type": "function_call", "call_id": "c", "name": "add", "arguments": '{"x": 1}'}
    events: list[Any] = [
        {"type": "response.created", "response": {"id": "r", "object": "response", "status": "in_progress"}},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "No divisor."},
        {"type": "response.output_text.delta", "output_index": 1, "delta": "Yes, "},
        {"type": "response.output_text.delta", "output_index": 1, "delta": "seven."},
        {"type": "response.output_item.done", "output_index": 2, "item": call},
        {"type": "response.completed", "response": _response([])},
    ]
    texts: dict[Path, str] = {(2, "delta"): "Yes, ", (3, "delta"): "seven."}
    return Envelope(events, texts, [(5,)], [], names=[event["type"] for event in events])


def _cohere() -> Envelope:
    content = [{"type": "thinking", "thinking": "No divisor."}]
    content += [{"type": "text", "text": text} for text in ("Yes, ", "seven.")]
    calls = [{"id": "t", "type": "function", "function": {"name": "add", "arguments": '{"x": 1}'}}]
    message = {"role": "assistant", "content": content, "tool_calls": calls}
    usage = {"tokens": {"input_tokens": 10, "output_tokens": 5}}
    document = {"id": "c", "finish_reason": "TOOL_CALL", "message": message, "usage": usage}
    at: Path = (0, "message", "content")
    return Envelope([document], {(*at, 1): "Yes, ", (*at, 2): "seven."}, [()], [at])


def _cohere_stream() -> Envelope:
    function = {"name": "add", "arguments": '{"x": 1}'}
    call = {"tool_calls": {"id": "t", "type": "function", "function": function}}
    end = {"finish_reason": "TOOL_CALL", "usage": {"tokens": {"input_tokens": 10, "output_tokens": 5}}}
    deltas: list[tuple[str, Any]] = [
        ("message-start", {"message": {"role": "assistant"}}),
        ("content-delta", {"message": {"content": {"thinking": "No divisor."}}}),
        ("content-delta", {"message": {"content": {"text": "Yes, "}}}),
        ("content-delta", {"message": {"content": {"text": "seven."}}}),
        ("tool-call-start", {"message": call}),
        ("message-end", end),
    ]
    events = [{"type": kind, "index": 0, "delta": delta} for kind, delta in deltas]
    at: Path = ("delta", "message", "content", "text")
    return Envelope(events, {(2, *at): "Yes, ", (3, *at): "seven."}, [(5,)], [])


def _converse() -> Envelope:
    content = [
        {"reasoningContent": {"reasoningText": {"text": "No divisor.", "signature": "s"}}},
        {"text": "Yes, "},
        {"text": "seven."},
        {"toolUse": {"toolUseId": "t", "name": "add", "input": {"x": 1}}},
    ]
    document = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use",
        "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15},
    }
    at: Path = (0, "output", "message", "content")
    return Envelope([document], {(*at, 1): "Yes, ", (*at, 2): "seven."}, [()], [at])


def _converse_stream() -> Envelope:
    tool = {"toolUse": {"toolUseId": "t", "name": "add"}}
    deltas = [
        (0, {"reasoningContent": {"text": "No divisor."}}),
        (1, {"text": "Yes, "}),
        (1, {"text": "seven."}),
    ]
    documents: list[Any] = [
        {"messageStart": {"role": "assistant"}},
        *({"contentBlockDelta": {"contentBlockIndex": at, "delta": delta}} for at, delta in deltas),
        {"contentBlockStart": {"contentBlockIndex": 2, "start": tool}},
        {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '{"x": 1}'}}}},
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}}},
    ]
    at: Path = ("contentBlockDelta", "delta", "text")
    return Envelope(documents, {(2, *at): "Yes, ", (3, *at): "seven."}, [(6,)], [])


@dataclass(frozen=True, slots=True)
class Mutation:
    """what: "remove", "set" (to `value`), or "add" (`value` under an unknown name)."""

    what: str
    path: Path
    value: Any = None

    def touches(self, path: Path) -> bool:
        """Whether it changes what stands at `path`, around it or inside it; an addition changes nothing."""
        shared = min(len(path), len(self.path))
        return self.what != "add" and bool(path) and self.path[:shared] == path[:shared]

    def apply(self, documents: list[Any]) -> None:
        """Change the documents, unless an earlier mutation has removed what it is about."""
        holder: Any = documents
        for key in self.path if self.what == "add" else self.path[:-1]:
            try:
                holder = holder[key]
            except (LookupError, TypeError):
                return
        if self.what == "add":
            if isinstance(holder, dict):
                holder["x_unknown"] = self.value
            elif isinstance(holder, list):
                holder.append({"type": "x_unknown", "x_unknown": self.value})
        elif isinstance(holder, dict) and self.path[-1] in holder:
            if self.what == "remove":
                del holder[self.path[-1]]
            else:
                holder[self.path[-1]] = self.value


def _paths(value: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        yield (*at, key), child
        yield from _paths(child, (*at, key))


def mutations(reply: Envelope) -> st.SearchStrategy[list[Mutation]]:
    """Up to four mutations of the fields of a reply."""
    found = list(_paths(reply.documents))
    fields = [path for path, _ in found if isinstance(path[-1], str)]
    objects = [path for path, value in found if isinstance(value, dict)]
    one = st.one_of(
        st.builds(Mutation, st.just("remove"), st.sampled_from(fields)),
        st.builds(Mutation, st.just("set"), st.sampled_from(fields), st.none()),
        st.builds(Mutation, st.just("set"), st.sampled_from(fields), st.sampled_from(OTHER_TYPES)),
        st.builds(
            Mutation,
            st.just("add"),
            st.sampled_from([*objects, *reply.lists]),
            st.sampled_from(UNKNOWN),
        ),
    )
    return st.lists(one, min_size=0, max_size=4)


def mutate(reply: Envelope, changes: Sequence[Mutation]) -> list[Any]:
    """The documents of the reply with these changes, in order."""
    documents = copy.deepcopy(reply.documents)
    for change in changes:
        # Values are shared by examples.
        Mutation(change.what, change.path, copy.deepcopy(change.value)).apply(documents)
    return documents


@st.composite
def wire(draw: st.DrawFn, reply: Envelope, documents: list[Any], stream: bool) -> list[bytes]:
    """The documents as a host may send them, in pieces: the only one alone, or a stream.

    A stream is one of events, the text of such a stream as one document, an array, or a document a line.
    """
    start = draw(st.sampled_from(("", "\ufeff", "\n\n", "\ufeff\r\n", "\n         \n" * 9)))
    spaces = draw(st.sampled_from(((",", ":"), (", ", ": "), (" , ", " : "))))
    if stream:
        texts = [json.dumps(one, separators=spaces) for one in documents]
        events = _events(draw, reply, texts)
        body = start + {
            "array": f"[{', '.join(texts)}]",
            "lines": "\n".join(texts),
            "text": json.dumps(events),
        }.get(draw(st.sampled_from(("", "", "", "text", "array", "lines"))), events)
    else:
        indent = draw(st.sampled_from((None, 2)))
        body = start + json.dumps(documents[0], separators=spaces, indent=indent) + draw(_ENDS)
    raw = body.encode()
    cuts = sorted(draw(st.lists(st.integers(1, len(raw)), max_size=6)))
    return [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True) if a < b]


_EVENTS = st.sampled_from(("whole", "whole", "whole", "broken", "joined"))
"""How an event has its document: on a line, on several, or behind that of the event before it."""
_ENDS = st.sampled_from(("", "\n", "\r\n\r\n", "  "))


def _events(draw: st.DrawFn, reply: Envelope, texts: list[str]) -> str:
    end = draw(st.sampled_from(("\n", "\r\n", "\r")))
    colon = draw(st.sampled_from((":", ": ")))
    named = bool(reply.names) and draw(st.booleans())
    blank = draw(st.sampled_from(("always", "sometimes", "never")))
    lines: list[str] = []
    for number, text in enumerate(texts):
        lines += draw(st.sampled_from(([], [": ping"], ["id: 1"], ["retry: 10", ":"])))
        lines += [f"event{colon}{reply.names[number]}"] if named else []
        if (how := draw(_EVENTS)) == "joined" and lines and lines[-1].startswith("data"):
            lines[-1] += text
        elif how == "broken":
            lines += [f"data{colon}{line}" for line in json.dumps(json.loads(text), indent=1).split("\n")]
        else:
            lines.append(f"data{colon}{text}")
        if blank == "always" or (blank == "sometimes" and draw(st.booleans())):
            lines.append("")
    lines += [f"data{colon}[DONE]"] if reply.done else []
    return end.join(lines) + end * draw(st.integers(1, 2))
