"""The API dialects of the scripted host: parse a request, write a reply as a body or server-sent events.

Knows no sockets. In every dialect, usage is one token per four characters.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.support.web_search_replies import (
    anthropic_citations,
    anthropic_search,
    google_grounding,
    google_search,
    openrouter_annotations,
)

__all__ = ["Answer", "ModelRequest", "body", "default_text", "error", "events", "listing", "read", "truth"]

WORDS = (
    *("hill", "assembly", "vote", "stone", "voice", "reason", "law", "harbour", "olive", "ship", "council"),
    *("wall", "spring", "claim", "proof", "doubt", "road", "grain", "winter", "bronze", "measure", "sail"),
    *("market", "oath", "answer", "north", "river", "scale", "lamp", "bridge", "orator", "debt"),
)

OWN = 8
"""Models whose last words differ: each has every eighth of the words."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A parsed request. prompt: all its text. schema: the JSON schema of the reply, or None."""

    dialect: str
    model: str
    document: Mapping[str, Any]
    prompt: str = ""
    stream: bool = False
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """One reply, independent of the dialect. usage: as the dialect reports it; None: not reported.

    searches: query of the host's own search -> the pages found, all of which the text cites.
    """

    text: str
    usage: Mapping[str, Any] | None
    finish: str = "stop"
    tool_calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    refusal: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    searches: Mapping[str, Sequence[str]] = field(default_factory=dict)


def read(path: str, raw: bytes) -> ModelRequest | None:
    """Parse the request at `path` with body `raw`; None if no dialect has this path."""
    path = path.partition("?")[0]
    dialect = (
        "mistral" if path == "/mistral/v1/chat/completions"
        else "openrouter" if path == "/openrouter/v1/chat/completions"
        else "openai" if path == "/v1/chat/completions"
        else "anthropic" if path.endswith("/v1/messages")
        else "google" if path.endswith((":generateContent", ":streamGenerateContent"))
        else ""
    )  # fmt: skip
    if not dialect:
        return None
    document = json.loads(raw)
    if dialect == "google":
        model = path.rsplit("/", 1)[1].partition(":")[0]
        settings = document.get("generationConfig", {})
        schema = settings.get("responseJsonSchema") or settings.get("responseSchema")
        prompt = "\n".join(_strings(document.get("contents"), "text"))
        return ModelRequest(dialect, model, document, prompt, "streamGenerateContent" in path, schema)
    if dialect == "anthropic":
        schema = document.get("output_config", {}).get("format", {}).get("schema")
    else:
        schema = document.get("response_format", {}).get("json_schema", {}).get("schema")
    prompt = "\n".join(_strings(document.get("messages"), "content", "text"))
    return ModelRequest(dialect, document["model"], document, prompt, bool(document.get("stream")), schema)


def _strings(value: Any, *keys: str) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _strings(item, *keys)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in keys and isinstance(item, str):
                yield item
            else:
                yield from _strings(item, *keys)


def default_text(request: ModelRequest) -> str:
    """Return words chosen by a hash of model and prompt, or an instance of the request's schema.

    Models with names of their own, such as alpha, beta and gamma, never end on the same word: a chance
    agreement would change the status of a run.
    """
    digest = hashlib.sha256(f"{request.model}\n{request.prompt}".encode("utf-8", "surrogatepass")).digest()
    if request.schema is not None:
        return json.dumps(_instance(request.schema, digest))
    words = " ".join(WORDS[byte % len(WORDS)] for byte in digest[:16])
    own = sum(request.model.encode("utf-8", "surrogatepass")) % OWN
    return f"{words.capitalize()}.\nFinal answer: {WORDS[own + OWN * (digest[16] % (len(WORDS) // OWN))]}"


