"""The socket on which `pnyx serve` listens."""

from __future__ import annotations

import asyncio
import socket

import pytest

from pnyx.interfaces.http.listening import listen
from pnyx.interfaces.open_settings import open_settings


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
            assert not await delayed
            writer.close()
            await writer.wait_closed()
