"""How each API writes a request of text alone.

`plain` says which calls are that. A function here returns None for a setting that only the libraries know for
the model of the call. What they send without need is left out: headers about themselves, nulls, defaults.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...core.caching.regex import regex
from ...core.steps import Schema
from ..base import Call, Message
from .texts import marked_parts, sendable
from .thinking import thinking_settings

__all__ = ["CHAT", "CONTENTS", "MESSAGES", "MISTRAL_CHAT", "SEEDS", "PlainCall", "PlainForm"]

Body: TypeAlias = dict[str, Any]

SEEDS = 2**31
"""Google, xAI and DashScope read a seed as a signed number of 32 bits."""
OFFICIAL = "api.openai.com"
_OPENAI_MODEL = regex(r"(?i)(^|[^a-z0-9])(o\d|gpt|chatgpt|codex|computer-use)")
"""Names of models that take the effort in another form, or not at all."""
_REASONING_MODEL = regex(r"(?i)(^|[^a-z0-9])(o\d|gpt-(?!3|4|oss)|chatgpt|codex|computer-use)")
"""Names of models that may take no temperature."""
_NO_SYSTEM_ROLE = regex(r"(?i)(^|[^a-z0-9])o1-(mini|preview)")
_SWITCHED_MISTRAL = regex(
    r"mistral-(small-(latest|2603)|medium(-latest|-3|-3[-.]5|-2604)?|large-4(-0)?)|magistral-(medium|small)-latest"
)
"""Mistral's models whose thinking can be switched, as `pydantic_ai.providers.mistral` lists them."""
_NEW_CLAUDE = regex(r"claude-(?![1-4]\b|instant|(haiku|sonnet|opus)-4($|@|-([0-6]|\d{8})\b))")
"""Claude models that think without a number of tokens and take no temperature."""
_SCHEMA_CLAUDE = regex(r"claude-(haiku-[45]-5|sonnet-(4-[56]|5)|opus-(4-[15678]|5)|(fable|mythos)-5)")
"""Claude models that take a schema as a parameter."""
CLAUDE_OUTPUT = 64_000
"""Tokens: the output limit that all later Claude models take."""
MARKED_MESSAGES = 2
"""Each has up to two marks for the cache, of which a request may have four."""
_BUDGET_GEMINI = regex(r"gemini-(1|2\.)|gemma")
"""Google's models that take a number of tokens of thinking, and no level."""


@dataclass(frozen=True, slots=True)
class PlainCall:
    """A call of text alone.

    host: its name. system: the texts before the turns, the first of which is a user's. schema: as a
    parameter; instructions: how to write it, where it is none, else "". reasons: the model is known to think.
    """

    call: Call
    host: str | None
    stream: bool
    reasons: bool
    system: tuple[str, ...]
    turns: tuple[Message, ...]
    schema: Schema | None
    instructions: str

    @property
    def sets_thinking(self) -> bool:
        return self.call.effort is not None or self.call.thinking_tokens is not None


@dataclass(frozen=True, slots=True)
class PlainForm:
    """The requests of one API.

    path, stream_path: of a request with {model}, after the base URL without `version`; the second is "" if it
    is the same. headers: with {key}. write: returns the body. takes_schema: whether a model takes a schema as
    a parameter, None if only the libraries know. own_hosts: those with requests of their own. variables: of
    the environment, from which the SDK adds headers.
    """

    path: str
    headers: tuple[tuple[str, str], ...]
    write: Callable[[PlainCall], Body | None]
    stream_path: str = ""
    version: str = ""
    takes_schema: Callable[[str], bool | None] = lambda model: True
    own_hosts: tuple[str, ...] = ()
    variables: re.Pattern[str] | None = None


def _settings(call: Call, limit: str, seed: str = "") -> Body:
    """The parameters that differ in nothing but their names. seed: "" if there is none."""
    settings: Body = {limit: call.max_tokens}
    if call.temperature is not None:
        settings["temperature"] = call.temperature
    if call.seed is not None and seed:
        settings[seed] = call.seed % SEEDS
    return settings


def _chat_turns(plain: PlainCall) -> Body:
    system = [*plain.system, *filter(None, [plain.instructions])]
    turns = [("system", text) for text in system] + [(turn.role, sendable(turn.text)) for turn in plain.turns]
    messages = [{"role": role, "content": text} for role, text in turns]
    return {"model": plain.call.model, "stream": plain.stream, "messages": messages}


