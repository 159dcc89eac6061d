"""The body of a request, as the app receives it: bounded in length, time, encoding and keys."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, TypeAlias

from .encodings import Decoder, EncodingError
from .errors import Exact, refusal
from .key_count import MOST_KEYS, KeyCount

__all__ = ["CLOSE", "Body", "BodyError", "Message", "Receive", "Send", "too_large"]

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
LEAST_RATE = 1000
"""Bytes per second of a long body: for each of them it gets more time than `[serve] body_s`."""
CLOSE = {"Connection": "close"}


class BodyError(ValueError):
    """A body is too long, or arrives too slowly. `Access` sends the response."""


def too_large(most: int) -> Any:
    return refusal(413, f"the body is longer than {most / 1_000_000:g} MB, see [serve] body_mb")


def _too_slow(seconds: float) -> Any:
    return refusal(408, f"the body did not arrive within {seconds:g} s, see [serve] body_s", CLOSE)


def _too_many_keys() -> Any:
    return refusal(413, f"the objects of the body have more than {MOST_KEYS:,} keys")


class Body:
    """Passes a request body on, up to `most` bytes and as long as it arrives in time.

    Otherwise `refused` is the response, and that of the app is dropped. ended: returns the refusal if the key
    of the request has ended; it is called before the response and before each part of a streamed one. It is
    sent in place of the response, or as the last of its events. seconds: for a short body to arrive.
    """

    def __init__(
        self,
        scope: Message,
        receive: Receive,
        send: Send,
        ended: Callable[[], Awaitable[Exact | None]],
        most: int,
        seconds: float,
    ) -> None:
        self.refused: Any = None
        self.decoder: Decoder | None = None
        self._most, self._seconds = most, seconds
        self._state: Mapping[str, Any] = scope.get("state", {})
        self._receive, self._send, self._key_ended = receive, send, ended
        self._bytes, self._since, self._count = 0, 0.0, KeyCount()
        self._complete = self._started = self._ended = self._has_events = False

    async def receive(self) -> Message:
        if self._complete:
            return await self._disconnect()
        message = await self._next()
        self._bytes += len(message.get("body", b""))
        self._complete = not message.get("more_body", False)
        if self._bytes > self._most:
            raise self._refuse(too_large(self._most))
        if self.decoder is not None and message["type"] == "http.request":
            try:
                decoded = self.decoder.add(message.get("body", b""), self._complete)
            except EncodingError as exc:
                raise self._refuse(
                    too_large(self._most) if exc.too_long else refusal(400, str(exc))
                ) from None
            message = {**message, "body": decoded}
        self._count.add(message.get("body", b""))
        if self._count.keys > MOST_KEYS:
            raise self._refuse(_too_many_keys())
        if not self._count.is_utf8:
            raise self._refuse(refusal(400, "the body is not JSON in UTF-8"))
        return message

    async def _disconnect(self) -> Message:
        """Wait for the client to leave, which may be when it likes; see `state.leaves_at_half_close`."""
        while True:
            if self._state.get("leaves_at_half_close") and self._state["half_closed"].is_set():
                return {"type": "http.disconnect"}
            message = await self._receive()  # or an empty one, when the client closes its side
            if message["type"] == "http.disconnect":
                return message

    async def _next(self) -> Message:
        time = asyncio.get_running_loop().time
        self._since = self._since or time()
        deadline = self._since + self._seconds + self._bytes / LEAST_RATE
        try:
            async with asyncio.timeout_at(deadline):
                return await self._receive()
        except TimeoutError:
            if self._started:  # the response can no longer be changed
                return {"type": "http.disconnect"}
            raise self._refuse(_too_slow(self._seconds)) from None

    def _refuse(self, response: Any) -> BodyError:
        self.refused = response
        return BodyError("the body is refused")

    async def send(self, message: Message) -> None:
        if self.refused is not None or self._ended:
            return
        first, self._started = not self._started, True
        refused = await self._key_ended() if first or message.get("more_body") else None
        if refused is not None:
            self._ended = True
            if first:
                await refused({"type": "http"}, self._receive, self._send)
                return
            last = b"event: error\ndata: %b\n\n" % bytes(refused.body) if self._has_events else b""
            message = {"type": "http.response.body", "body": last, "more_body": False}
        elif first:
            kind = next((value for name, value in message["headers"] if name.lower() == b"content-type"), b"")
            self._has_events = kind.startswith(b"text/event-stream")
        await self._send(message)
