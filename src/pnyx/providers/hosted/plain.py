"""Requests of text alone to a host with OpenAI's chat API, written without pydantic-ai and the SDK.

The libraries take a second of CPU to import and a millisecond for each request, and most runs send nothing
but text. Every other request is written by `requests`. A test compares the two for all that is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from operator import attrgetter
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from ..._version import __version__
from ...core.caching.regex import regex
from ...core.steps import Schema
from ..base import Call
from .connection import HostRequest

__all__ = ["SEEDS", "PlainWriter", "sendable"]

OTHER_HOSTS = ("openrouter.ai", "api.deepseek.com")
"""Hosts with requests of their own."""
OFFICIAL = "api.openai.com"
SEEDS = 2**31
"""Google, xAI and DashScope read a seed as a signed number of 32 bits."""
WRITTEN = {"model", "messages", "max_tokens", "temperature", "seed", "schema", "timeout_s", "effort"}
"""The fields of a call that this module writes, or that no request contains."""
ADDED = {"cache_key", "traceparent"}
"""The fields that `HostedProvider` adds to any request."""
_DEFAULTS = {
    field.name: field.default
    for field in fields(Call)
    if field.default is not MISSING and field.name not in WRITTEN | ADDED
}
_others = attrgetter(*_DEFAULTS)
_OTHERS = tuple(_DEFAULTS.values())
"""What no plain request contains: all other fields have their defaults in a plain call."""
_SPECIAL = (
    *("<|", "|>", "[|", "<\uff5c", "_of_turn>", "INST]", "_PROMPT]", "_TOOLS]", "_RESULTS]", "_CALLS]"),
    *("e~[", "~b]", "~!b["),
)
"""Parts of the control tokens of chat templates, which pydantic-ai breaks up in texts."""
_SIGNS = ("|", "\uff5c", "]", "~", "_of_turn>")
"""What each of them contains one of."""
_OPENAI_MODEL = regex(r"(?i)(^|[^a-z0-9])(o\d|gpt|chatgpt|codex|computer-use)")
"""Names of models that take the effort in another form, or not at all."""
_REASONING_MODEL = regex(r"(?i)(^|[^a-z0-9])(o\d|gpt-(?!3|4|oss)|chatgpt|codex|computer-use)")
"""Names of models that may take no temperature."""
_NO_SYSTEM_ROLE = regex(r"(?i)(^|[^a-z0-9])o1-(mini|preview)")


class PlainWriter:
    """Writes plain requests to one host."""

    def __init__(self, base_url: str, api_key: str | None) -> None:
        url = urlsplit(base_url)
        path = url.path.rstrip("/") + "/chat/completions"
        self._url = urlunsplit((url.scheme, url.netloc, path, url.query, ""))
        self._official = url.hostname == OFFICIAL
        self._headers = [
            # Local hosts require no key, but the SDKs send one too.
            ("Authorization", f"Bearer {api_key or 'none'}"),
            ("Accept", "application/json"),
            ("Content-Type", "application/json"),
            ("User-Agent", f"pnyx/{__version__}"),
        ]

    @classmethod
    def of(cls, base_url: str, api_key: str | None, env: Mapping[str, str]) -> PlainWriter | None:
        """The writer for a host that speaks OpenAI's API, or None if its requests contain more than that."""
        url = urlsplit(base_url)
        if url.hostname in OTHER_HOSTS or "@" in url.netloc or url.fragment:
            return None
        if any(name.startswith("OPENAI_") and name not in _OWN_VARIABLES for name in env):
            return None  # the SDK sends some of them
        return cls(base_url, api_key) if (api_key or "").isascii() else None

    def write(
        self, call: Call, *, stream: bool, plain_schema: bool = False, reasons: bool = False
    ) -> HostRequest | None:
        """The request for `call`, or None if it is not plain. The arguments are those of `RequestBuilder`."""
        if not self._is_plain(call) or (call.schema is not None and plain_schema):
            return None
        body: dict[str, Any] = {
            "model": call.model,
            "stream": stream,
            "messages": [{"role": m.role, "content": sendable(m.text)} for m in call.messages],
            "max_completion_tokens" if self._official else "max_tokens": call.max_tokens,
        }
        if stream:
            body["stream_options"] = {"include_usage": True}
        if call.temperature is not None:
            body["temperature"] = call.temperature
        if call.seed is not None:
            body["seed"] = call.seed % SEEDS
        if call.effort is not None and (reasons or call.effort != "none"):
            body["reasoning_effort"] = call.effort
        if call.schema is not None:
            format = {"name": call.schema.name, "schema": call.schema.document, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": format}
        return HostRequest(self._url, list(self._headers), body)

    def _is_plain(self, call: Call) -> bool:
        if _others(call) != _OTHERS:
            return False
        if any(m.tool_calls or m.images or m.role == "tool" or not m.text.strip() for m in call.messages):
            return False
        roles = [message.role for message in call.messages]
        if roles.count("system") > roles.index("user") if "user" in roles else True:
            return False  # a system message after another turn, or no question
        if any(_has_special(message.text) for message in call.messages):
            return False
        if call.schema is not None and ("/" in call.model or not _is_strict(call.schema)):
            return False
        if call.temperature is not None and _REASONING_MODEL.search(call.model):
            return False
        if roles[0] == "system" and _NO_SYSTEM_ROLE.search(call.model):
            return False
        return call.effort is None or not (
            self._official or "/" in call.model or _OPENAI_MODEL.search(call.model)
        )


def _has_special(text: str) -> bool:
    # A prompt is searched for a character in a fraction of the time that it takes for a word.
    return any(map(text.__contains__, _SIGNS)) and any(map(text.__contains__, _SPECIAL))


_OWN_VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL")


def sendable(text: str) -> str:
    """`text` with U+FFFD for lone surrogates, which a model may write but no request can contain."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _is_strict(schema: Schema) -> bool:
    """Whether OpenAI's strict mode takes the schema as it is."""
    return schema.document.get("type") == "object" and _is_strict_part(schema.document)


def _is_strict_part(part: object) -> bool:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        return False
    if part["type"] == "object":
        properties = part.get("properties")
        return (
            part.keys() == {"type", "properties", "required", "additionalProperties"}
            and part["additionalProperties"] is False
            and isinstance(properties, dict)
            and bool(properties)
            and part["required"] == list(properties)
            and all(map(_is_strict_part, properties.values()))
        )
    if part["type"] == "array":
        return part.keys() == {"type", "items"} and _is_strict_part(part["items"])
    return part.keys() <= {"type", "enum"} and part["type"] in ("string", "integer", "number", "boolean")
