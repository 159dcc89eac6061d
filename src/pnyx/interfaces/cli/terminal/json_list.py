"""A JSON list that is written piece by piece, as `indented_json` writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....json_bytes import indented_json
from .output import Stream

__all__ = ["JsonList"]


class JsonList:
    """Writes a list to a stream, in ASCII, without all of it in memory."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self._before = stream, "["

    def add(self, documents: Sequence[Any]) -> None:
        if documents:
            written = indented_json(documents).removeprefix("[").removesuffix("\n]")
            self._stream.write(self._before + written)
            self._before = ","

    def end(self) -> None:
        self._stream.write("[]\n" if self._before == "[" else "\n]\n")
