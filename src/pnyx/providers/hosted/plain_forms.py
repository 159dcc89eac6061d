"""How each API writes a request of text alone.

`plain` says which calls are that. A function here returns None for a setting that only the libraries know for
the model of the call. What they send without need is left out: headers about themselves, nulls, defaults.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from ...core.caching.regex import regex
from ...core.steps import Schema
from ...core.thinking import Effort
from ..base import Call, Message
from .texts import marked_parts, sendable
from .thinking import LEAST_GEMINI_PRO, thinking_settings, wanted_effort

__all__ = ["CHAT", "CONTENTS", "MESSAGES", "MISTRAL_CHAT", "OFFICIAL", "SEEDS", "PlainCall", "PlainForm"]

Body: TypeAlias = dict[str, Any]
T = TypeVar("T")

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
"""Claude models that may take no number of tokens of thinking and no temperature."""
_SCHEMA_CLAUDE = regex(r"claude-(haiku-[45]-5|sonnet-(4-[56]|5)|opus-(4-[15678]|5)|(fable|mythos)-5)")
"""Claude models that take a schema as a parameter."""
CLAUDE_OUTPUT = 64_000
"""Tokens: the output limit that all later Claude models take."""
MARKED_MESSAGES = 2
"""Each has up to two marks for the cache, of which a request may have four."""
_OFF_OPENAI = (
    (regex(r"(o\d(-mini)?|gpt-6-astra|gpt-6\.1-sol)$"), "low"),
    (regex(r"gpt-5(-mini|-nano)?(-\d{4}-\d\d-\d\d)?$"), "minimal"),
    (regex(r"(gpt-5\.\d(-mini|-nano|-luna|-sol|-terra)?|gpt-6-luna|gpt-6\.1-terra)$"), "none"),
    (regex(r"gpt-4"), ""),
)
"""Models of OpenAI -> the effort that is sent for no thinking, "" for none. Here and below the first match
counts, and the libraries know of models that match nothing."""
_ADAPTIVE = {"type": "adaptive"}
_OFF_CLAUDE: tuple[tuple[re.Pattern[str], Body], ...] = (
    (
        regex(r"claude-(fable-5|mythos-5|opus-5-5)"),
        {"thinking": _ADAPTIVE, "output_config": {"effort": "low"}},
    ),
    (regex(r"claude-sonnet-5-5"), {"thinking": {"type": "between_tools"}}),
    (regex(r"claude-(opus-5|sonnet-5|haiku-5-5)"), {"thinking": {"type": "disabled"}}),
    (regex(r"claude-opus-4-[78]"), {}),
)
"""Claude models with levels of thinking -> what is sent for no thinking."""
_OFF_GEMINI = (
    (regex(r"gemini-(3\.1-pro|3\.[78]-flash|4-(argon|carbon))"), "LOW"),
    (regex(r"gemini-(3\.[15]-flash|decision-1)"), "MINIMAL"),
)
"""Google's models with levels of thinking -> the level for no thinking."""
_BUDGET_GEMINI = regex(r"gemini-(1|2\.)|gemma")
"""Google's models that take a number of tokens of thinking, and no level."""


@dataclass(frozen=True, slots=True)
class PlainCall:
    """A call of text alone.

    host: its name. system: the texts before the turns, the first of which is a user's. schema: as a
    parameter; None if the call has none or the turns describe it. reasons: see `set_thinking`.
    """

    call: Call
    host: str | None
    stream: bool
    reasons: bool
    system: tuple[str, ...]
    turns: tuple[Message, ...]
    schema: Schema | None

    @property
    def effort(self) -> Effort | None:
        return wanted_effort(self.call)


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


def _first(table: Iterable[tuple[re.Pattern[str], T]], model: str) -> T | None:
    return next((value for pattern, value in table if pattern.match(model)), None)


def _settings(call: Call, limit: str, seed: str = "") -> Body:
    """The parameters that differ in nothing but their names. seed: "" if there is none."""
    settings: Body = {limit: call.max_tokens}
    if call.temperature is not None:
        settings["temperature"] = call.temperature
    if call.seed is not None and seed:
        settings[seed] = call.seed % SEEDS
    return settings


