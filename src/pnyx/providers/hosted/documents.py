"""The JSON documents of a reply, whatever form the host gives it.

A host may answer a request for a stream with one document, and the other way round; with a JSON array, or
with one document per line. The form is read from the body, because content types are often wrong. Events
need no blank line between them, may have comments, any line end, a byte order mark and data on several lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...errors import ProviderError
from .failures import QUOTE_CHARS, quote, unreadable

__all__ = ["DONE", "Documents"]

DONE = object()
"""What `Documents` returns for the event that ends a stream: [DONE]."""
_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}".encode()
_BLANK = b"\r\n\t \0\x1e"
_DONE = re.compile(rb"[\"\[\s]*done[\"\]\s]*", re.IGNORECASE)
_TAG = re.compile(rb"\s*\[[\w -]+\]", re.ASCII)
"""Words such as "[INFO] in a queue", which start like a list."""
_DECODER = json.JSONDecoder(strict=False)
"""Reads text with control characters that its host has not escaped."""
_SPACE = re.compile(r"\s*(?:,\s*)?(?:data:\s*)?")
"""Between two documents, of which each may be an event that lacks its line end, or part of a list."""
_FIELDS = (b"data", b"event", b"id", b"retry", b"error", b"")
"""Fields of server-sent events; the empty one is a comment, and "error" one of older llama.cpp servers."""


@dataclass(slots=True)
class Documents:
    """Reads a body in pieces. `feed` and `end` return the documents that are complete.

    charset: the encoding that the host announces, for text that is not UTF-8. words: the first event that is
    no JSON. start: how the body starts.
    Raises `ProviderError`: "malformed" for what is neither JSON nor events, "truncated" if the body ends
    inside a document.
    """

    charset: str = ""
    words: str = ""

    _start: bytearray = field(default_factory=bytearray)
    _rest: bytearray = field(default_factory=bytearray)
    _events: bool | None = None
    _data: list[bytes] = field(default_factory=list)
    _named_error: bool = False
    _searched: int = 0

    @property
    def start(self) -> str:
        return quote(bytes(self._start).removeprefix(_BOM))

    @property
    def is_stream(self) -> bool:
        """Whether the body is a stream of events."""
        return bool(self._events)

    def feed(self, piece: bytes) -> Iterator[Any]:
        self._rest += piece
        if len(self._start) < QUOTE_CHARS:
            self._start += (piece if self._start else piece.lstrip())[:QUOTE_CHARS]
        if self._events is None:
            self._recognise(bool(piece))
        if self._events:
            yield from self._lines()

    def end(self) -> Iterator[Any]:
        if self._events is None:
            self._recognise(False)
        if self._events:
            yield from self._last_lines()
            return
        body = bytes(self._rest).strip()
        if not body:
            return
        if any(name.startswith(body) for name in _FIELDS):
            message = f"the stream ended inside its first event: {quote(body)}"
            raise ProviderError("truncated", message, billed=True)
        try:
            document = self._decoded(body)
        except RecursionError as exc:
            raise ProviderError("malformed", "the reply is nested too deep", billed=True) from exc
        except ValueError:
            if behind := _behind_words(body):
                yield from self._behind(behind)
            else:
                yield from _several(body, unreadable("the reply is not JSON", body))
            return
        if isinstance(document, str) and document.partition(":")[0].strip().encode() in _FIELDS:
            yield from self._behind(document.encode())  # events as the text of one document
            return
        yield from document if isinstance(document, list) else (document,)

    def _recognise(self, more: bool) -> None:
        """Set `_events` once the first line shows whether the body is a stream of events.

        What comes before the first line says nothing: OpenRouter sends blank lines for as long as it waits.
        """
        self._rest = self._rest.lstrip(_BLANK)
        if self._rest.startswith(_BOM):
            self._rest = self._rest[len(_BOM) :].lstrip(_BLANK)
        start = bytes(self._rest[:64])
        if more and _BOM.startswith(start):
            return
        name, colon, _ = start.partition(b":")
        if more and not colon and any(known.startswith(name.strip()) for known in _FIELDS) and len(start) < 8:
            return
        self._events = bool(colon) and name.strip().lower() in _FIELDS

    def _behind(self, body: bytes) -> Iterator[Any]:
        """Yield the documents of `body`, which stands behind a line of other words or in another document."""
        rest = Documents(charset=self.charset)
        yield from rest.feed(body)
        yield from rest.end()
        self._events, self.words = rest._events, rest.words

    def _lines(self) -> Iterator[Any]:
        """Yield the documents of the whole lines so far. A "\\r" at the end may be half of a "\\r\\n"."""
        end = max(self._rest.rfind(b"\n", self._searched), self._rest.rfind(b"\r", self._searched, -1)) + 1
        self._searched = max(len(self._rest) - 1, 0)
        if not end:
            return
        block = bytes(self._rest[:end])
        del self._rest[:end]
        self._searched = max(len(self._rest) - 1, 0)
        for line in _split_lines(block):
            yield from self._line(line)

    def _last_lines(self) -> Iterator[Any]:
        """Yield the documents of what is left. The last event needs no line end if it is complete."""
        for line in _split_lines(bytes(self._rest)):
            yield from self._line(line)
        self._rest.clear()
        if self._data:
            data = b"\n".join(self._data)
            found, document = self._parse(data)
            if found:
                yield document
            else:
                words = f"the stream ended inside an event: {quote(data)}"
                yield from _several(data, ProviderError("truncated", words, billed=True))

    def _line(self, line: bytes) -> Iterator[Any]:
        line = line.lstrip(b"\0").removeprefix(_BOM)
        if not line.strip():
            if self._data:
                yield from self._dispatch()
            self._named_error = False
            return
        name, colon, value = line.partition(b":")
        name = name.strip().lower()
        if line.lstrip()[:1] in (b"{", b"["):
            name, colon, value = b"data", b":", line  # a document without its field name
        if not colon or name not in _FIELDS:
            if self._data:
                self._data.append(line)  # a line of a document that was broken without repeating the field
            elif not any(known.startswith(name) for known in _FIELDS):
                self.words = self.words or quote(line)  # such as the page of a gateway that gave up
            return
        if name == b"event":
            self._named_error = value.strip() == b"error"
        elif name == b"error":
            found, document = self._parse(value)
            yield {"error": document if found else value.decode("utf-8", "replace").strip()}
        elif name == b"data":
            value = value.removeprefix(b" ")
            if value.startswith(b"data:"):
                value = value[5:].removeprefix(b" ")  # some gateways wrap an event that is one already
            self._data.append(value)
            # Events without a blank line between them have one line of data each.
            found, document = self._parse(value) if len(self._data) == 1 else (False, None)
            if found:
                self._data.clear()
                is_bare = self._named_error and isinstance(document, dict) and "error" not in document
                yield {"error": document} if is_bare else document

    def _dispatch(self) -> Iterator[Any]:
        """Yield the document of an event that has several lines of data, or none that is JSON."""
        data = b"\n".join(self._data)
        self._data.clear()
        found, document = self._parse(data)
        if found:
            yield document
        elif self._named_error:
            yield {"error": data.decode("utf-8", "replace").strip()}
        else:
            problem = unreadable("an event is not JSON", data)
            is_tag = _TAG.match(data) is not None and problem.kind == "malformed"
            if data.strip()[:1] in (b"{", b"[") and not is_tag:
                yield from _several(data, problem)
            else:
                self.words = self.words or quote(data)  # such as a sign of life in words of the host's own

    def _parse(self, data: bytes) -> tuple[bool, Any]:
        """Return whether `data` is a document, and the document."""
        text = data.strip()
        if _DONE.fullmatch(text):
            return True, DONE
        try:
            return True, self._decoded(text)
        except RecursionError as exc:
            raise ProviderError("malformed", "an event is nested too deep", billed=True) from exc
        except ValueError:
            return False, None

    def _decoded(self, text: bytes) -> Any:
        try:
            return json.loads(text)
        except UnicodeDecodeError:
            return json.loads(self._characters(text), strict=False)
        except ValueError:
            return json.loads(text, strict=False)

    def _characters(self, text: bytes) -> str:
        """The text of bytes that are not UTF-8, in the announced encoding if Python has it."""
        try:
            return text.decode(self.charset or "utf-8", "replace")
        except LookupError:
            return text.decode("utf-8", "replace")


def _split_lines(block: bytes) -> list[bytes]:
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return block.split(b"\n")[: -1 if block.endswith(b"\n") else None]


def _several(body: bytes, otherwise: ProviderError) -> Iterator[Any]:
    """Yield the documents of a body or an event that has several, or raise `otherwise` if it has none.

    What is no document behind the last one says nothing.
    """
    text, at, count = body.decode("utf-8", "replace"), 0, 0
    while at < len(text):
        try:
            document, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as exc:
            if not count:
                raise otherwise from exc
            if text.startswith("[DONE]", at):
                yield DONE
            elif text[at] in "{[":
                message = f"the reply ended inside a document: {quote(text[at:].encode())}"
                raise ProviderError("truncated", message, billed=True) from exc
            return
        count += 1
        yield document
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]


def _behind_words(body: bytes) -> bytes:
    """The body from its first line that starts a document or an event, if words stand before it.

    Such as a warning of PHP, a line of a log or `)]}',`. No document of a page's scripts ends the page.
    """
    found = None if body.startswith((b"{", b"[")) else _FIRST.search(body)
    if found is None or (body.startswith(b"<") and not body.endswith((b"}", b"]"))):
        return b""
    return body[found.end() - len(found[1]) :]


_FIRST = re.compile(rb"\n[ \t]*(data:|event:|[{\[])", re.IGNORECASE)
