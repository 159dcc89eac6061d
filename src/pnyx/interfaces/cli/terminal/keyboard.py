"""The keyboard of a terminal on which a command redraws what it shows: typed text is not echoed into it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from types import ModuleType

from .output import Stream

__all__ = ["Keyboard"]

LEAVING = ("SIGTSTP", "SIGQUIT")
"""Signals of keys that take the command off the terminal: Ctrl-Z and Ctrl-\\. Windows has neither."""


def _nothing() -> None:
    pass


class Keyboard:
    """Between `take` and `give_back`, the terminal of `stream` does not echo what is typed.

    The terminal stores the typed text for the program that reads next: the shell, or the next prompt. Ctrl-Z
    and Ctrl-\\ give the terminal back as it was. leave: called before that; come_back: after `fg` and `bg`.
    Nothing is changed while a shell runs the command in the background. Requires a running event loop.
    """

    def __init__(
        self,
        stream: Stream,
        leave: Callable[[], object] = _nothing,
        come_back: Callable[[], object] = _nothing,
    ) -> None:
        self._stream, self._leave, self._come_back = stream, leave, come_back
        self._silent = False

    @property
    def in_front(self) -> bool:
        """Whether the command is not in the background of a shell."""
        try:
            return os.tcgetpgrp(self._stream.file.fileno()) == os.getpgrp()
        except (OSError, ValueError, AttributeError):  # not the terminal of a shell with jobs
            return True

    def take(self) -> None:
        self._watch()
        self.silence()

    def give_back(self) -> None:
        for number in self._numbers():
            asyncio.get_running_loop().remove_signal_handler(number)
        self._restore()

    def silence(self) -> None:
        """Switch the echo off, unless it is off or the command is in the background."""
        self._silent = self._silent or self._set_echo(on=False)

    def _restore(self) -> None:
        if self._silent:
            self._set_echo(on=True)
            self._silent = False

    def _set_echo(self, *, on: bool) -> bool:
        """Return whether the echo was changed."""
        termios = _termios()
        if termios is None or not self.in_front:  # in the background, the change would stop the process
            return False
        with suppress(termios.error, OSError, ValueError):
            descriptor = self._stream.file.fileno()
            os.tcgetpgrp(descriptor)  # raises for a terminal that is not the one of this session
            mode = termios.tcgetattr(descriptor)
            if bool(mode[3] & termios.ECHO) == on:
                return False
            mode[3] ^= termios.ECHO
            termios.tcsetattr(descriptor, termios.TCSANOW, mode)  # discards nothing that is typed
            return True
        return False

    @staticmethod
    def _numbers() -> list[signal.Signals]:
        return [number for name in LEAVING if (number := getattr(signal, name, None)) is not None]

    def _watch(self) -> None:
        for number in self._numbers():
            # Where the shell has no jobs, or under nohup, it is ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                asyncio.get_running_loop().add_signal_handler(number, self._suspend, number)

    def _suspend(self, number: signal.Signals) -> None:
        """Give the terminal back and do what the signal does by default; go on if the shell continues it."""
        self._leave()
        self._restore()
        asyncio.get_running_loop().remove_signal_handler(number)
        os.kill(os.getpid(), number)  # returns when the process goes on
        self._watch()  # before the echo is off again
        self.silence()
        self._come_back()


def _termios() -> ModuleType | None:
    """The module termios, which Windows does not have."""
    try:
        # Only a terminal requires it.
        import termios
    except ImportError:
        return None
    return termios
