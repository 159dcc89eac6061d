"""Modules as processes that start at once: forked from a server that has loaded the slow imports.

A new interpreter spends more than a second of processor time on imports before `pnyx ask` sends its first
request. A forked process is as real for signals, limits, locks and leases. It does not show how a new
interpreter starts and how it frees its modules: tests of that start one.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import IO

from tests.support.fork_server import MOST_BYTES, NUMBER, Request
from tests.support.sources import ROOT

__all__ = ["RUN", "Process", "Stream", "start"]

Stream = int | IO[str] | IO[bytes]
"""PIPE, DEVNULL, a descriptor or an open file."""

RUN = (
    *("pnyx.interfaces.cli.commands", "pnyx.interfaces.cli.actions.ask", "pnyx.protocols.consensus"),
    *("pnyx.protocols.voting", "pnyx.providers.hosted.kinds", "pnyx.providers.hosted.provider"),
    *("pydantic_ai.models.openai", "pydantic_ai.providers.openai_compatible", "openai.resources.chat.chat"),
    *("sqlalchemy.dialects.sqlite", "sqlalchemy.dialects.postgresql", "asyncpg", "alembic.command"),
    *("anyio._backends._asyncio", "genai_prices.data", "linkify_it", "markdown_it"),
    *("encodings.utf_8_sig", "pnyx.providers.embedded.kind", "tests.support.warmed_up"),
)
_IMPORTS = {
    "ask": RUN,
    "batch": (*RUN, "pnyx.interfaces.cli.actions.batch"),
    "chat": (*RUN, "pnyx.interfaces.cli.actions.chat"),
    "mcp": (*RUN, "pnyx.interfaces.mcp.stdio"),
    "resume": RUN,
    "serve": (*RUN, "pnyx.interfaces.cli.actions.serve"),
    "worker": (*RUN, "pnyx.interfaces.cli.actions.worker", "procrastinate", "psycopg"),
    "eval": (
        *(*RUN, "pnyx.interfaces.cli.actions.eval", "pnyx.evaluate.execution.run"),
        *("pnyx.evaluate.report.document", "pnyx.evaluate.report.text", "pnyx.protocols.single"),
        # Modules that Inspect imports in its first evaluation.
        *("acp", "anthropic", "fsspec.implementations.chained", "fsspec.implementations.local"),
        *("inspect_ai._control.config_record", "inspect_ai._control.scoring"),
        *("inspect_ai.agent._acp._client_registry", "inspect_ai.agent._acp.server"),
        *("inspect_ai.agent._acp.transport_live", "inspect_ai.hooks._startup"),
        *("inspect_ai.model._openai_responses", "inspect_ai.model._providers.anthropic"),
        *("inspect_ai.model._providers.none", "inspect_ai.solver._transcript", "numpy"),
        *("rich._emoji_codes", "rich.markdown", "tests.support.warmed_up_eval"),
    ),
}
"""What the server loads before it starts a command: what each process of it would load again."""


class Process:
    """A process, with the attributes and methods of `subprocess.Popen` that tests use."""

    def __init__(self, request: Request, stdin: Stream, stdout: Stream, stderr: Stream) -> None:
        self.returncode: int | None = None
        self._lock = threading.Lock()
        with contextlib.ExitStack() as theirs:
            self.stdin, first = _opened(stdin, "wb", theirs)
            self.stdout, second = _opened(stdout, "rb", theirs)
            self.stderr, third = _opened(stderr, "rb", theirs)
            self._status, status = os.pipe()
            theirs.callback(os.close, status)
            weakref.finalize(self, os.close, self._status)
            message = pickle.dumps(request)
            assert len(message) < MOST_BYTES
            socket.send_fds(_server(), [message], [first, second, third, status])
        self.pid = self._number()

    def poll(self) -> int | None:
        """Return the return code, or None while the process runs."""
        with self._lock:
            if self.returncode is None and select.select([self._status], [], [], 0)[0]:
                self.returncode = self._number()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the process. Raises `subprocess.TimeoutExpired`."""
        if self.returncode is None:
            select.select([self._status], [], [], timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, data: bytes = b"", timeout: float | None = None) -> tuple[bytes, bytes]:
        """Write to stdin, read the pipes to their ends, and wait. Raises `subprocess.TimeoutExpired`."""
        deadline = None if timeout is None else time.monotonic() + timeout
        read = dict[str, bytes]()

        def read_all(name: str, stream: IO[bytes]) -> None:
            read[name] = stream.read()

        threads = [
            threading.Thread(target=read_all, args=(name, stream), daemon=True)
            for name, stream in (("stdout", self.stdout), ("stderr", self.stderr))
            if stream is not None and not stream.closed
        ]
        for thread in threads:
            thread.start()
        if self.stdin is not None and not self.stdin.closed:
            with contextlib.suppress(BrokenPipeError), self.stdin:
                self.stdin.write(data)

        def remaining() -> float | None:
            return None if deadline is None else max(deadline - time.monotonic(), 0.0)

        for thread in threads:
            thread.join(remaining())
            if thread.is_alive():
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        self.wait(remaining())
        self._close()
        return read.get("stdout", b""), read.get("stderr", b"")

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        self.wait()

    def _close(self) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def _number(self) -> int:
        data = os.read(self._status, NUMBER.size)
        assert data, "the fork server has ended"
        number: int
        (number,) = NUMBER.unpack(data)
        return number


def start(
    *args: str,
    module: str = "pnyx",
    stdin: Stream = DEVNULL,
    stdout: Stream = PIPE,
    stderr: Stream = PIPE,
    env: Mapping[str, str] | None = None,
    preexec_fn: Callable[[], object] | None = None,
    folder: Path | None = None,
    imports: tuple[str, ...] = (),
) -> Process:
    """Start `python -m MODULE ARGS`, in this folder and environment unless there are others.

    preexec_fn: called in the process first; pickled, so a function or method of a module. imports: what the
    server loads first, if the arguments name no command.
    """
    environment = dict(os.environ if env is None else env)
    imports = next((_IMPORTS[arg] for arg in args if arg in _IMPORTS), imports)
    request = Request(module, args, str(folder or Path.cwd()), environment, imports, preexec_fn)
    return Process(request, stdin, stdout, stderr)


def _opened(stream: Stream, mode: str, theirs: contextlib.ExitStack) -> tuple[IO[bytes] | None, int]:
    """Our end of a pipe, if `stream` is one, and a descriptor for the process, open until `theirs` ends."""
    if stream == PIPE:
        reading, writing = os.pipe()
        ours, other = (writing, reading) if mode == "wb" else (reading, writing)
        theirs.callback(os.close, other)
        return open(ours, mode), other
    if stream == DEVNULL:
        null = os.open(os.devnull, os.O_RDWR)
        theirs.callback(os.close, null)
        return None, null
    return None, stream if isinstance(stream, int) else stream.fileno()


_starting = threading.Lock()
_servers: list[tuple[socket.socket, subprocess.Popen[bytes]]] = []


def _server() -> socket.socket:
    """The connection to the server, which starts with the first process, and again if it has ended."""
    with _starting:
        if not _servers or _servers[-1][1].poll() is not None:
            connection, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with other:
                fd = other.fileno()
                command = [sys.executable, "-m", "tests.support.fork_server", str(fd)]
                # In a session of its own, which no Ctrl-C for pytest reaches.
                server = subprocess.Popen(command, cwd=ROOT, pass_fds=[fd], start_new_session=True)
            _servers.append((connection, server))
        return _servers[-1][0]


@atexit.register
def _end() -> None:
    for connection, server in _servers:
        connection.close()
        server.wait()
