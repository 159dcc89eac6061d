"""The socket on which `pnyx serve` listens."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from pnyx.interfaces.http.listening import listen
from pnyx.interfaces.process.open_settings import open_settings
from tests.support.serving import open_server
from tests.support.waiting import STALL_S


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
async def test_no_packet_of_a_reply_waits_for_the_acknowledgement_of_the_one_before(host: str) -> None:
    delayed: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def reply(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        delayed.set_result(not connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with listen(open_settings({"serve": {"host": host, "port": 0}})) as listener:
        async with await asyncio.start_server(reply, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname()[:2])
            writer.write(b"GET")  # a connection is accepted when something arrives
            assert not await delayed
            writer.close()
            await writer.wait_closed()


@contextmanager
def no_descriptors() -> Iterator[None]:
    """Let this process open no further descriptor."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Above all that are open: one that is closed must be free to be opened again.
    most = max(map(int, os.listdir("/proc/self/fd"))) + 1
    with ExitStack() as taken:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, limits[1]))
        try:
            while True:
                taken.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        except OSError:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize("idle", [0, 60])
async def test_health_is_answered_without_descriptors_and_nothing_is_logged(
    idle: int, caplog: pytest.LogCaptureFixture
) -> None:
    loop = asyncio.get_running_loop()
    async with open_server() as server:
        async with server.client() as client:
            await client.get("/health")  # opens the database
        host, port = server.url.removeprefix("http://").split(":")
        request = f"GET /health HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode()
        with ExitStack() as held:
            clients = [held.enter_context(socket.socket()) for _ in range(idle + 20)]
            for one in clients:
                one.setblocking(False)
            with no_descriptors():
                for one in clients[:idle]:
                    await loop.sock_connect(one, (host, int(port)))
                for one in clients[idle:]:
                    await loop.sock_connect(one, (host, int(port)))
                    await loop.sock_sendall(one, request)
                    async with asyncio.timeout(STALL_S):
                        assert (await loop.sock_recv(one, 100)).startswith(b"HTTP/1.1 200")
    assert not caplog.records
