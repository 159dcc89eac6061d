"""The socket that a server listens on, and how uvicorn serves it."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from typing import Any

import uvicorn

from ...config.schema import Settings
from ...errors import UsageError
from ..open_files import raise_open_files
from .connections import Connections

__all__ = ["Listener", "listen", "most_connections", "server_config"]

KEEP_ALIVE_S = 75
"""How long an idle connection stays open, in seconds: longer than clients and proxies keep theirs, so that no
request arrives while the connection is being closed, even if the event loop is under load."""
BACKLOG = 2048
BURST = 4
"""Connections accepted in one turn of the event loop: they count as open only in the next one."""
RESERVE = 4 * BURST + 1
"""Descriptors that are kept open to be closed for new connections once there are no others. What a connection
makes room with is free only some turns later."""


class Listener(socket.socket):
    """A listening socket that lets asyncio accept `BURST` connections in a turn, and not all that wait.

    asyncio takes a lack of descriptors for a failure, which it logs thousands of times a second. Here a new
    connection gets one of the reserve, and takes the place of another one. connections: those of its clients.
    """

    def __init__(self, *args: Any, connections: Connections, **options: Any) -> None:
        super().__init__(*args, **options)
        self.connections = connections
        self._accepted = 0
        self._reserve: list[int] = []
        self._fill_reserve()

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection. Raises `BlockingIOError` without one, and after `BURST`."""
        if self._accepted == BURST:
            self._accepted = 0
            raise BlockingIOError
        try:
            accepted = self._take()
        except OSError:
            self._accepted = 0
            raise
        self._accepted += 1
        return accepted

    def close(self) -> None:
        super().close()
        while self._reserve:
            os.close(self._reserve.pop())

    def _take(self) -> tuple[socket.socket, Any]:
        self._fill_reserve()
        if not self._reserve:
            # What was freed for it has been opened by others meanwhile.
            self.connections.make_room()
            raise BlockingIOError
        try:
            return super().accept()
        except OSError as exc:
            if exc.errno not in (errno.EMFILE, errno.ENFILE):
                raise
        os.close(self._reserve.pop())
        try:
            accepted = super().accept()
        except OSError as exc:
            # Mostly because no connection waits: without descriptors, that is found out only here.
            self._fill_reserve()
            raise BlockingIOError from exc
        has_room = self.connections.make_room()
        if not self._reserve:
            if not has_room:
                # Else its client would wait, and the event loop would be woken for it all the time.
                accepted[0].close()
                self._fill_reserve()
                raise BlockingIOError
            self._accepted = BURST - 1  # the next turn has the descriptor that is being closed
        return accepted

    def _fill_reserve(self) -> None:
        if len(self._reserve) == RESERVE:
            return
        with contextlib.suppress(OSError):
            while len(self._reserve) < RESERVE:
                self._reserve.append(os.open(os.devnull, os.O_RDONLY))
            self.connections.allow_all()


def listen(settings: Settings) -> contextlib.closing[Listener]:
    """Return a socket that listens on the configured address. Raises `UsageError`."""
    serve = settings.serve
    host, port = serve.host, serve.port
    connections = Connections(most_connections(serve.connections), serve.head_s, serve.body_s)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # With the protocol, because asyncio sets TCP_NODELAY only on sockets that name TCP. Without it the
        # second packet of a reply waits 40 ms for an acknowledgement.
        listener = Listener(family, kind, protocol, connections=connections)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # Now, so that a client that connects as soon as the address is printed is not refused.
        listener.listen(BACKLOG)
    except (OSError, UnicodeError) as exc:
        why = exc.strerror if isinstance(exc, OSError) and exc.strerror else exc
        taken = isinstance(exc, OSError) and exc.errno == errno.EADDRINUSE
        hint = "; stop what listens there, or choose another with --port" if taken else ""
        raise UsageError(f"cannot listen on {host[:80]} port {port}: {why}{hint}") from exc
    return contextlib.closing(listener)


def server_config(app: Any, listener: Listener, graceful_s: int) -> uvicorn.Config:
    """Return how uvicorn serves the app. graceful_s: seconds for which responses may go on when it stops."""
    protocol: Any = listener.connections.protocol
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=graceful_s,
        timeout_keep_alive=KEEP_ALIVE_S,
        backlog=BACKLOG,
    )


def most_connections(most: int) -> int:
    """The limit of connections: `most`, and at most half of the descriptors that the process may have.

    The other half is for the hosts of models, the database and files. The soft limit of descriptors is raised
    for `most`, as far as the hard one allows.
    """
    allowed = raise_open_files(2 * most)
    return most if allowed is None else min(most, allowed // 2)
