"""Texts as requests contain them."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

from ...core.steps import Schema
from ..base import Call, Message

__all__ = ["has_control_tokens", "marked_parts", "sendable", "with_schema"]

SCHEMA = "Reply with one JSON object that follows this JSON schema, and with nothing around it:\n\n{schema}"
"""What asks for a schema in the prompt, for models and hosts that take none as a parameter."""

CONTROL_TOKENS = {
    "|": ("<|", "|>", "[|"),
    "\uff5c": ("<\uff5c",),
    "]": ("INST]", "_PROMPT]", "_TOOLS]", "_RESULTS]", "_CALLS]"),
    "~": ("e~[", "~b]", "~!b["),
    "_of_turn>": ("_of_turn>",),
}
"""Sign -> the parts of control tokens of chat templates with it, which pydantic-ai breaks up in texts."""


def has_control_tokens(text: str) -> bool:
    # A prompt is searched for a character in a fraction of the time that it takes for a word.
    return any(sign in text and any(map(text.__contains__, CONTROL_TOKENS[sign])) for sign in CONTROL_TOKENS)


def sendable(text: str) -> str:
    """`text` with U+FFFD for lone surrogates, which a model may write but no request can contain."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def with_schema(call: Call, schema: Schema) -> Call:
    """`call` with `schema` in the words of its last task, for a model or host that takes none as a parameter.

    Not in the system message: a request without this schema could then share no prefix with it.
    """
    words = SCHEMA.format(schema=json.dumps({**schema.document, "title": schema.name}))
    messages = list(call.messages)
    at = max((at for at, message in enumerate(messages) if message.role == "user"), default=None)
    if at is None:
        messages.append(Message("user", words))
    else:
        messages[at] = replace(messages[at], text=f"{messages[at].text}\n\n{words}")
    return replace(call, messages=tuple(messages))


def marked_parts(message: Message) -> list[tuple[str, bool]]:
    """The text in a part for each prefix that other requests share, and whether a mark for a cache follows.

    The first of `breaks` and the last part have one: earlier requests have written those between to the
    cache. A host looks for them where parts end.
    """
    places = sorted(set(message.breaks) - {0})
    parts = [
        (sendable(message.text[start:end]), end in (message.breaks[0], places[-1]))
        for start, end in pairwise((0, *places))
    ]
    rest = message.text[places[-1] if places else 0 :]
    return [*parts, (sendable(rest), False)] if rest.strip() else parts