def _instance(schema: Mapping[str, Any], digest: bytes) -> Any:
    if "const" in schema or "enum" in schema:
        choices = schema.get("enum") or [schema["const"]]
        return choices[digest[0] % len(choices)]
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return _instance(schema[union][0], digest)
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    kind = str(kind).lower()
    if kind == "object":
        inner = hashlib.sha256(digest).digest()
        return {name: _instance(part, inner) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [_instance(schema.get("items", {"type": "string"}), digest)] * max(
            1, schema.get("minItems", 1)
        )
    if kind in ("integer", "number"):
        low, high = schema.get("minimum", 0), schema.get("maximum", 10)
        return low + digest[0] % max(1, int(high - low) + 1)
    return digest[0] % 2 == 0 if kind == "boolean" else WORDS[digest[0] % len(WORDS)]


def truth(request: ModelRequest, answer: Answer) -> dict[str, int]:
    """Return the real usage of a call: as reported if that is plausible, else counted from the text."""
    counted = {
        "input": len(request.prompt) // 4 + 1,
        "cached": 0,
        "output": len(answer.text) // 4 + 1,
        "reasoning": 0,
    }
    reported = answer.usage or {}
    readers = {
        "openai": lambda: (
            reported["prompt_tokens"],
            (reported.get("prompt_tokens_details") or {}).get("cached_tokens", 0),
            reported["completion_tokens"],
            (reported.get("completion_tokens_details") or {}).get("reasoning_tokens", 0),
        ),
        "anthropic": lambda: (
            reported["input_tokens"] + reported.get("cache_read_input_tokens", 0),
            reported.get("cache_read_input_tokens", 0),
            reported["output_tokens"],
            (reported.get("output_tokens_details") or {}).get("thinking_tokens", 0),
        ),
        "google": lambda: (
            reported["promptTokenCount"],
            reported.get("cachedContentTokenCount", 0),
            reported["candidatesTokenCount"] + reported.get("thoughtsTokenCount", 0),
            reported.get("thoughtsTokenCount", 0),
        ),
    }
    try:
        counts = readers["openai" if request.dialect in ("mistral", "openrouter") else request.dialect]()
    except (KeyError, TypeError):
        return counted
    if all(isinstance(n, int) and 0 <= n < 10**9 for n in counts) and counts[0] > 0:
        return dict(zip(counted, counts, strict=True))
    return counted


def usage(request: ModelRequest, text: str, searches: int = 0) -> dict[str, Any]:
    """Return the usage that a correct host reports for `text` after `searches` searches."""
    sent, made = len(request.prompt) // 4 + 1, len(text) // 4 + 1
    if request.dialect == "anthropic":
        server = {"server_tool_use": {"web_search_requests": searches, "web_fetch_requests": 0}}
        return {"input_tokens": sent, "output_tokens": made, **(server if searches else {})}
    if request.dialect == "google":
        return {"promptTokenCount": sent, "candidatesTokenCount": made, "totalTokenCount": sent + made}
    server = {"server_tool_use_details": {"web_search_requests": searches}} if searches else {}
    return {"prompt_tokens": sent, "completion_tokens": made, "total_tokens": sent + made, **server}


def listing(path: str, models: Sequence[str]) -> bytes | None:
    """Return the list of `models` at `path`, unpaged for a proxy, or None if no dialect has one."""
    path = urlsplit(path).path
    if path == "/v1beta/models":
        return _dump({"models": [{"name": f"models/{name}"} for name in models]})
    if path not in ("/v1/models", "/mistral/v1/models"):
        return None
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "scripted"} for name in models]
    return _dump({"object": "list", "data": data})


def error(status: int, message: str) -> bytes:
    """Return an error body that is valid in every dialect."""
    return _dump(
        {"type": "error", "error": {"type": "scripted", "message": message, "code": status, "status": "X"}}
    )


