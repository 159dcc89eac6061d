"""The form of a reply, which may be that of another API than the one of the request.

Gateways pass on what the host behind them sends, and some hosts know only one form for all of their models.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ....core.caching.regex import regex
from ..usage import find
from . import cohere, converse
from .anthropic import AnthropicReader
from .google import GoogleReader
from .native import NativeReader, is_native
from .openai import OpenAIReader, holds_object
from .reply import Reader, mapping, text_of
from .responses import ResponsesReader, has_items

__all__ = ["Reply"]

_CONVERSE = (converse.EVENTS | {converse.BLOCK}) - {"metadata"}
"""Metadata come last, and other forms have a field of that name."""
_ANTHROPIC_EVENTS = ("message_start", "content_block_start", "content_block_delta")


class Reply:
    """One reply, read by the reader of its own form.

    reader: of the dialect, until a document shows another form.
    """

    def __init__(self, reader: type[Reader]) -> None:
        self.reader = reader()
        self._has_found = False
        """Whether usage was found where the reader does not look."""
        self._is_bare = False
        """Whether a document showed its form and was in no other one: then none is."""

    def has_reasoning(self) -> bool:
        """Whether the host has returned thoughts apart from the text so far."""
        return bool(self.reader.reasoning)

    def add(self, document: Any) -> Iterator[str]:
        """Read a document; see `Reader.add`."""
        whole = document
        if not self._is_bare and (type(document) is not dict or document.keys().isdisjoint(_PLAIN)):
            document = unwrapped(document)
        if not self.reader.any and isinstance(document, Mapping):
            form = _form(document)
            self._is_bare = form is not None and document is whole
            if form is None and is_native(document):
                form = NativeReader
            if form is not None and not isinstance(self.reader, form):
                self.reader = form()
        yield from self.reader.add(document)
        if isinstance(whole, Mapping) and (self._has_found or document is not whole or not self.reader.usage):
            plain = _PLACES if document is whole else ()
            if found := find({name: value for name, value in whole.items() if name not in plain}):
                self._has_found = True
                self.reader.report_usage(found)


def unwrapped(document: Any) -> Any:
    """The reply of a known form that a document holds: as text, in a gateway's field, or in another spelling.

    Any other document is returned as it is.
    """
    inner = _parsed(document)
    if not isinstance(inner, Mapping) or _is_reply(inner):
        return inner
    if inner.get("success") is False or any(inner.get(name) for name in ("error", "errors")):
        return inner
    level: list[Any] = [inner]
    for _ in range(MAX_WRAPPERS):
        level = [_parsed(one) for held in level for one in held.values()]
        level = [one[0] if isinstance(one, list) and one else one for one in level]
        level = [one for one in level if isinstance(one, Mapping)]
        spelt = (_snake(one) if CAPITALISED & one.keys() else one for one in level)
        if found := next(filter(_is_reply, spelt), None):
            return found
    if holds_object(result := mapping(inner.get("result"))):
        return result
    return _snake(inner) if CAPITALISED & inner.keys() else inner


def _is_reply(document: Mapping[str, Any]) -> bool:
    """Whether a document has a form that is read."""
    if _form(document) is not None:
        return document.get("choices", True) not in ([], None)
    message = mapping(document.get("message")) or document
    has_text = isinstance(document.get("response"), str) or {"content", "tool_calls"} & message.keys()
    return bool(has_text or is_native(document)) and not _quotes_reply(document)


def _quotes_reply(document: Mapping[str, Any]) -> bool:
    """Whether the text of a document is a whole reply of a known form."""
    texts = (_parsed(value) for value in document.values() if isinstance(value, str))
    return any(isinstance(one, Mapping) and _form(one) is not None for one in texts)


_PLAIN = frozenset(("choices", "candidates", "delta"))
"""Keys of almost all documents, which hold no other one."""
_PLACES = frozenset(
    (*_PLAIN, "type", "object", "id", "created", "model", "index", "message", "response", "usage")
)
"""Keys whose values have no usage, or where the readers look for it."""
MAX_WRAPPERS = 3
"""Of one in another: fields in which gateways and functions of clouds return a reply, or its text."""
CAPITALISED = {"Choices"}
"""A key that shows the spelling of Tencent's own API."""


def _parsed(value: Any) -> Any:
    """`value`, or the object that it holds as text."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _snake(value: Any, depth: int = 0) -> Any:
    """`value` with keys such as "FinishReason" spelt "finish_reason"."""
    if depth < MAX_DEPTH and isinstance(value, Mapping):
        return {_HUMP.sub("_", str(name)).lower(): _snake(one, depth + 1) for name, one in value.items()}
    if depth < MAX_DEPTH and isinstance(value, list):
        return [_snake(one, depth + 1) for one in value]
    return value


MAX_DEPTH = 8
_HUMP = regex(r"(?<=[a-z])(?=[A-Z])")


def _form(document: Mapping[str, Any]) -> type[Reader] | None:
    """The reader for a document of a known form; None if it shows none."""
    kind = text_of(document.get("type"))
    if "choices" in document:
        return OpenAIReader
    if "candidates" in document or "promptFeedback" in document:
        return GoogleReader
    if kind in _ANTHROPIC_EVENTS or (
        kind == "message" and isinstance(document.get("content"), list | Mapping)
    ):
        return AnthropicReader
    if document.get("object") == "response" or kind.startswith("response.") or "output_text" in document:
        return ResponsesReader
    if has_items(document):
        return ResponsesReader
    if kind in cohere.EVENTS:
        return cohere.CohereReader
    if _CONVERSE & document.keys() or "message" in mapping(document.get("output")):
        return converse.ConverseReader
    return None
