"""The server on stdin and stdout of this process: for one client, who started it."""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import sys
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import suppress

import anyio

from ...config.schema import Settings
from ...errors import UsageError
from ..service import RunService
from .connection import Connection

__all__ = ["serve_stdio"]

MOST_BYTES = 16 << 20
"""Of one message."""


async def serve_stdio(settings: Settings) -> None:
    """Serve until stdin ends, the reader of stdout leaves, or a signal comes; runs are then saved, paused.

    Raises `UsageError` where stdin or stdout is closed.
    """
    given, taken = _claimed()
    async with RunService.open(settings) as service:
        loop = asyncio.get_running_loop()
        with anyio.CancelScope() as scope:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, scope.cancel)
            await Connection(service, _Writer(taken, scope).write).serve(_Reader(given))


def _claimed() -> tuple[int, int]:
    """Descriptors of what stdin and stdout were. What is printed by mistake goes to stderr from now on, and
    what children read is empty: neither is a message.
    """
    # A number that was closed at the start may by now be another file's.
    if sys.stdin is None or sys.stdout is None:
        raise UsageError("this speaks on stdin and stdout, and one of them is closed")
    own = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null if sys.stderr is None else 2, 1)
    os.close(null)
    return own


# A thread that waits for a pipe cannot be stopped. These two end with the process, and hold up nothing.


class _Reader:
    """Lines as they come. Of one that is too long an empty one is left, which is refused as no message."""

    def __init__(self, fd: int) -> None:
        self._lines = asyncio.StreamReader(limit=MOST_BYTES)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(fd,), daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
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
                return
            yield line.decode("utf-8", "replace") if whole else "\n"
            whole = True

    def _read(self, fd: int) -> None:
        with suppress(RuntimeError):  # the loop is closed
            with suppress(OSError):
                while chunk := os.read(fd, 1 << 16):
                    self._loop.call_soon_threadsafe(self._lines.feed_data, chunk)
            self._loop.call_soon_threadsafe(self._lines.feed_eof)


class _Writer:
    """scope: is cancelled when nobody reads any more."""

    def __init__(self, fd: int, scope: anyio.CancelScope) -> None:
        self._fd, self._scope = fd, scope
        self._waiting = queue.SimpleQueue[tuple[bytes, Future[None]]]()
        threading.Thread(target=self._write, daemon=True).start()

    async def write(self, message: str) -> None:
        """Write a line; return when the pipe has taken it."""
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