def body(request: ModelRequest, answer: Answer) -> bytes:
    """Return the reply as one JSON document."""
    if request.dialect == "anthropic":
        return _dump(_anthropic_message(request, answer))
    if request.dialect == "google":
        return _dump(_google(request, answer.text, answer, first=True, last=True))
    message: dict[str, Any] = {"role": "assistant", "content": answer.text, **_openai_cited(answer)}
    if answer.refusal:
        message |= {"content": None, "refusal": answer.refusal}
    if answer.tool_calls:
        message["tool_calls"] = _openai_tools(answer)
    choice = {"index": 0, "message": message, "finish_reason": _openai_finish(answer)}
    return _dump(_openai(request, "chat.completion", [choice], answer.usage))


def events(request: ModelRequest, answer: Answer) -> list[bytes]:
    """Return the reply as server-sent events, one word of text in each."""
    pieces = [word + " " for word in answer.text.split(" ")]
    pieces[-1] = pieces[-1][:-1]
    pieces = [piece for piece in pieces if piece]
    if request.dialect == "google":
        head = [_google(request, piece, answer, first=not i, last=False) for i, piece in enumerate(pieces)]
        return [_sse(part) for part in [*head, _google(request, "", answer, first=not head, last=True)]]
    if request.dialect == "anthropic":
        return list(_anthropic_events(request, answer, pieces))
    return list(_openai_events(request, answer, pieces))


def _dump(document: Any) -> bytes:
    return json.dumps(document).encode()


def _sse(document: Mapping[str, Any], name: str = "") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + b"data: " + _dump(document) + b"\n\n"


def _openai(
    request: ModelRequest, kind: str, choices: list[Any], reported: Mapping[str, Any] | None
) -> dict[str, Any]:
    document = {
        "id": "r-1",
        "object": kind,
        "created": 1700000000,
        "model": request.model,
        "choices": choices,
    }
    if request.dialect == "openrouter":
        document["provider"] = "Scripted"
    return document if reported is None else document | {"usage": reported}


def _openai_cited(answer: Answer) -> Mapping[str, Any]:
    """Return the fields beside the text. OpenRouter reports citations, not searches."""
    cited = openrouter_annotations(answer.text, answer.searches)
    return {**answer.extra, **({"annotations": cited} if cited else {})}


def _openai_finish(answer: Answer) -> str:
    return "tool_calls" if answer.tool_calls else answer.finish


def _openai_tools(answer: Answer) -> list[dict[str, Any]]:
    return [
        {"index": i, "id": f"call-{i:05}", "type": "function"}
        | {"function": {"name": name, "arguments": json.dumps(arguments)}}
        for i, (name, arguments) in enumerate(answer.tool_calls)
    ]


def _openai_events(request: ModelRequest, answer: Answer, pieces: list[str]) -> Iterator[bytes]:
    def chunk(
        delta: Mapping[str, Any], finish: str | None = None, reported: Mapping[str, Any] | None = None
    ) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _sse(_openai(request, "chat.completion.chunk", [choice], reported))

    yield chunk({"role": "assistant", "content": "", **_openai_cited(answer)})
    if answer.refusal:
        yield chunk({"refusal": answer.refusal})
    for piece in () if answer.refusal else pieces:
        yield chunk({"content": piece})
    for call in _openai_tools(answer):
        whole = call["function"]["arguments"]
        yield chunk(
            {"tool_calls": [call | {"function": {"name": call["function"]["name"], "arguments": whole[:5]}}]}
        )
        yield chunk({"tool_calls": [call | {"function": {"name": "", "arguments": whole[5:]}}]})
    if request.dialect == "mistral":
        yield chunk({"content": ""}, _openai_finish(answer), answer.usage)
    else:
        yield chunk({}, _openai_finish(answer))
        if answer.usage is not None and request.document.get("stream_options", {}).get("include_usage"):
            yield _sse(_openai(request, "chat.completion.chunk", [], answer.usage))
    yield b"data: [DONE]\n\n"


