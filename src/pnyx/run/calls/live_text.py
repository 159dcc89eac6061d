"""The answer of a reply while it arrives, as followers see it: without thoughts, and with secrets masked."""

from __future__ import annotations

from collections.abc import Callable

from ...core.markup.reasoning import ReasoningSplitter
from ...providers.redaction import Redactor, StreamRedactor

__all__ = ["LiveText"]


class LiveText:
    """publish: called with the next piece, and whether the text starts again with it.

    A closing tag without an opening one shows that all text before it was a thought.
    """

    def __init__(self, redact: Redactor, publish: Callable[[str, bool], None]) -> None:
        self._splitter, self._publish = ReasoningSplitter(), publish
        self._redact = redact
        self._masked = self._new_stream()

    def add(self, piece: str) -> None:
        self._show(self._splitter.start, self._splitter.add(piece))

    def end(self) -> None:
        start = self._splitter.start
        self._show(start, self._splitter.end())
        self._masked.end()
        if self._splitter.start < start:  # nothing follows the last closing tag, which was one too many
            self._publish(self._redact(self._splitter.result.answer), True)

    def _show(self, start: int, text: str) -> None:
        if self._splitter.start > start:
            self._masked = self._new_stream()  # without the thought that still waits in it
            self._publish("", True)
        self._masked.add(text)

    def _new_stream(self) -> StreamRedactor:
        publish = self._publish  # without `self`, of which this stream is a part
        return StreamRedactor(self._redact, lambda text: publish(text, False))
