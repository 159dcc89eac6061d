"""Long responses are sent in parts, each once the client has read those before it.

What waits to be read is bounded for each key.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from .usage import KeyUsage

__all__ = ["PacedSend"]

PART = 64 << 10
"""Bytes of a part. A whole response would wait in memory for a client that does not read it."""


class PacedSend:
    """Sends one response. refused: whether it was dropped, since the key's other clients read nothing."""

    def __init__(
        self, send: Callable[[MutableMapping[str, Any]], Awaitable[None]], usage: KeyUsage, owner: str
    ) -> None:
        self.refused = False
        self._send, self._usage, self._owner = send, usage, owner
        self._held = 0

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            length = next((int(value) for name, value in message["headers"] if name == b"content-length"), 0)
            if length > PART:
                self.refused = not self._usage.hold(self._owner, length)
                self._held = 0 if self.refused else length
        if self.refused:
            return
        body, start = message.get("body", b""), 0
        while len(body) - start > PART:
            await self._send({**message, "body": body[start : start + PART], "more_body": True})
            start += PART
        await self._send({**message, "body": body[start:]} if start else message)

    def end(self) -> None:
        """Forget what was to be sent."""
        if self._held:
            self._usage.release(self._owner, self._held)
