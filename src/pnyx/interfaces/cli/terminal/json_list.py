"""A JSON list that is written piece by piece, as `json.dumps(…, indent=2)` writes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .output import Stream

__all__ = ["JsonList"]


class JsonList:
    """Writes a list to a stream, in ASCII, without all of it in memory."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self._before = stream, "["

    def add(self, documents: Sequence[Any]) -> None:
        if documents:
            # All at once: each call of `dumps` leaves some objects to the collector of garbage.
            written = json.dumps(documents, indent=2).removeprefix("[").removesuffix("\n]")
            self._stream.write(self._before + written)
            self._before = ","

    def end(self) -> None:
        self._stream.write("[]\n" if self._before == "[" else "\n]\n")
