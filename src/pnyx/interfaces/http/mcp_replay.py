"""The last messages of MCP sessions, so that a client can go on reading a stream whose connection broke.

Every message of a stream has an id. `GET /mcp` with `Last-Event-ID` returns the messages after that one, and
then those to come. The work of a call goes on meanwhile: nothing is carried out twice.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field

import anyio
from mcp.server.streamable_http import GET_STREAM_KEY, EventCallback, EventMessage, EventStore
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCResponse

__all__ = ["ReplayLog"]

MOST_CHARS = 8 << 20
"""Of the messages of one key, with `OVERHEAD` for each."""
OVERHEAD = 1024
KEEP_S = 600.0
"""Seconds for which a message is kept: those in which a repeated request joins its run."""
MOST_STREAMS = 256
"""Of a session. Each request has one."""


@dataclass(eq=False, slots=True)
class _Message:
    """A message. number: its place in the stream. size: in characters, with overhead. at: when it came."""

    number: int
    event: EventMessage
    size: int
    at: float


@dataclass(eq=False, slots=True)
class _Stream:
    """The messages of one request, or those that belong to none.

    last: the number of the last one, kept or not. over: whether the request has its response. changed: set,
    and replaced, with each message.
    """

    number: int
    kept: deque[_Message] = field(default_factory=deque)
    last: int = 0
    over: bool = False
    changed: anyio.Event = field(default_factory=anyio.Event)


class ReplayLog:
    """The messages of all sessions of one key, bounded: the oldest are forgotten first."""

    def __init__(self, most_chars: int = MOST_CHARS) -> None:
        self._most_chars = most_chars
        self._kept: deque[tuple[_Stream, _Message]] = deque()
        self._chars = 0

    def session(self) -> EventStore:
        """The messages of a new session."""
        return _Session(self)

    def keep(self, stream: _Stream, message: _Message) -> None:
        """Keep a message, and forget what is too old or too much."""
        stream.kept.append(message)
        self._kept.append((stream, message))
        self._chars += message.size
        while self._kept and (self._chars > self._most_chars or self._kept[0][1].at < message.at - KEEP_S):
            oldest, gone = self._kept.popleft()
            oldest.kept.popleft()
            self._chars -= gone.size


class _Session(EventStore):
    def __init__(self, log: ReplayLog) -> None:
        self._log = log
        self._streams: OrderedDict[str, _Stream] = OrderedDict()
        """By the id that the package gives them: that of the request, or `GET_STREAM_KEY`."""
        self._numbers = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        stream = self._streams.get(stream_id)
        if stream is None or (stream.over and message is None):  # the id of a request is used once more
            stream = self._open(stream_id)
        stream.last += 1
        # The id of a request can have any characters, and an id of an event cannot.
        event_id = f"{stream.number}-{stream.last}"
        if message is not None:
            event, size = EventMessage(message, event_id), len(str(message)) + OVERHEAD
            self._log.keep(stream, _Message(stream.last, event, size, time.monotonic()))
            stream.over = stream_id != GET_STREAM_KEY and isinstance(message, JSONRPCResponse | JSONRPCError)
        stream.changed.set()
        stream.changed = anyio.Event()
        return event_id

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send the messages after an event, those to come too, until the request has its response.

        The package would pass later messages on itself if this returned the stream's id. But it forgets those
        that come while it starts to, which can be the response, and does not end the stream after it.
        """
        number, _, last = last_event_id.partition("-")
        stream = next((one for one in self._streams.values() if str(one.number) == number), None)
        if stream is None or not last.isdecimal() or len(last) > 9:
            return None
        sent = int(last)
        while True:
            changed = stream.changed
            for message in [one for one in stream.kept if one.number > sent]:
                await send_callback(message.event)
                sent = message.number
            if changed is not stream.changed:
                continue
            if stream.over:
                return None
            await changed.wait()

    def _open(self, stream_id: str) -> _Stream:
        self._numbers += 1
        stream = self._streams[stream_id] = _Stream(self._numbers)
        self._streams.move_to_end(stream_id)
        if len(self._streams) > MOST_STREAMS:
            oldest = next(one for one in self._streams if one != GET_STREAM_KEY)
            del self._streams[oldest]
        return stream
