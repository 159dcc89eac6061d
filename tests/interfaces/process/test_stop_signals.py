"""A signal that arrives when no read can notice it."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from pnyx.interfaces.process.stop_signals import wait_for_input


def test_a_signal_that_interrupts_no_read_ends_the_wait() -> None:
    reader, writer = os.pipe()
    # A signal to another thread leaves the wait alone, as one that arrives just before it does.
    late = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    typed = threading.Timer(30, os.write, [writer, b"typed\n"])
    with open(reader, "rb") as stream, open(writer, "wb"):
        late.start()
        typed.start()
        with pytest.raises(KeyboardInterrupt):
            wait_for_input(stream)
        assert typed.is_alive(), "the signal waited for the next line"
        typed.cancel()
        typed.join()


def test_input_ends_the_wait_and_the_pipe_of_signals_is_restored() -> None:
    reader, writer = os.pipe()
    with open(reader, "rb") as stream, open(writer, "wb", buffering=0) as keys:
        keys.write(b"typed\n")
        wait_for_input(stream)
        assert stream.readline() == b"typed\n"
    assert signal.set_wakeup_fd(-1) == -1