def _anthropic_finish(answer: Answer) -> str:
    if answer.tool_calls:
        return "tool_use"
    if answer.refusal:
        return "refusal"
    return {"stop": "end_turn", "length": "max_tokens"}.get(answer.finish, answer.finish)


def _anthropic_blocks(answer: Answer) -> list[dict[str, Any]]:
    blocks = anthropic_search(answer.searches)
    if answer.text:
        cited = anthropic_citations(answer.text, answer.searches)
        blocks.append({"type": "text", "text": answer.text, **({"citations": cited} if cited else {})})
    return blocks + [
        {"type": "tool_use", "id": f"call-{i:05}", "name": name, "input": dict(arguments)}
        for i, (name, arguments) in enumerate(answer.tool_calls)
    ]


def _anthropic_message(request: ModelRequest, answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"id": "m-1", "type": "message", "role": "assistant", "model": request.model}
    message |= {
        "content": _anthropic_blocks(answer),
        "stop_reason": _anthropic_finish(answer),
        "stop_sequence": None,
    }
    return message if answer.usage is None else message | {"usage": answer.usage}


def _anthropic_events(request: ModelRequest, answer: Answer, pieces: list[str]) -> Iterator[bytes]:
    reported = {} if answer.usage is None else answer.usage
    start = _anthropic_message(request, answer) | {"content": [], "stop_reason": None}
    if answer.usage is not None:
        start["usage"] = {k: v for k, v in reported.items() if k != "server_tool_use"} | {"output_tokens": 1}
    yield _sse({"type": "message_start", "message": start}, "message_start")
    for i, block in enumerate(_anthropic_blocks(answer)):
        empty, deltas = _anthropic_deltas(block, pieces if block.get("text") == answer.text else ())
        yield _sse({"type": "content_block_start", "index": i, "content_block": empty}, "content_block_start")
        for delta in deltas:
            yield _sse({"type": "content_block_delta", "index": i, "delta": delta}, "content_block_delta")
        yield _sse({"type": "content_block_stop", "index": i}, "content_block_stop")
    stop = {"stop_reason": _anthropic_finish(answer), "stop_sequence": None}
    made = {"output_tokens": reported["output_tokens"]} if "output_tokens" in reported else {}
    details = {k: v for k, v in reported.items() if k in ("output_tokens_details", "server_tool_use")}
    yield _sse({"type": "message_delta", "delta": stop, "usage": made | details}, "message_delta")
    yield _sse({"type": "message_stop"}, "message_stop")


def _anthropic_deltas(
    block: Mapping[str, Any], pieces: Sequence[str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the start and the deltas of a block; search results are not split."""
    if block["type"] == "text":
        words = [{"type": "text_delta", "text": piece} for piece in pieces or [block["text"]]]
        cited = [{"type": "citations_delta", "citation": citation} for citation in block.get("citations", ())]
        return {**block, "text": "", **({"citations": []} if cited else {})}, [*cited, *words]
    if block["type"] in ("tool_use", "server_tool_use"):
        whole = json.dumps(block["input"])
        parts = (whole[:5], whole[5:])
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]
    return dict(block), []


def _google(request: ModelRequest, text: str, answer: Answer, *, first: bool, last: bool) -> dict[str, Any]:
    parts = google_search(request.document, answer.searches) if first else []
    parts += [{"text": text}] if text else []
    if last:
        parts += [{"functionCall": {"name": name, "args": dict(args)}} for name, args in answer.tool_calls]
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    document: dict[str, Any] = {"candidates": [candidate], "modelVersion": request.model, "responseId": "g-1"}
    if last:
        if answer.searches:
            candidate["groundingMetadata"] = google_grounding(answer.text, answer.searches)
        finish = (
            "SAFETY"
            if answer.refusal
            else {"stop": "STOP", "length": "MAX_TOKENS"}.get(answer.finish, "STOP")
        )
        candidate["finishReason"] = finish
        if answer.usage is not None:
            document["usageMetadata"] = answer.usage
    return document
