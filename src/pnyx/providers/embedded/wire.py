"""Requests to llama.cpp's server, and its replies as pnyx's types. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...core.caching.regex import regex
from ...core.models import Usage
from ...errors import ProviderError
from ..base import Call, Message
from ..hosted.usage import OPENAI

__all__ = ["bound_schema", "build_request", "loop_start", "read_error", "read_usage"]

CHARS_PER_TOKEN = 2.5
"""Less than in English (4), so that text in other languages, digits and escapes fits too."""
MIN_TEXT = 40
"""Characters for each text of a schema, however many texts it has."""
PERIOD = 150
"""Characters of the longest phrase whose repetition counts."""
REPEATED = 200
"""Characters of repetition, of four times at least, from which on a model counts as stuck."""


def build_request(call: Call) -> dict[str, Any]:
    """The call as an OpenAI chat request, limited to what a small model can do."""
    body: dict[str, Any] = {
        "messages": [_message(m) for m in call.messages],
        "max_tokens": max(1, call.max_tokens),
        "stream": True,
        "stream_options": {"include_usage": True},
        # Chunks while the prompt is processed, so that a call can be stopped then too.
        "return_progress": True,
        # The token counts so far, for a reply that is stopped.
        "timings_per_token": True,
    }
    if call.temperature is not None:
        body["temperature"] = call.temperature
    if call.seed is not None:
        # 2^32 - 1 means a random seed there.
        body["seed"] = call.seed % (2**32 - 1)
    if call.schema is not None:
        schema = {"name": call.schema.name, "schema": bound_schema(call.schema.document, call.max_tokens)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if call.effort is not None:
        # For the model's chat template; one that does not know thinking ignores it.
        thinks = call.effort != "none"
        body["chat_template_kwargs"] = {"enable_thinking": thinks}
        if thinks:
            body["chat_template_kwargs"]["reasoning_effort"] = call.effort
    if call.thinking_tokens:
        body["thinking_budget_tokens"] = call.thinking_tokens
    return body


def _message(message: Message) -> dict[str, str]:
    """The message for the chat templates of small models: a tool's result is a message of the user."""
    role = "user" if message.role == "tool" else message.role
    return {"role": role, "content": _plain(message.text)}


_CONTROL = regex(r"<(?=\|\w+\|>|(?:start|end)_of_turn>|/?s>|\uff5c[^\uff5c\s]+\uff5c>)|\[(?=/?INST\])")


def _plain(text: str) -> str:
    """The text without marks that the tokenizer reads as the end or start of a turn.

    Chat templates mark turns in the text itself (`<|im_end|>`), so quoted text could end the user's turn and
    start one of the system. One space inside keeps a mark readable and without effect.
    """
    whole = text.encode("utf-8", "replace").decode()
    return _CONTROL.sub(lambda match: f"{match[0]} ", whole)


def bound_schema(schema: Mapping[str, Any], max_tokens: int) -> dict[str, Any]:
    """The schema with a length for every text that has none, so that the reply can end within `max_tokens`.

    A list of fixed values gets one too: each value once at most. With a schema, a small model writes on in
    one text or list until its tokens are used up, and JSON that is cut off cannot be read. The grammar ends
    it before.
    """
    texts = len(list(_texts(schema)))
    length = max(MIN_TEXT, int(max_tokens * CHARS_PER_TOKEN / max(1, texts)))

    def bound(value: Any) -> Any:
        if isinstance(value, Mapping):
            inner = {key: bound(one) for key, one in value.items()}
            if (count := _item_count(value)) is not None:
                return {"maxItems": count} | inner
            return inner | {"maxLength": length} if _is_unbounded(value) else inner
        return [bound(one) for one in value] if isinstance(value, list) else value

    whole: dict[str, Any] = bound(schema)
    return whole


def _item_count(schema: Any) -> int | None:
    """How many different values a list, or a list of lists, may have; None if that is open."""
    items = schema.get("items") if isinstance(schema, Mapping) else None
    if not isinstance(items, Mapping):
        return None
    return len(items["enum"]) if "enum" in items else _item_count(items)


def _texts(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping) and _is_unbounded(value):
        yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for one in inner:
        yield from _texts(one)


def _is_unbounded(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "string" and not {"enum", "const", "maxLength"} & schema.keys()


def loop_start(text: str) -> int | None:
    """Where a text that ends in a repeated phrase starts to repeat it; None without repetition."""
    for period in range(1, min(PERIOD, len(text) - 1) + 1):
        if text[-1] != text[-1 - period]:  # called after every token: most periods end here
            continue
        span = max(3 * period, REPEATED - period)
        if len(text) >= span + period and text[-span:] == text[-span - period : -period]:
            end = len(text) - span
            while end > period and text[end - 1] == text[end - 1 - period]:
                end -= 1
            return end
    return None


def read_usage(chunk: Mapping[str, Any]) -> Usage | None:
    """The tokens of a reply: all of them in its last chunk, those so far in the others."""
    return OPENAI.usage(chunk.get("usage") or chunk.get("timings") or {})


def read_error(message: Mapping[str, Any]) -> ProviderError:
    """The engine's error as a `ProviderError`."""
    if message.get("type") == "exceed_context_size_error":
        return ProviderError(
            "too_long",
            f"the prompt has {message['n_prompt_tokens']} tokens, a slot has room for {message['n_ctx']}",
        )
    kind = "refused" if message.get("code") == 400 else "unavailable"
    return ProviderError(kind, f"the embedded engine: {message.get('message')}")