def _chat(plain: PlainCall) -> Body | None:
    call, official = plain.call, plain.host == OFFICIAL
    if call.thinking_tokens is not None:
        return None
    if (plain.system or plain.instructions) and _NO_SYSTEM_ROLE.search(call.model):
        return None
    if call.temperature is not None and _REASONING_MODEL.search(call.model):
        return None
    if call.effort is not None and (official or "/" in call.model or _OPENAI_MODEL.search(call.model)):
        return None
    body = _chat_turns(plain)
    body |= _settings(call, "max_completion_tokens" if official else "max_tokens", "seed")
    if plain.stream:
        body["stream_options"] = {"include_usage": True}
    if call.effort is not None and (plain.reasons or call.effort != "none"):
        body["reasoning_effort"] = call.effort
    if plain.schema is not None:
        format = {"name": plain.schema.name, "schema": plain.schema.document, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": format}
    elif plain.instructions:
        body["response_format"] = {"type": "json_object"}
    return body


def _mistral_chat(plain: PlainCall) -> Body | None:
    call = plain.call
    if call.thinking_tokens is not None:
        return None
    body = _chat_turns(plain) | _settings(call, "max_tokens", "random_seed")
    if call.effort is not None and _SWITCHED_MISTRAL.fullmatch(call.model):
        body["reasoning_effort"] = "none" if call.effort == "none" else "high"
    return body


def _turns(plain: PlainCall, key: str, parts: Callable[[Message], list[Body]], assistant: str) -> list[Body]:
    """The turns, with messages of a user in a row as one. key: of their parts. assistant: its role."""
    turns: list[Body] = []
    for turn in plain.turns:
        if turn.role == "user" and turns and turns[-1]["role"] == "user":
            turns[-1][key] += parts(turn)
        else:
            turns.append({"role": assistant if turn.role == "assistant" else "user", key: parts(turn)})
    return turns


def _blocks(message: Message) -> list[Body]:
    mark = {"cache_control": {"type": "ephemeral", "ttl": "5m"}}
    if message.role != "user" or not message.breaks:
        return [{"type": "text", "text": sendable(message.text)}]
    return [
        {"type": "text", "text": text} | (mark if marked else {}) for text, marked in marked_parts(message)
    ]


def _messages(plain: PlainCall) -> Body | None:
    call = plain.call
    if _NEW_CLAUDE.search(call.model) and (plain.sets_thinking or call.temperature is not None):
        return None
    if "claude" in call.model and call.max_tokens > CLAUDE_OUTPUT:
        return None
    if sum(bool(turn.breaks) for turn in plain.turns) > MARKED_MESSAGES:
        return None
    body = {"model": call.model, "stream": plain.stream, **_settings(call, "max_tokens")}
    body["messages"] = _turns(plain, "content", _blocks, "assistant")
    thinking = thinking_settings(call, {}, "anthropic", plain.reasons).get("anthropic_thinking")
    if thinking:
        body["thinking"] = thinking
        body.pop("temperature", None)  # it needs the default
    system = "\n\n".join(plain.system)
    if plain.instructions:
        body["system"] = [{"type": "text", "text": one} for one in (system, plain.instructions) if one]
    elif system:
        body["system"] = system
    if plain.schema is not None:
        schema = _without_types(plain.schema.document)
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return body


def _without_types(part: Any) -> Any:
    """A schema without the types of values that it lists, as Anthropic's SDK sends it."""
    if isinstance(part, list):
        return part
    found = {
        k: _without_types(v) if k == "items" else v
        for k, v in part.items()
        if k != "type" or "enum" not in part
    }
    if "properties" in found:
        found["properties"] = {name: _without_types(one) for name, one in found["properties"].items()}
    return found


def _takes_claude_schema(model: str) -> bool | None:
    if _SCHEMA_CLAUDE.match(model):
        return True
    return None if "claude" in model else False


def _contents(plain: PlainCall) -> Body | None:
    call, model = plain.call, plain.call.model
    if "image" in model or not re.fullmatch(r"[\w.-]+", model, re.ASCII):
        return None
    if plain.sets_thinking and not _BUDGET_GEMINI.search(model):
        return None
    body: Body = {"contents": _turns(plain, "parts", lambda turn: [{"text": sendable(turn.text)}], "model")}
    system = [{"text": text} for text in (*plain.system, plain.instructions) if text]
    if system:
        body["systemInstruction"] = {"role": "user", "parts": system}
    config = {**_settings(call, "maxOutputTokens", "seed"), "responseModalities": ["TEXT"]}
    if call.schema is not None:
        config["responseMimeType"] = "application/json"
    if plain.schema is not None:
        config["responseJsonSchema"] = {**plain.schema.document, "title": plain.schema.name}
    thinking = thinking_settings(call, {}, "google", plain.reasons)
    if "google_thinking_config" in thinking:
        config["thinkingConfig"] = thinking["google_thinking_config"]
    elif thinking and "gemini-2.5" in model:
        always = "pro" in model and "flash" not in model
        config["thinkingConfig"] = {"thinking_budget": LEAST_GEMINI_BUDGET if always else 0}
    return body | {"generationConfig": config}


LEAST_GEMINI_BUDGET = 128
"""Tokens of thinking that Gemini Pro always takes."""

_ACCEPT = ("Accept", "application/json")
_JSON = ("Content-Type", "application/json")
_BEARER = ("Authorization", "Bearer {key}")
CHAT = PlainForm(
    "/chat/completions",
    (_BEARER, _ACCEPT, _JSON),
    _chat,
    # A host that calls its models by their vendors may change schemas as these do.
    takes_schema=lambda model: None if "/" in model else True,
    own_hosts=("openrouter.ai", "api.deepseek.com"),
    variables=regex(r"OPENAI_(?!API_KEY$|BASE_URL$)"),
)
MISTRAL_CHAT = PlainForm(
    "/v1/chat/completions",
    (_BEARER, _ACCEPT, _JSON),
    _mistral_chat,
    version="/v1",
    takes_schema=lambda model: False,
)
MESSAGES = PlainForm(
    "/v1/messages",
    (_BEARER, _ACCEPT, _JSON, ("anthropic-version", "2026-10-21")),
    _messages,
    version="/v1",
    takes_schema=_takes_claude_schema,
    variables=regex("ANTHROPIC_CUSTOM_HEADERS$"),
)
CONTENTS = PlainForm(
    "/v1beta/models/{model}:generateContent",
    (("x-goog-api-key", "{key}"), ("Accept", "*/*"), _JSON),
    _contents,
    stream_path="/v1beta/models/{model}:streamGenerateContent?alt=sse",
    version="/v1beta",
)
