"""`python -m tests.support.fork_server FD`: fork processes that need not import modules again.

FD is a socket of `forked.py`. A request is a pickled `Request` with four file descriptors: stdin, stdout,
stderr, and a pipe that gets two numbers, the process id at once and the return code at the end.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import pickle
import re
import runpy
import selectors
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pnyx.core.caching import regex

__all__ = ["MOST_BYTES", "NUMBER", "Request"]

MOST_BYTES = 1 << 17
"""Of a request."""
NUMBER = struct.Struct("q")
"""The process id, or the return code."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to run, as `python -m MODULE ARGS` does. imports: modules that the server loads first."""

    module: str
    args: tuple[str, ...]
    folder: str
    environment: dict[str, str]
    imports: tuple[str, ...] = ()
    preexec: Callable[[], object] | None = None


class Server:
    """Starts a process for every request, and reports how it ended."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._selector = selectors.DefaultSelector()
        self._selector.register(connection, selectors.EVENT_READ)
        self._status: dict[int, tuple[int, int]] = {}
        """Of a process, by the descriptor that tells its end: its id, and the pipe for its numbers."""

    def serve(self) -> Request | None:
        """Return in every process that was forked, with its request; here with None at the end."""
        while True:
            for key, _ in self._selector.select():
                if key.fd in self._status:
                    self._report_end(key.fd)
                    continue
                message, fds, _, _ = socket.recv_fds(self._connection, MOST_BYTES, 4)
                if not message:
                    return None
                request: Request = pickle.loads(message)
                with _patterns_compiled():
                    for name in request.imports:
                        importlib.import_module(name)
                if self._forked(*fds):
                    _become(request)
                    return request

    def _forked(self, *fds: int) -> bool:
        """Fork. Returns True in the new process, which has the first three descriptors as its streams."""
        *streams, status = fds
        gc.freeze()  # a collection in the new process would copy all pages
        pid = os.fork()
        if pid == 0:
            self._selector.close()
            self._connection.close()
            for number, fd in enumerate(streams):
                os.dup2(fd, number)
            for fd in (*fds, *self._status, *(pipe for _, pipe in self._status.values())):
                os.close(fd)
            return True
        for fd in streams:
            os.close(fd)
        ended = os.pidfd_open(pid)
        self._status[ended] = pid, status
        self._selector.register(ended, selectors.EVENT_READ)
        os.write(status, NUMBER.pack(pid))
        return False

    def _report_end(self, ended: int) -> None:
        pid, status = self._status.pop(ended)
        self._selector.unregister(ended)
        _, code = os.waitpid(pid, 0)
        with contextlib.suppress(BrokenPipeError):  # nobody waits for it
            os.write(status, NUMBER.pack(os.waitstatus_to_exitcode(code)))
        os.close(status)
        os.close(ended)


@contextlib.contextmanager
def _patterns_compiled() -> Iterator[None]:
    """Compile the patterns of the modules that are imported inside: each process would compile them again."""
    deferred, regex.regex = regex.regex, re.compile
    try:
        yield
    finally:
        regex.regex = deferred


def _become(request: Request) -> None:
    """Take the folder, environment and arguments of the request, and open the streams as Python does."""
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    if request.preexec is not None:
        request.preexec()
    encoding, errors = sys.stdout.encoding, sys.stdout.errors
    sys.stdin = open(0, encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115 (open to the end)
    sys.stdout = open(1, "w", encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding=encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = [request.module, *request.args]


def _run(module: str) -> None:
    """Run a module, and end the process as an interpreter does, but for the modules, which are not freed.

    That would copy every page that the server shares with its processes, and takes longer than most commands.
    """
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as exc:
        if not isinstance(exc.code, int | None):
            raise
        code = exc.code or 0
    else:
        code = 0
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()
    try:
        for stream in (sys.stdout, sys.stderr):
            if not stream.closed:
                stream.flush()
    except OSError:
        sys.exit(code)  # the interpreter tries again, and says that it cannot write
    os._exit(code & 0xFF)


if __name__ == "__main__":
    asked = Server(socket.socket(fileno=int(sys.argv[1]))).serve()
    # Outside of the loop, so that an error ends the process as it ends any interpreter.
    if asked is not None:
        _run(asked.module)
