"""Requests in the form of OpenAI's Responses API, written from those of its chat API.

Some models are offered there alone: o-series and GPT models with "pro" or "codex" in their names, deep
research, and others through GitHub Copilot. Their host refuses the chat request and says so; the same request
is then sent in this form, and so are later ones to that model. `replies.responses` reads the replies.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from ...core.caching.regex import regex
from .connection import HostRequest
from .failures import HostError
from .reports.report import Report

__all__ = ["ADDED", "as_responses", "in_chat_words", "wants_responses"]

CHAT = "/chat/completions"
RESPONSES = "/responses"
LEAST_TOKENS = 16
"""The least output limit that the API accepts."""
_KEPT = (
    *("model", "stream", "temperature", "top_p", "parallel_tool_calls", "prompt_cache_key", "user"),
    *("metadata", "service_tier", "reasoning"),
)
"""Parameters with the same name and place in both forms. Others are unknown to the Responses API."""
ADDED = {"store": False}
"""What a chat request sends is not stored either, and here the default is to store it."""
_LIMITS = ("max_completion_tokens", "max_tokens")

_WANTED = regex(
    r"\bv1/responses\b|(?<![\w.])/responses\b|\bresponses (?:api|endpoint)\b"
    r"|\bmodel\b(?:[^.]|\.(?=\S)){0,80}\b(?:not|n't)\b[^.]{0,60}chat[/ _-]?completions?\b"
    r"|chatCompletion operation",
    re.IGNORECASE,
)
_MOVED = regex(r"has moved|was moved|moved to", re.IGNORECASE)
"""A gateway has changed the request into this form already."""
_NAMES = {
    "max_output_tokens": "max_tokens",
    "reasoning.effort": "reasoning_effort",
    "text.format": "response_format",
}
"""Names of the Responses API -> those of the chat API."""
_NAME = regex("|".join(re.escape(name) for name in _NAMES))


def wants_responses(found: Report, body: Mapping[str, Any]) -> bool:
    """Whether the host says that the model of the chat request `body` is to be asked in the Responses API."""
    words = f"{found.code} {found.message}"
    return "messages" in body and bool(_WANTED.search(words)) and not _MOVED.search(words)


def in_chat_words(refused: HostError) -> HostError:
    """The failure of a request in this form with the names that its parameters have in the chat API."""

    def renamed(text: str) -> str:
        return _NAME.sub(lambda match: _NAMES[match[0]], _WANTED.sub("this API", text))

    found = refused.report
    found = replace(found, message=renamed(found.message), param=renamed(found.param))
    return HostError(refused.kind, found, refused.retry_after, refused.billed, refused.about_request)


def as_responses(request: HostRequest, dropped: Collection[str] = ()) -> HostRequest:
    """The same request in the form of the Responses API; one that is no chat request unchanged.

    dropped: the parameters that the model's host refuses.
    """
    url, chat = urlsplit(request.url), request.body
    if not url.path.endswith(CHAT):
        return request
    body: dict[str, Any] = {name: chat[name] for name in _KEPT if name in chat}
    body |= {name: value for name, value in ADDED.items() if name not in dropped}
    body["input"] = [item for turn in chat["messages"] for item in _items(turn)]
    if limit := next((chat[name] for name in _LIMITS if name in chat), None):
        body["max_output_tokens"] = max(limit, LEAST_TOKENS)
    if effort := chat.get("reasoning_effort"):
        body["reasoning"] = {"effort": effort}
    if tools := chat.get("tools"):
        body["tools"] = [_flat(tool) for tool in tools]
    if choice := chat.get("tool_choice"):
        body["tool_choice"] = _flat(choice) if isinstance(choice, Mapping) else choice
    if form := chat.get("response_format"):
        body["text"] = {"format": {"type": form.get("type"), **form.get("json_schema", {})}}
    path = url.path.removesuffix(CHAT) + RESPONSES
    address = urlunsplit((url.scheme, url.netloc, path, url.query, ""))
    return HostRequest(address, request.headers, body)


def _flat(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool, or the choice of one, without the object around its name."""
    return {"type": tool.get("type", "function"), **tool.get("function", {})}


def _items(turn: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the items that a message becomes."""
    role, content = turn["role"], turn.get("content")
    if role == "tool":
        yield {"type": "function_call_output", "call_id": turn.get("tool_call_id"), "output": content}
        return
    if content:
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        yield {"role": role, "content": [_part(part, role) for part in parts]}
    for call in turn.get("tool_calls") or ():
        yield {"type": "function_call", "call_id": call.get("id"), **call.get("function", {})}


def _part(part: Mapping[str, Any], role: str) -> dict[str, Any]:
    if part.get("type") == "image_url":
        image = part["image_url"]
        return {"type": "input_image", "image_url": image["url"] if isinstance(image, Mapping) else image}
    return {"type": "output_text" if role == "assistant" else "input_text", "text": part.get("text", "")}
