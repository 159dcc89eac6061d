"""Run `pnyx` in this process, in another process, and on a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import io
import json
import logging
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

from pnyx.gc_pause import end_delay
from pnyx.interfaces.cli import main
from pnyx.interfaces.process.stop_signals import stop_signals
from tests.support import forked

__all__ = ["Done", "Screen", "exit_code", "interpreter", "pnyx", "screen", "spawn"]


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


def pnyx(*args: str, stdin: bytes = b"") -> Done:
    """Run the command in this process, on streams that are not a terminal."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    input_stream = io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
    with mock.patch.multiple(sys, stdin=input_stream, stdout=out, stderr=err):
        code = exit_code(args)
    return Done(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def exit_code(args: Sequence[str]) -> int:
    """Run the command in this process; signals, logging and collections are as before afterwards."""
    root = logging.getLogger()
    level = root.level  # Inspect raises it, and later tests would see no warning
    handlers = {number: signal.getsignal(number) for number in stop_signals()}
    try:
        # Else what other tests have left would never be collected, and take gigabytes in the end. But Inspect
        # leaves streams open, of which Python would warn.
        with contextlib.nullcontext() if "eval" in args else mock.patch.object(gc, "freeze"):
            try:
                main(args)
            finally:
                end_delay()
    except SystemExit as exc:
        return int(exc.code or 0)
    finally:
        root.setLevel(level)
        if threading.current_thread() is threading.main_thread():
            for number, handler in handlers.items():
                signal.signal(number, handler)


def spawn(*args: str, **options: Any) -> forked.Process:
    """Start the command in another process, with pipes for its output."""
    return forked.start(*args, **options)


def interpreter(*args: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start the command in a new interpreter, for what happens before and after the command."""
    streams: dict[str, Any] = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    streams["stdin"] = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-m", "pnyx", *args], **(streams | options))


def own_terminal() -> None:
    """Make stdin the terminal of a new session, as a shell does."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Screen:
    """A command on a terminal. seen: the bytes written so far."""

    def __init__(self, master: int, process: forked.Process) -> None:
        self.master, self.process = master, process
        self.seen = b""

    def wait_for(self, text: str, timeout: float = 90.0) -> None:
        """Read until `text` appears."""
        deadline = time.monotonic() + timeout
        while text.encode() not in self.seen:
            assert self._read(deadline), f"{text!r} did not come; the screen: {self.text}"

    def end(self, timeout: float = 90.0) -> int:
        """Read until the process ends, and return its exit code."""
        deadline = time.monotonic() + timeout
        while self._read(deadline):
            pass
        return self.process.wait(max(deadline - time.monotonic(), 0.1))

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    @property
    def text(self) -> str:
        return self.seen.decode()

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self.master], [], [], max(deadline - time.monotonic(), 0))
        assert ready, f"nothing was written in time; the screen: {self.text}"
        try:
            data = os.read(self.master, 65536)
        except OSError:  # Linux says so when the other side is closed
            return False
        self.seen += data
        return bool(data)


@contextlib.contextmanager
def screen(*args: str, term: str = "xterm-256color", columns: int = 100, **options: Any) -> Iterator[Screen]:
    """Start the command on a terminal, in its own session as a shell does."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), slave)
    process = spawn(*args, env=os.environ | {"TERM": term}, preexec_fn=own_terminal, **(streams | options))
    os.close(slave)
    try:
        yield Screen(master, process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        os.close(master)