def _chat_turns(plain: PlainCall) -> Body:
    turns: list[tuple[str, str]] = [("system", text) for text in plain.system]
    turns += [(turn.role, sendable(turn.text)) for turn in plain.turns]
    messages = [{"role": role, "content": text} for role, text in turns]
    body = {"model": plain.call.model, "stream": plain.stream, "messages": messages}
    if plain.schema is not None:
        format = {"name": plain.schema.name, "schema": plain.schema.document, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": format}
    return body


def _chat(plain: PlainCall) -> Body | None:
    call, official = plain.call, plain.host == OFFICIAL
    if call.thinking_tokens:
        return None
    if plain.system and _NO_SYSTEM_ROLE.search(call.model):
        return None
    if call.temperature is not None and _REASONING_MODEL.search(call.model):
        return None
    effort: str | None = plain.effort
    if effort is not None and official:
        if (off := _first(_OFF_OPENAI, call.model)) is None:
            return None
        effort = off if effort == "none" else effort
    elif effort is not None and ("/" in call.model or _OPENAI_MODEL.search(call.model)):
        return None
    elif effort == "none" and not plain.reasons:
        effort = None
    body = _chat_turns(plain)
    body |= _settings(call, "max_completion_tokens" if official else "max_tokens", "seed")
    if plain.stream:
        body["stream_options"] = {"include_usage": True}
    if effort:
        body["reasoning_effort"] = effort
    if plain.schema is None and call.schema is not None:
        body["response_format"] = {"type": "json_object"}
    return body


def _mistral_chat(plain: PlainCall) -> Body | None:
    call = plain.call
    if call.thinking_tokens:
        return None
    body = _chat_turns(plain) | _settings(call, "max_tokens", "random_seed")
    if plain.effort is not None and _SWITCHED_MISTRAL.fullmatch(call.model):
        body["reasoning_effort"] = "none" if plain.effort == "none" else "high"
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
    off = _first(_OFF_CLAUDE, call.model)
    if off is None and _NEW_CLAUDE.search(call.model) and (plain.effort or call.temperature is not None):
        return None
    if "claude" in call.model and call.max_tokens > CLAUDE_OUTPUT:
        return None
    if sum(bool(turn.breaks) for turn in plain.turns) > MARKED_MESSAGES:
        return None
    body = {"model": call.model, "stream": plain.stream, **_settings(call, "max_tokens")}
    body["messages"] = _turns(plain, "content", _blocks, "assistant")
    if off is not None:
        body.pop("temperature", None)
        level = {"thinking": _ADAPTIVE, "output_config": {"effort": plain.effort}}
        body |= deepcopy(off if plain.effort == "none" else level if plain.effort else {})
    elif thinking := thinking_settings(call, {}, "anthropic", plain.reasons).get("anthropic_thinking"):
        body["thinking"] = thinking
        body.pop("temperature", None)  # it needs the default
    if plain.system:
        body["system"] = "\n\n".join(plain.system)
    if plain.schema is not None:
        schema = _without_types(plain.schema.document)
        body.setdefault("output_config", {})["format"] = {"type": "json_schema", "schema": schema}
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
    off = _first(_OFF_GEMINI, model)
    if plain.effort and off is None and not _BUDGET_GEMINI.search(model):
        return None
    body: Body = {"contents": _turns(plain, "parts", lambda turn: [{"text": sendable(turn.text)}], "model")}
    if plain.system:
        body["systemInstruction"] = {"role": "user", "parts": [{"text": text} for text in plain.system]}
    config = {**_settings(call, "maxOutputTokens", "seed"), "responseModalities": ["TEXT"]}
    if call.schema is not None:
        config["responseMimeType"] = "application/json"
    if plain.schema is not None:
        config["responseJsonSchema"] = {**plain.schema.document, "title": plain.schema.name}
    thinking = thinking_settings(call, {}, "google", plain.reasons)
    if off is not None and plain.effort == "none":
        config["thinkingConfig"] = {"thinking_level": off}
    elif off is not None and plain.effort:
        config["thinkingConfig"] = {"include_thoughts": True, "thinking_level": plain.effort.upper()}
    elif "google_thinking_config" in thinking:
        config["thinkingConfig"] = thinking["google_thinking_config"]
    elif thinking and "gemini-2.5" in model:
        always = "pro" in model and "flash" not in model
        config["thinkingConfig"] = {"thinking_budget": LEAST_GEMINI_PRO if always else 0}
    return body | {"generationConfig": config}


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
