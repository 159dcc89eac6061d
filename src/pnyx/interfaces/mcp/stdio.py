"""The MCP server on stdin and stdout, for the client that started this process."""

from __future__ import annotations

import asyncio
import os
import queue
import sys
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import suppress

import anyio

from ...config.schema import Settings
from ...errors import UsageError
from ...gc_pause import end_delay
from ...telemetry.log import JsonLog
from ..process.stop_signals import stop_signals
from ..service.run_service import RunService
from .connection import Connection
from .malformed import MOST_BYTES

__all__ = ["serve_stdio"]


async def serve_stdio(settings: Settings, log: JsonLog | None) -> None:
    """Serve until stdin ends, stdout has no reader, or a signal arrives; runs are then saved as paused.

    Calls in flight have `DRAIN_S` seconds to finish, unless a second signal arrives. The requests that wait
    for these runs are answered, if stdout has a reader.

    log: of its runs. Raises `UsageError` if stdin or stdout is closed.
    """
    input_fd, output_fd = _claim_stdio()
    async with RunService.open(settings, log=log) as service:
        loop = asyncio.get_running_loop()
        with anyio.CancelScope() as scope:
            signalled = False

            def pause() -> None:
                if not service.draining:
                    service.drain()

            def stop() -> None:
                nonlocal signalled
                # Clients close stdin, and send SIGTERM seconds later: that one changes nothing.
                if signalled:
                    service.drain(0.0)
                    scope.cancel()
                signalled = True
                pause()
                reader.end()

            reader = _Reader(input_fd, pause)
            for number in stop_signals():
                loop.add_signal_handler(number, stop)
            end_delay()
            await Connection(service, _Writer(output_fd, scope).write).serve(reader)
        pause()
        await service.drained()


def _claim_stdio() -> tuple[int, int]:
    """Return new descriptors of stdin and stdout, and detach the standard ones from the client.

    From then on, stray prints go to stderr and child processes read an empty stdin.
    """
    try:
        os.write(1, b"")  # an error if it was closed at start-up
        closed = sys.stdin is None
    except OSError:
        closed = True
    if closed:
        raise UsageError(
            "pnyx mcp needs stdin and stdout, and one of them is closed; let an MCP client start it"
        )
    claimed = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null if sys.stderr is None else 2, 1)
    os.close(null)
    return claimed


# A thread that waits for a pipe cannot be stopped. These two are daemons: they end with the process.


class _Reader:
    """Yields lines of a descriptor, and None for one that is too long. ended: called after the last one."""

    def __init__(self, fd: int, ended: Callable[[], None]) -> None:
        self._lines = asyncio.StreamReader(limit=MOST_BYTES)
        self._ended, self._on_end = False, ended
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(fd,), daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str | None]:
        whole = True
        while True:
            try:
                line = await self._lines.readuntil()
            except asyncio.LimitOverrunError as exc:
                await self._lines.readexactly(exc.consumed)
                whole = False
                continue
            except asyncio.IncompleteReadError as exc:
                line = exc.partial
            if not line:
                self._on_end()
                return
            yield line.decode("utf-8", "replace") if whole else None
            whole = True

    def end(self) -> None:
        """Yield no line that comes later."""
        self._ended = True
        self._lines.feed_eof()

    def _feed(self, chunk: bytes) -> None:
        if not self._ended:
            self._lines.feed_data(chunk)

    def _read(self, fd: int) -> None:
        with suppress(RuntimeError):  # the loop is closed
            with suppress(OSError):
                while chunk := os.read(fd, 1 << 16):
                    self._loop.call_soon_threadsafe(self._feed, chunk)
            self._loop.call_soon_threadsafe(self.end)


class _Writer:
    """Writes lines to a descriptor. scope: cancelled once the reader has closed it."""

    def __init__(self, fd: int, scope: anyio.CancelScope) -> None:
        self._fd, self._scope = fd, scope
        self._waiting = queue.SimpleQueue[tuple[bytes, Future[None]]]()
        threading.Thread(target=self._write, daemon=True).start()

    async def write(self, message: str) -> None:
        """Write a line, and return when the pipe has accepted it."""
        written: Future[None] = Future()
        self._waiting.put((message.encode("utf-8", "replace") + b"\n", written))
        try:
            await asyncio.wrap_future(written)
        except OSError:
            self._scope.cancel()

    def _write(self) -> None:
        while True:
            data, written = self._waiting.get()
            if not written.set_running_or_notify_cancel():
                continue
            try:
                while data:
                    data = data[os.write(self._fd, data) :]
            except OSError as exc:
                written.set_exception(exc)
            else:
                written.set_result(None)
