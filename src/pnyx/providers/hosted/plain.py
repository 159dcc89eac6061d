"""Requests of text alone, written without pydantic-ai and the SDKs.

The libraries take a second of CPU to import and up to five milliseconds for each request, and most runs send
nothing but text. Every other request is written by `requests`. A test compares the two for all that is
written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from itertools import takewhile
from operator import attrgetter
from urllib.parse import urlsplit, urlunsplit

from ..._version import __version__
from ...core.steps import Schema
from ..base import Call
from .connection import HostRequest
from .plain_forms import PlainCall, PlainForm
from .texts import has_control_tokens, sendable, with_schema

__all__ = ["PlainWriter", "is_strict"]

WRITTEN = {"model", "messages", "max_tokens", "temperature", "seed", "schema", "timeout_s", "effort"} | {
    "thinking_tokens"
}
"""The fields of a call that a form writes, or that no request contains."""
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


class PlainWriter:
    """Writes plain requests to one host."""

    def __init__(self, form: PlainForm, base_url: str, api_key: str | None, headers: Iterable[str]) -> None:
        url = urlsplit(base_url)
        # Local hosts require no key, but the SDKs send one too.
        key = api_key or "none"
        self._form = form
        self._url = url._replace(path=url.path.rstrip("/").removesuffix(form.version))
        self._headers = [
            *((name, value.format(key=key)) for name, value in form.headers),
            *((name, key) for name in headers),
            ("User-Agent", f"pnyx/{__version__}"),
        ]

    @classmethod
    def of(
        cls,
        form: PlainForm,
        base_url: str,
        api_key: str | None,
        env: Mapping[str, str],
        headers: Iterable[str] = (),
    ) -> PlainWriter | None:
        """The writer for a host with the API `form`, or None if its requests contain more than that.

        headers: others in which the host reads the key.
        """
        url = urlsplit(base_url)
        if url.hostname in form.own_hosts or "@" in url.netloc or url.fragment:
            return None
        if form.variables is not None and any(map(form.variables.match, env)):
            return None
        return cls(form, base_url, api_key, headers) if (api_key or "").isascii() else None

    def write(
        self, call: Call, *, stream: bool, plain_schema: bool = False, reasons: bool = False
    ) -> HostRequest | None:
        """The request for `call`, or None if it is not plain. The arguments are those of `RequestBuilder`."""
        schema = call.schema
        if schema is not None:
            native = self._form.takes_schema(call.model)
            if native is None or not is_strict(schema):
                return None
            if plain_schema or not native:
                call, schema = with_schema(call, schema), None
        system = tuple(sendable(m.text) for m in takewhile(lambda m: m.role == "system", call.messages))
        turns = call.messages[len(system) :]
        if (
            not _is_plain(call)
            or not turns
            or turns[0].role != "user"
            or any(t.role == "system" for t in turns)
        ):
            return None
        host = self._url.hostname
        body = self._form.write(PlainCall(call, host, stream, reasons, system, turns, schema))
        return None if body is None else HostRequest(self._address(call, stream), list(self._headers), body)

    def _address(self, call: Call, stream: bool) -> str:
        form, url = self._form, self._url
        path, _, query = ((stream and form.stream_path) or form.path).format(model=call.model).partition("?")
        query = "&".join(filter(None, (query, url.query)))
        return urlunsplit((url.scheme, url.netloc, url.path + path, query, ""))


def _is_plain(call: Call) -> bool:
    return _others(call) == _OTHERS and not any(
        m.tool_calls or m.images or m.role == "tool" or not m.text.strip() or has_control_tokens(m.text)
        for m in call.messages
    )


def is_strict(schema: Schema) -> bool:
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
