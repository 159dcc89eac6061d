"""Changes to the body of a request, in any dialect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .thinking import claude_budget

__all__ = [
    "OUTPUT_LIMITS",
    "SCHEMA",
    "drop",
    "has_system",
    "holders",
    "lower_limit",
    "merge_system",
    "names",
    "output_limit",
    "set_stream",
]

OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "maxOutputTokens", "max_output_tokens")
SCHEMA = frozenset(
    ("response_format", "output_config.format", "responseJsonSchema", "responseSchema", "responseMimeType")
)
"""Parameters that hold the schema or the form of a reply."""
NESTED = "cache_control"
"""A parameter of parts of messages, instructions and tools."""
INSIDE = ("format", "effort")
"""What `output_config` may hold."""
ONLY_WITH_TOOLS = ("tool_choice", "parallel_tool_calls", "toolConfig")
SYSTEM_ROLES = {"system", "developer"}


def holders(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The objects that hold parameters."""
    yield body
    inner = body.get("generationConfig")
    if isinstance(inner, dict):
        yield inner


def names(body: dict[str, Any]) -> list[str]:
    """The parameters of a request."""
    found = [name for holder in holders(body) for name in holder]
    inside = body.get("output_config")
    found += [f"output_config.{name}" for name in INSIDE if isinstance(inside, dict) and name in inside]
    return [*found, NESTED] if any(_parts(body, NESTED)) else found


def drop(body: dict[str, Any], dropped: set[str]) -> None:
    """Remove the parameters `dropped`, and those that mean nothing without them."""
    for holder in holders(body):
        for name in dropped & holder.keys():
            del holder[name]
    inside = body.get("output_config")
    if isinstance(inside, dict):
        for name in INSIDE:
            if f"output_config.{name}" in dropped:
                inside.pop(name, None)
        if not inside:
            del body["output_config"]
    if NESTED in dropped:
        for part in list(_parts(body, NESTED)):
            del part[NESTED]
    if not body.get("tools"):
        for name in ONLY_WITH_TOOLS:
            body.pop(name, None)


def _parts(value: Any, name: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in messages, instructions and tools that have the key `name`."""
    if isinstance(value, dict):
        if name in value:
            yield value
        for key in ("messages", "system", "tools", "content"):
            yield from _parts(value.get(key), name)
    elif isinstance(value, list):
        for one in value:
            yield from _parts(one, name)


def output_limit(body: dict[str, Any]) -> tuple[dict[str, Any], str] | None:
    """The object with the output limit, and the limit's name."""
    places = ((h, name) for h in holders(body) for name in OUTPUT_LIMITS if isinstance(h.get(name), int))
    return next(places, None)


def lower_limit(body: dict[str, Any], most: int) -> None:
    """Lower the output limit to `most`. Models of Anthropic think in less than it, or not at all."""
    place = output_limit(body)
    if place is None or place[0][place[1]] <= most:
        return
    place[0][place[1]] = most
    thinking = body.get("thinking")
    if isinstance(thinking, dict) and (wanted := thinking.get("budget_tokens")):
        thinking["budget_tokens"] = claude_budget(wanted, most)
        if not thinking["budget_tokens"]:
            del body["thinking"]


def set_stream(body: dict[str, Any], stream: bool, options: bool) -> None:
    """Ask for a stream, or for none. options: the host knows `stream_options`."""
    if "messages" not in body:
        return  # the address decides
    if not stream:
        body.pop("stream", None)
        body.pop("stream_options", None)
    elif not body.get("stream"):
        body["stream"] = True
        if options and "system" not in body:
            body["stream_options"] = {"include_usage": True}


def has_system(body: dict[str, Any]) -> bool:
    """Whether a system or developer message, or instructions beside the messages, are sent."""
    messages = body.get("messages") or ()
    roles = {message.get("role") for message in messages if isinstance(message, dict)}
    return bool(roles & SYSTEM_ROLES or body.get("systemInstruction") or body.get("system"))


def merge_system(body: dict[str, Any]) -> None:
    """Put the system message before the text of the first user message."""
    texts = [_text(body.pop(name, None)) for name in ("system", "systemInstruction")]
    key = "contents" if "contents" in body else "messages"
    turns = [turn for turn in body.get(key, ()) if isinstance(turn, dict)]
    texts += [_text(turn.get("content")) for turn in turns if turn.get("role") in SYSTEM_ROLES]
    turns = [turn for turn in turns if turn.get("role") not in SYSTEM_ROLES]
    body[key] = turns
    system = "\n\n".join(filter(None, texts))
    if not system:
        return
    first = next((turn for turn in turns if turn.get("role") == "user"), None)
    if first is None:
        first = {"role": "user", "parts": []} if key == "contents" else {"role": "user", "content": ""}
        turns.insert(0, first)
    part = "parts" if key == "contents" else "content"
    if isinstance(first[part], str):
        first[part] = "\n\n".join(filter(None, (system, first[part])))
    else:
        first[part] = [
            {"text": system} if key == "contents" else {"type": "text", "text": system},
            *first[part],
        ]


def _text(content: Any) -> str:
    """The text of a message's content, or of an instruction."""
    if isinstance(content, dict):
        content = content.get("parts") or content.get("text")
    if isinstance(content, list):
        return "\n\n".join(_text(part) for part in content)
    return content if isinstance(content, str) else ""
