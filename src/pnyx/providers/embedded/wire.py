"""What is said to llama.cpp's server, and what is made of its answers. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...core.models import Usage
from ...core.regex import regex
from ...errors import ProviderError
from ..base import Call, Message

__all__ = ["bounded", "error", "looped", "request", "spent"]

CHARS_PER_TOKEN = 2.5
"""Fewer than English has (4), so that text in other languages, digits and escapes fits too."""
SHORTEST = 40
"""Characters left to each text of a schema, however many there are."""
PERIOD = 150
"""Characters of the longest phrase whose repetition is noticed."""
REPEATED = 200
"""Characters of nothing but repetition, four times at least, before a model counts as stuck."""


def request(call: Call) -> dict[str, Any]:
    """The call as an OpenAI chat request, held to what a small model can do."""
    asked: dict[str, Any] = {
        "messages": [_message(m) for m in call.messages],
        "max_tokens": max(1, call.max_tokens),
        "stream": True,
        "stream_options": {"include_usage": True},
        # Chunks while the prompt is read, so that a call can be stopped then too.
        "return_progress": True,
        # What was read and written so far, for a reply that is stopped.
        "timings_per_token": True,
    }
    if call.temperature is not None:
        asked["temperature"] = call.temperature
    if call.seed is not None:
        # 2^32 - 1 means a random seed there.
        asked["seed"] = call.seed % (2**32 - 1)
    if call.schema is not None:
        schema = {"name": call.schema.name, "schema": bounded(call.schema.document, call.max_tokens)}
        asked["response_format"] = {"type": "json_schema", "json_schema": schema}
    return asked


def _message(message: Message) -> dict[str, str]:
    """The message as chat templates of small models know it: a tool's result is something the user says."""
    role = "user" if message.role == "tool" else message.role
    return {"role": role, "content": _plain(message.text)}


_CONTROL = regex(r"<(?=\|\w+\|>|(?:start|end)_of_turn>|/?s>|\uff5c[^\uff5c\s]+\uff5c>)|\[(?=/?INST\])")


def _plain(text: str) -> str:
    """The text without what the tokenizer would take as the end of a turn or the start of another.

    Chat templates mark turns in the text itself (`<|im_end|>`), so whoever is quoted could end the
    user's turn and speak as the system. One space inside keeps the mark readable and powerless.
    """
    whole = text.encode("utf-8", "replace").decode()
    return _CONTROL.sub(lambda match: f"{match[0]} ", whole)


def bounded(schema: Mapping[str, Any], max_tokens: int) -> dict[str, Any]:
    """The schema with a length for every text that has none, so that the reply can end within `max_tokens`.

    A list of given things gets one too: it holds each of them once at most. A small model that is held to
    a schema writes on in one text or list until its tokens are spent, and JSON that is cut off is lost
    whole. The grammar closes it instead.
    """
    texts = len(list(_texts(schema)))
    length = max(SHORTEST, int(max_tokens * CHARS_PER_TOKEN / max(1, texts)))

    def held(value: Any) -> Any:
        if isinstance(value, Mapping):
            inner = {key: held(one) for key, one in value.items()}
            if (most := _things(value)) is not None:
                return {"maxItems": most} | inner
            return inner | {"maxLength": length} if _free(value) else inner
        return [held(one) for one in value] if isinstance(value, list) else value

    whole: dict[str, Any] = held(schema)
    return whole


def _things(schema: Any) -> int | None:
    """How many different things a list may hold, also one of lists of them; None where that is open."""
    items = schema.get("items") if isinstance(schema, Mapping) else None
    if not isinstance(items, Mapping):
        return None
    return len(items["enum"]) if "enum" in items else _things(items)


def _texts(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping) and _free(value):
        yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for one in inner:
        yield from _texts(one)


def _free(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "string" and not {"enum", "const", "maxLength"} & schema.keys()


def looped(text: str) -> int | None:
    """Where a text that ends in one phrase again and again begins to repeat it; None where it does not."""
    for period in range(1, min(PERIOD, len(text) - 1) + 1):
        if text[-1] != text[-1 - period]:  # asked after every token: most periods end here
            continue
        span = max(3 * period, REPEATED - period)
        if len(text) >= span + period and text[-span:] == text[-span - period : -period]:
            end = len(text) - span
            while end > period and text[end - 1] == text[end - 1 - period]:
                end -= 1
            return end
    return None


def spent(chunk: Mapping[str, Any]) -> Usage | None:
    """The tokens of a reply: all of them in its last chunk, in the others those until then."""
    if usage := chunk.get("usage"):
        cached = usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)
        return Usage(usage["prompt_tokens"], cached, usage["completion_tokens"])
    if timings := chunk.get("timings"):
        cached = timings["cache_n"]
        return Usage(timings["prompt_n"] + cached, cached, timings["predicted_n"])
    return None


def error(said: Mapping[str, Any]) -> ProviderError:
    """What the engine says went wrong, as the error that callers know."""
    if said.get("type") == "exceed_context_size_error":
        return ProviderError(
            "too_long", f"the prompt has {said['n_prompt_tokens']} tokens, a slot holds {said['n_ctx']}"
        )
    kind = "refused" if said.get("code") == 400 else "unavailable"
    return ProviderError(kind, f"the embedded engine: {said.get('message')}")
