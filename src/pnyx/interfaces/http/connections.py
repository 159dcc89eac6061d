"""The connections of clients: how many there may be, and how slowly a request may arrive.

A client that sends half a head, a body that never ends, or reads nothing of a response holds a descriptor of
the process. uvicorn limits none of these, so its protocol class is extended here. When there are too many
connections, one without a request makes room for the next. It is never one whose request has arrived and is
not read yet: the kernel is asked first. If every connection has work, new ones wait in the kernel's queue,
and each response ends its connection, so that all clients have their turn. If too many requests are under
way, a further one gets an answer of `/health` and is refused for anything else. Streams and long polls are
never cut: a request that has arrived may take as long as it needs.
"""

from __future__ import annotations

import asyncio
import json
import select
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

import h11
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from .apis.shapes import guarded

__all__ = ["SPARE", "Connection", "Connections", "is_readable"]

SPARE = 8
"""Connections above the limit that are accepted, on which `/health` alone is answered; a quarter of the limit
if that is fewer."""
STALL_S = 60.0
"""Seconds without reading any of a response after which a client counts as disconnected."""
STALL_AT_END_S = 1.0
"""The same once the server stops: it waits for responses that are read."""


def is_readable(descriptor: int) -> bool:
    """Whether a socket has unread bytes, or one that listens has a client that waits."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


class Connections:
    """The open connections of a server.

    most: their limit. head_s: seconds within which the head of a request must arrive. body_s: seconds after a
    refusal within which the rest of the refused body must arrive.

    spare: connections above the limit. As many may be open besides for a moment, while they are closed for
    others. crowded: whether a client waits for a connection, since none can be closed for it.
    """

    def __init__(self, most: int, head_s: float, body_s: float) -> None:
        self.most = self._limit = most
        self.spare = min(SPARE, max(1, most // 4))
        self.head_s, self.body_s = head_s, body_s
        self.crowded = False
        self._sockets = 0
        self._closing: set[Connection] = set()
        self._working: set[Connection] = set()
        # Without a request, longest first: those that never had one, and those that are kept.
        self._fresh: dict[Connection, None] = {}
        self._kept: dict[Connection, None] = {}

    def protocol(self, **options: Any) -> Connection:
        """Return the protocol of a new connection; uvicorn calls this with its own options."""
        return Connection(self, **options)

    def accepted(self) -> None:
        """Count the socket of a new connection."""
        self._sockets += 1

    def released(self) -> None:
        """Note that the socket of a connection is closed."""
        self._sockets -= 1

    def make_room(self) -> bool:
        """Whether there may be one more connection; another one without a request may be closed for it."""
        most = self.most + self.spare
        if self._sockets - len(self._closing) < most:
            return True
        if self._sockets >= most + self.spare:
            return False  # those that are being closed first give back their descriptors
        for connection in chain(self._fresh, self._kept):
            if connection.is_idle:
                self.closed(connection)
                self._closing.add(connection)
                connection.transport.abort()
                return True
        return False

    def lower(self) -> None:
        """Allow no more connections than there are, and the spare ones, since no descriptors are left."""
        self.most = min(self.most, self._sockets)

    def allow_all(self) -> None:
        """Allow as many connections as the limit says."""
        self.most = self._limit

    def begin(self, connection: Connection) -> bool:
        """Note that a connection has a request; return whether it may be answered, as one of the limit."""
        self._fresh.pop(connection, None)
        self._kept.pop(connection, None)
        if len(self._working) < self.most:
            self._working.add(connection)
        return connection in self._working

    def idle(self, connection: Connection) -> None:
        """Note that a connection has no request, from now on."""
        self._working.discard(connection)
        (self._kept if connection.has_served else self._fresh).setdefault(connection)

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        for group in (self._closing, self._working):
            group.discard(connection)
        for waiting in (self._fresh, self._kept):
            waiting.pop(connection, None)


class Connection(H11Protocol):
    """A connection. has_served: whether it had a request before."""

    def __init__(self, pool: Connections, **options: Any) -> None:
        super().__init__(**options)
        self.has_served = False
        self._pool = pool
        self._timer: asyncio.TimerHandle | None = None
        self._waits_for = ""
        self._stalled: asyncio.TimerHandle | None = None
        self._stall_s = STALL_S
        self._half_closed = asyncio.Event()
        # `Body` reads it in the scope of the request.
        self.app_state = {**self.app_state, "half_closed": self._half_closed}

    @property
    def is_idle(self) -> bool:
        """Whether no request has arrived: what there is of one was read and is not whole."""
        has_part = self.conn.their_state is h11.SEND_BODY or bool(self.conn.trailing_data[0])
        return has_part or not is_readable(self.transport.get_extra_info("socket").fileno())

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # Writing pauses as long as anything is unsent: a response that is not sent yet is under way.
        transport.set_write_buffer_limits(high=0)
        self._pool.idle(self)
        self._wait_for("head", self._pool.head_s, self._refuse_slow_head)

    def connection_lost(self, exc: Exception | None) -> None:
        self._pool.closed(self)
        self._wait_for("")
        self._cancel_stalled()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch(has_data=True)

    def handle_events(self) -> None:
        before: RequestResponseCycle | None = self.cycle
        super().handle_events()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle is before:
            return
        is_spare = not self._pool.begin(self)
        if is_spare:
            # `Access` reads it.
            cycle.scope["state"]["spare"] = True
        if is_spare or self._pool.crowded:
            cycle.default_headers = [*cycle.default_headers, CLOSE_HEADER]

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends no more. If its request is whole, it still gets the response."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete or cycle.more_body:
            return False
        self._half_closed.set()
        cycle.message_event.set()
        return True

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP; uvicorn's own response lacks the headers that all others have."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            why = "the request is not valid HTTP, or its head is longer than 64 kB"
            self.transport.write(_refusal("400 Bad Request", "bad_request", why))
        self.transport.close()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.has_served = True
        # Unless the next request had arrived too.
        if self._half_closed.is_set() and self.cycle.response_complete:
            self.transport.close()
        self._watch()

    def _watch(self, has_data: bool = False) -> None:
        """Set the timer for what the client has to send next. has_data: whether it has just sent some."""
        cycle: RequestResponseCycle | None = self.cycle
        if self.transport.is_closing():
            self._wait_for("")
        elif self._stalled is not None or (cycle is not None and not cycle.response_complete):
            # Its body is awaited by `Access`, whose refusal has the shape of the API.
            self._wait_for("")
        elif self.conn.their_state is h11.SEND_BODY:
            self._pool.idle(self)
            self._wait_for("rest", self._pool.body_s, self.transport.abort)
        elif self.conn.their_state is h11.IDLE:
            self._pool.idle(self)
            # An idle connection has uvicorn's timer, until the next request begins to arrive.
            if has_data:
                self._wait_for("head", self._pool.head_s, self._refuse_slow_head)
            elif self._waits_for == "rest":
                self._wait_for("")

    def _wait_for(self, what: str, seconds: float = 0.0, otherwise: Callable[[], None] | None = None) -> None:
        """Call `otherwise` unless `what` has come in time; more of it does not restart the time."""
        if what == self._waits_for:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if otherwise is None else self.loop.call_later(seconds, otherwise)
        self._waits_for = what

    def _refuse_slow_head(self) -> None:
        if self.transport.is_closing():
            return
        if self.conn.trailing_data[0]:
            why = f"the head of the request did not arrive within {self._pool.head_s:g} s, see [serve] head_s"
            self.transport.write(_refusal("408 Request Timeout", "request_timeout", why))
        self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reader(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel_stalled()
        self._watch(has_data=bool(self.conn.trailing_data[0]))

    def shutdown(self) -> None:
        super().shutdown()
        self._stall_s = STALL_AT_END_S
        # One that closes waits until everything is read, however little it is.
        if self._stalled is not None or self.transport.is_closing():
            self._await_reader(self.transport.get_write_buffer_size())

    def _await_reader(self, unread: int) -> None:
        self._cancel_stalled()
        self._stalled = self.loop.call_later(self._stall_s, partial(self._check_reader, unread))

    def _check_reader(self, unread: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left >= unread:
            self.transport.abort()
        else:
            self._await_reader(left)

    def _cancel_stalled(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None


def _refusal(status: str, type: str, message: str) -> bytes:
    """The response to a head that cannot be read; its path, and so its API, are not known."""
    body = json.dumps({"error": {"type": type, "message": message}}).encode()
    fields = [(b"content-type", b"application/json"), (b"connection", b"close")]
    fields.append((b"content-length", str(len(body)).encode()))
    head = b"".join(b"%s: %s\r\n" % field for field in guarded(fields))
    return b"HTTP/1.1 %s\r\n%s\r\n" % (status.encode(), head) + body
