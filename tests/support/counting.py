"""The scripted host with the addresses at which hosts count the tokens of a request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.support import dialects
from tests.support.dialects import ModelRequest
from tests.support.script import Fault, Request
from tests.support.scripted import ScriptedHost

__all__ = ["BYTES", "CountingHost"]

BYTES = 6.0
"""Of a token, in Arabic with a recent encoding."""
CHARS_OUT = 4
"""Of a token, in replies."""
_LIMITS = ("max_tokens", "max_completion_tokens", "maxOutputTokens")
_INPUT, _TOTAL = ("input_tokens", "promptTokenCount", "prompt_tokens"), ("total_tokens", "totalTokenCount")
_TEXTS = ("messages", "system", "contents", "systemInstruction", "input")


class CountingHost(ScriptedHost):
    """Bills as many tokens of input as it counts, and ends replies at their limit.

    server: vllm or llama.cpp, in the dialect of OpenAI. bytes_in: of a token. answers: (path, document) ->
    status and body of a count, in place of the true one. counts: the requests for one, as path and document.
    """

    def __init__(self, server: str = "vllm", bytes_in: float = BYTES, **options: Any) -> None:
        super().__init__(**options)
        self.server, self.bytes_in = server, bytes_in
        self.answers: Callable[[str, Any], tuple[int, bytes]] = self.count
        self.counts: list[tuple[str, Any]] = []

    def tokens(self, document: Any) -> int:
        """The tokens of all text of a request."""
        text = "\n".join(_strings([document[key] for key in _TEXTS if key in document]))
        return round(len(text.encode()) / self.bytes_in) + 8

    def count(self, path: str, document: Any) -> tuple[int, bytes]:
        """The true answer to a request for a count, or that there is no such page."""
        found: dict[str, Any] | None = None
        if path.endswith(("/v1/messages/count_tokens", "/v1/responses/input_tokens")):
            found = {"input_tokens": self.tokens(document)}
        elif path.endswith(":countTokens"):
            found = {"totalTokens": self.tokens(document["generateContentRequest"])}
        elif path == "/tokenize" and self.server == "llama.cpp":
            found = {"tokens": []}
        elif path == "/tokenize" and self.server == "vllm":
            found = {"count": self.tokens(document), "max_model_len": 200_000, "tokens": [1]}
        elif path == "/v1/chat/completions/input_tokens" and self.server == "llama.cpp":
            found = {"input_tokens": self.tokens(document)}
        return (
            (404, dialects.error(404, "no such page")) if found is None else (200, json.dumps(found).encode())
        )

    def other_response(self, path: str, raw: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        path = path.partition("?")[0]
        if not raw or path.startswith("/__"):
            return super().other_response(path, raw, headers)
        document = json.loads(raw)
        self.counts.append((path, document))
        return self.answers(path, document)

    def admit(
        self, path: str, raw: bytes, headers: dict[str, str]
    ) -> tuple[ModelRequest, Request, Fault] | None:
        admitted = super().admit(path, raw, headers)
        if admitted is None:
            return None
        parsed, request, fault = admitted
        text = dialects.default_text(parsed) if fault.text is None else fault.text
        text = text(request) if callable(text) else text
        if len(text) > (most := CHARS_OUT * _limit(parsed.document) - 1):
            text, fault = text[:most], replace(fault, finish="length")
        usage, tokens = dialects.usage(parsed, text), self.tokens(parsed.document)
        name = next(name for name in _INPUT if name in usage)
        more = tokens - usage[name]
        usage |= {one: usage[one] + more for one in (name, *_TOTAL) if one in usage}
        return parsed, request, replace(fault, text=text, usage=usage)


def _limit(document: Any) -> int:
    settings = {**document, **document.get("generationConfig", {})}
    return next(settings[name] for name in _LIMITS if name in settings)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in ("text", "content", "parts"):
                yield from _strings(item)
    elif isinstance(value, str):
        yield value
