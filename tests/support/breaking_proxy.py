"""A proxy that breaks the connection at a given message: before it arrives, or before its response does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress

__all__ = ["BreakingProxy"]

WAYS = ("before", "after", "late", "silent", "mute")


class BreakingProxy:
    """Forwards loopback connections to `port`, and breaks those that send `message`.

    ways: one per `message`; later ones pass. "before": it never arrives. "after": it arrives, its response
    does not. "late": it arrives `late_s` after the client's connection was closed. "silent", "mute": like
    "before" and "after", but the connection stays open and carries nothing.
    """

    def __init__(self, port: int, message: bytes, ways: Iterable[str], late_s: float = 0.3) -> None:
        self.target, self.message, self.late_s = port, message, late_s
        self.ways = list(ways)
        assert set(self.ways) <= {*WAYS, ""}
        self.connected = self.cut = 0
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> BreakingProxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connected += 1
        there, back = await asyncio.open_connection("127.0.0.1", self.target)
        answers = asyncio.create_task(self._pass(there, writer))
        try:
            with suppress(OSError):
                await self._requests(reader, back, writer, answers)
        finally:
            answers.cancel()
            await asyncio.gather(answers, return_exceptions=True)
            writer.close()
            back.close()
            self._tasks.discard(task)

    async def _requests(
        self,
        reader: asyncio.StreamReader,
        back: asyncio.StreamWriter,
        writer: asyncio.StreamWriter,
        answers: asyncio.Task[None],
    ) -> None:
        while data := await reader.read(65536):
            way = self.ways.pop(0) if self.message in data and self.ways else ""
            if not way:
                back.write(data)
                continue
            self.cut += 1
            answers.cancel()
            if way == "late":
                writer.close()
                await asyncio.sleep(self.late_s)
            if way not in ("before", "silent"):
                back.write(data)
                await back.drain()
                await asyncio.sleep(0.05)  # time for the server to act on it
            while way in ("silent", "mute") and await reader.read(65536):
                pass
            return

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
            writer.close()
