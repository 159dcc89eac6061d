"""The connections of clients: how many there may be, and how slowly a request may arrive.

A client that sends half a head, a body that never ends, or reads nothing of a response holds a descriptor of
the process. uvicorn limits none of these, so its protocol class is extended here. When there are too many
connections, one without a request under way makes room; if all have one, the next connections get an answer
of `/health` and are refused for anything else. Streams and long polls are never cut: a request that has
arrived may take as long as it needs.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from .apis.shapes import guarded

__all__ = ["SPARE", "Connection", "Connections"]

SPARE = 16
"""Connections above the limit that are accepted, on which `/health` alone is answered."""
MOMENT_S = 0.5
"""Seconds for which a connection is not closed to make room for one without a request: its own may be on its
way."""
END_OF_HEAD = b"\r\n\r\n"
STALL_S = 60.0
"""Seconds without reading any of a response after which a client counts as disconnected."""
STALL_AT_END_S = 1.0
"""The same once the server stops: it waits for responses that are read."""


class Connections:
    """The open connections of a server.

    most: their limit. head_s: seconds within which the head of a request must arrive. body_s: seconds after a
    refusal within which the rest of the refused body must arrive.
    """

    def __init__(self, most: int, head_s: float, body_s: float) -> None:
        self.most = self._limit = most
        self.head_s, self.body_s = head_s, body_s
        self._open: set[Connection] = set()
        # Without a request under way, longest first: those that never had one, and those that are kept.
        self._fresh: dict[Connection, float] = {}
        self._kept: dict[Connection, float] = {}

    @property
    def full(self) -> bool:
        """Whether there are more connections than the limit."""
        return len(self._open) > self.most

    def protocol(self, **options: Any) -> Connection:
        """Return the protocol of a new connection; uvicorn calls this with its own options."""
        return Connection(self, **options)

    def opened(self, connection: Connection) -> None:
        """Count a new connection; another one, or this one, is closed if there are too many."""
        self._open.add(connection)
        if not self.full:
            return
        excess = len(self._open) - self.most
        if not self._make_room(0.0 if excess > SPARE else MOMENT_S):
            connection.spare = True
            if excess > SPARE:
                self._close(connection)

    def make_room(self) -> bool:
        """Close a connection without a request, since no descriptors are left; return whether there was one.

        Without one the next connection is above the limit, until `allow_all`.
        """
        if self._make_room(0.0):
            return True
        self.most = min(self.most, len(self._open))
        return False

    def allow_all(self) -> None:
        """Allow as many connections as the limit says."""
        self.most = self._limit

    def admit(self, connection: Connection) -> bool:
        """Whether a spare connection has room for its request; another one without a request may close."""
        self.busy(connection)
        return not self.full or self._make_room(0.0)

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        self._open.discard(connection)
        self.busy(connection)

    def busy(self, connection: Connection) -> None:
        """Note that a request is under way on a connection."""
        self._fresh.pop(connection, None)
        self._kept.pop(connection, None)

    def idle(self, connection: Connection) -> None:
        """Note that no request is under way on a connection, from now on."""
        waiting = self._kept if connection.has_served else self._fresh
        if connection in self._open:
            waiting.setdefault(connection, connection.loop.time())

    def _make_room(self, waited_s: float) -> bool:
        """Close the connection that has waited longest for a request, if it has for `waited_s` seconds."""
        for waiting in (self._fresh, self._kept):
            if waiting:
                longest, since = next(iter(waiting.items()))
                if longest.loop.time() - since >= waited_s:
                    self._close(longest)
                    return True
        return False

    def _close(self, connection: Connection) -> None:
        self.closed(connection)
        connection.transport.abort()


class Connection(H11Protocol):
    """A connection. spare: whether it is above the limit. has_served: whether it had a request before."""

    def __init__(self, pool: Connections, **options: Any) -> None:
        super().__init__(**options)
        self.spare = self.has_served = False
        self._pool = pool
        self._timer: asyncio.TimerHandle | None = None
        self._waits_for = ""
        self._stalled: asyncio.TimerHandle | None = None
        self._stall_s = STALL_S
        self._half_closed = asyncio.Event()
        # `Body` reads it in the scope of the request.
        self.app_state = {**self.app_state, "half_closed": self._half_closed}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._pool.opened(self)
        # What has arrived with the connection is read in the next turn of the loop, before the one after it.
        self.loop.call_soon(self.loop.call_soon, self._watch_first)
        self._wait_for("head", self._pool.head_s, self._refuse_slow_head)

    def _watch_first(self) -> None:
        if self.cycle is None:
            self._pool.idle(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._pool.closed(self)
        self._wait_for("")
        self._cancel_stalled()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.spare and END_OF_HEAD in self.conn.trailing_data[0][-len(END_OF_HEAD) :] + data:
            self.spare = not self._pool.admit(self)
        if self.spare:
            # `Access` reads it in the scope of the request.
            self.app_state = {**self.app_state, "spare": True}
        super().data_received(data)
        self._watch(has_data=True)
        if self.spare and self.cycle is not None:
            self.cycle.keep_alive = False

    def handle_events(self) -> None:
        super().handle_events()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and self._pool.full and self.conn.trailing_data[0]:
            # The next requests had arrived too. Those that wait for a connection come first.
            cycle.keep_alive = False

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
        elif cycle is not None and not cycle.response_complete:
            # Its body is awaited by `Access`, whose refusal has the shape of the API.
            self._pool.busy(self)
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
