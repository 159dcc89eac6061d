"""What is typed during the live view is not echoed into it, and the terminal is restored however it ends."""

from __future__ import annotations

import os
import select
import signal
import termios
import threading
from functools import partial
from pathlib import Path

import pytest

from tests.faults.trial import soon
from tests.interfaces.cli.test_signals import wait_for_calls
from tests.interfaces.shell import Screen, screen
from tests.support.scripted import ScriptedHost

KEYS = "typed ahead"
SINGLE = ("ask", "-p", "single", "Why?")


def test_ctrl_z_gives_the_terminal_back_and_the_view_is_drawn_again(lab: ScriptedHost) -> None:
    resumed = threading.Event()
    lab.on("alpha", until=resumed.is_set)
    shown, hidden = "\x1b[?25h", "\x1b[?25l"
    with screen("ask", "Why?") as tty:
        tty.wait_for(" of 1 · propose · $")
        for times in (2, 3):
            # A process that no shell waits for goes on at once, but does before it what others do.
            tty.type("\x1a")
            soon(partial(_has, tty, hidden, times))
            assert not _echoes(tty)
        resumed.set()
        assert tty.end() == 0
        assert _echoes(tty)
    assert tty.text.count(hidden) == tty.text.count(shown) > 2


def _has(tty: Screen, text: str, times: int) -> bool:
    while select.select([tty.master], [], [], 0)[0]:
        tty.seen += os.read(tty.master, 65536)
    return tty.text.count(text) >= times


def _echoes(tty: Screen) -> bool:
    return bool(termios.tcgetattr(tty.master)[3] & termios.ECHO)


def _silent(tty: Screen, lab: ScriptedHost) -> None:
    """Wait until a call is in flight, behind a view in which nothing is echoed."""
    assert _echoes(tty)
    wait_for_calls(lab, 1)
    soon(lambda: not _echoes(tty))


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("command", [SINGLE, ("batch", "asked.jsonl", *SINGLE[1:3])])
def test_typed_text_is_not_in_the_view(lab: ScriptedHost, command: tuple[str, ...], status: int) -> None:
    answered = threading.Event()
    lab.on("*", until=answered.is_set, status=status, text="So.")
    Path("asked.jsonl").write_text('"a?"\n"b?"\n')
    with screen(*command) as tty:
        _silent(tty, lab)
        tty.type(KEYS)
        answered.set()
        tty.end()
        assert _echoes(tty)
    assert KEYS not in tty.text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_restores_the_echo(lab: ScriptedHost, number: signal.Signals) -> None:
    answered = threading.Event()
    lab.on("*", until=answered.is_set, text="So.")
    with screen(*SINGLE) as tty:
        _silent(tty, lab)
        tty.process.send_signal(number)
        if number != signal.SIGQUIT:
            tty.wait_for("waiting for the calls in flight")
            answered.set()
        tty.end()
        assert _echoes(tty)


def test_a_second_signal_restores_the_echo(lab: ScriptedHost) -> None:
    lab.on("*", hang=True)
    with screen(*SINGLE) as tty:
        _silent(tty, lab)
        tty.type("\x03")
        tty.wait_for("waiting for the calls in flight")
        tty.type("\x03")
        assert tty.end() == 130
        assert _echoes(tty)
