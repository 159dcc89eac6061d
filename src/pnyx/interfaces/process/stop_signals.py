"""The signals that ask a command to end: it saves its work first."""

from __future__ import annotations

import os
import select
import signal
from typing import IO

__all__ = ["stop_signals", "wait_for_input"]


def stop_signals() -> tuple[signal.Signals, ...]:
    """SIGINT, SIGTERM, and SIGHUP, which a terminal sends when it closes.

    Without SIGHUP if it is ignored, as under nohup, and where the system has none.
    """
    hangup: signal.Signals | None = getattr(signal, "SIGHUP", None)
    if hangup is None or signal.getsignal(hangup) == signal.SIG_IGN:
        return signal.SIGINT, signal.SIGTERM
    return signal.SIGINT, signal.SIGTERM, hangup


def wait_for_input(stream: IO[bytes]) -> None:
    """Wait until `stream`, whose buffer is empty, can be read, or run the handler of a signal that arrives.

    For the main thread. Python runs handlers before a read and when a read is interrupted. A signal between
    the two would wait for the next line; here its byte in the pipe ends the wait.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer)
    try:
        select.select([stream.fileno(), reader], [], [])
    finally:
        signal.set_wakeup_fd(before)
        os.close(reader)
        os.close(writer)
