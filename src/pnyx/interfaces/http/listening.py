"""The socket that a server listens on, and how uvicorn serves it."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import socket
from typing import Any

import uvicorn

from ...config.schema import Settings
from ...errors import UsageError
from ..process.open_files import raise_open_files
from .connections import SPARE, Connections, is_readable

__all__ = ["Listener", "listen", "most_connections", "server_config"]

KEEP_ALIVE_S = 75
"""How long an idle connection stays open, in seconds: longer than clients and proxies keep theirs, so that no
request arrives while the connection is being closed, even if the event loop is under load."""
BACKLOG = 2048
OWN = 40
"""Descriptors of this process that no client gets, however few there are: of the database, and of connections
to the hosts of models."""


class Listener(socket.socket):
    """A listening socket that accepts a connection only if there is room for it; others wait in its queue.

    asyncio takes a lack of descriptors for a failure, which it logs again and again. Here some are in
    reserve: they are kept open to be closed for new connections once there are no others. connections: those
    of its clients. On Windows asyncio does not call `accept`, and only the number of requests is limited.
    """

    def __init__(self, *args: Any, connections: Connections, **options: Any) -> None:
        super().__init__(*args, **options)
        self.connections = connections
        self._reserve: list[int] = []
        self._fill_reserve()

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection. Raises `BlockingIOError` without one, and without room for it."""
        if not is_readable(self.fileno()):
            self.connections.crowded = False
            raise BlockingIOError
        self._fill_reserve()
        self.connections.crowded = not self.connections.make_room()
        if self.connections.crowded:
            raise BlockingIOError
        accepted, address = self._take()
        return _Accepted(self, accepted), address

    def close(self) -> None:
        super().close()
        while self._reserve:
            os.close(self._reserve.pop())

    def released(self) -> None:
        """Note that the descriptor of a connection is free; a reserve that is not full gets it first."""
        self.connections.released()
        if self.fileno() >= 0:
            self._fill_reserve()

    def _take(self) -> tuple[socket.socket, Any]:
        try:
            return super().accept()
        except OSError as exc:
            if exc.errno not in (errno.EMFILE, errno.ENFILE):
                raise
        self.connections.lower()
        if self._reserve:
            os.close(self._reserve.pop())
            with contextlib.suppress(OSError):  # another thread may have it by now
                return super().accept()
        raise BlockingIOError

    def _fill_reserve(self) -> None:
        if len(self._reserve) == self.connections.spare:
            return
        with contextlib.suppress(OSError):
            while len(self._reserve) < self.connections.spare:
                self._reserve.append(os.open(os.devnull, os.O_RDONLY))
            self.connections.allow_all()


class _Accepted(socket.socket):
    """The socket of a connection, counted until its descriptor is closed."""

    __slots__ = ("_listener",)

    def __init__(self, listener: Listener, accepted: socket.socket) -> None:
        kind = (accepted.family, accepted.type, accepted.proto)
        super().__init__(*kind, fileno=accepted.detach())
        self._listener = listener
        listener.connections.accepted()

    def close(self) -> None:
        is_open = self.fileno() >= 0
        super().close()
        if is_open:
            self._listener.released()


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
        if hasattr(socket, "TCP_DEFER_ACCEPT"):
            # A connection is accepted once its request begins to arrive, or after this time without one: what
            # sends nothing takes no descriptor, and none is closed before it could send its request.
            defer_s = math.ceil(serve.head_s)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, defer_s)
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
    allowed = raise_open_files(2 * (most + 3 * SPARE))
    if allowed is None:
        return most
    clients = min(allowed // 2, allowed - OWN)
    # Besides them three times as many as the spare ones: these, those that are being closed, and the reserve.
    return max(1, min(most, max(clients - 3 * SPARE, clients * 4 // 7)))
