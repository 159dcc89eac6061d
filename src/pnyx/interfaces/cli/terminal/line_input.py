"""Lines of input: from a terminal with line editing and a history, or from a pipe.

Reading happens on a thread, so that it does not block the event loop. A thread inside readline cannot be
interrupted; so while a line is edited, Ctrl-C is not a signal but a key that clears the line.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from ....errors import UsageError
from ...process.stop_signals import stop_signals
from .input_text import MOST_BYTES, as_text
from .output import Output

__all__ = ["History", "Lines", "typed"]

PASTE_S = 0.05
"""Seconds within which the next line of a text that is pasted arrives."""
MOST_LINES = 1000
"""Lines that the history keeps; older ones are deleted when it is read."""
MOST_CHARS = 2000
"""Longest line that the history stores: long pasted text is not worth recalling."""


def typed(output: Output, prompt: str) -> str:
    """Return what a person types at a prompt; pasted lines are one text. Empty at the end of the input.

    Raises `KeyboardInterrupt` on a signal, and `UsageError` for lines behind the first that the terminal does
    not mark as pasted: the shell would run them as commands.
    """
    try:
        return asyncio.run(_typed(output, prompt))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _typed(output: Output, prompt: str) -> str:
    loop, task, lines = asyncio.get_running_loop(), asyncio.current_task(), Lines(output, None, signals=True)
    assert task is not None
    for number in stop_signals():
        loop.add_signal_handler(number, task.cancel)
    try:
        line = await lines.next(prompt)
    finally:
        for number in stop_signals():
            loop.remove_signal_handler(number)
    if line is None:
        output.err.write("" if lines.pastes else "\n")  # readline has ended the line
    elif select.select([sys.stdin], [], [], PASTE_S)[0]:
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
        raise UsageError("the question has several lines: pipe it, as in pnyx ask - < FILE")
    return line or ""


class Lines:
    """The lines of stdin. person: whether stdin is a terminal. pastes: whether pasted lines are one line.

    history: the file of earlier lines, None for none. signals: whether Ctrl-C stays a signal.
    """

    def __init__(self, output: Output, history: Path | None, *, signals: bool = False) -> None:
        self.person = sys.stdin is not None and sys.stdin.isatty()
        self._output = output
        self._editor: _Editor | None = None
        shows = sys.stdout is not None and (output.out.width or output.err.width)
        if self.person and shows and (module := _readline()):
            self._editor = _Editor(module, output, None if history is None else History(history), signals)
        self._pipe = _Pipe()
        self._prompt = ""
        self._waiting: asyncio.Future[str | None] | None = None

    @property
    def pastes(self) -> bool:
        return self._editor is not None and self._editor.pastes

    async def next(self, prompt: str) -> str | None:
        """Read a line; None at the end and after `stop`. Raises `UsageError` if it is not UTF-8 text."""
        if sys.stdin is None:
            return None
        if self._editor is not None:
            with self._editor.terminal():
                return await self._on_thread(self._editor.read, prompt)
        self._prompt = prompt if self.person else ""
        self._output.err.write(self._prompt)
        return await self._on_thread(self._pipe.read)

    def stop(self) -> None:
        """Stop waiting: `next` returns None."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def interrupted(self) -> None:
        """Show the prompt again after Ctrl-C, because the terminal has discarded the typed text."""
        if self._editor is None and self._waiting is not None:
            self._output.err.write(f"\n{self._prompt}")

    async def _on_thread(self, read: Callable[..., str | None], *args: str) -> str | None:
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[str | None] = loop.create_future()
        self._waiting = waiting

        def work() -> None:
            try:
                outcome: str | BaseException | None = read(*args)
            except (EOFError, OSError):  # Ctrl-D; a closed terminal
                outcome = None
            except BaseException as exc:
                outcome = exc
            with contextlib.suppress(RuntimeError):  # the loop has been closed
                loop.call_soon_threadsafe(deliver, outcome)

        def deliver(outcome: str | BaseException | None) -> None:
            if waiting.done():
                return
            if isinstance(outcome, BaseException):
                waiting.set_exception(outcome)
            else:
                waiting.set_result(outcome)

        # Not a thread of the pool: the exit would wait for a line that may never come.
        threading.Thread(target=work, name="pnyx-line", daemon=True).start()
        try:
            return await waiting
        finally:
            self._waiting = None


class _Editor:
    """Line editing by readline, on the terminal of stdout, or of stderr if stdout is redirected."""

    def __init__(self, readline: ModuleType, output: Output, history: History | None, signals: bool) -> None:
        self._readline, self._history, self._signals = readline, history, signals
        self.pastes = False
        self._output = output
        self._redirected = output.out.width is None
        readline.set_auto_history(False)
        if "libedit" in (readline.__doc__ or ""):
            readline.parse_and_bind("bind ^C ed-kill-line")
        else:
            readline.parse_and_bind('"\\C-c": kill-whole-line')
            # Pasted text is one question, however many lines it has. This requires escape sequences.
            self.pastes = replace(output, quiet=False).live
            readline.parse_and_bind(f"set enable-bracketed-paste {'on' if self.pastes else 'off'}")
        for line in history.read() if history else ():
            readline.add_history(line)

    def read(self, prompt: str) -> str | None:
        # \001 and \002 mark the part of the prompt that has no width on the screen.
        painted = (self._output.err if self._redirected else self._output.out).painted
        styled = f"\001\x1b[1m\002{prompt}\001\x1b[0m\002" if painted else prompt
        try:
            line = input(styled)
        except UnicodeDecodeError as exc:
            raise UsageError(f"the input is not UTF-8 (byte {exc.start})") from exc
        if self._history and (entry := self._history.add(line)):
            self._readline.add_history(entry)
        return line

    @contextlib.contextmanager
    def terminal(self) -> Iterator[None]:
        """Make Ctrl-C a key, unless it stays a signal; then restore the terminal, also if readline is still
        waiting for a line.
        """
        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
        now = [*before[:6], list(before[6])]
        if not self._signals:
            now[6][termios.VINTR] = bytes([os.fpathconf(descriptor, "PC_VDISABLE")])
        termios.tcsetattr(descriptor, termios.TCSANOW, now)
        try:
            with self._shown():
                yield
        except BaseException:
            if self.pastes:  # readline, which is still waiting, does not leave the mode
                self._output.err.write("\x1b[?2004l")
            raise
        finally:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(descriptor, termios.TCSANOW, before)

    @contextlib.contextmanager
    def _shown(self) -> Iterator[None]:
        """Let readline, which writes to the descriptor of stdout, write to a terminal."""
        if not self._redirected:
            yield
            return
        stdout = sys.stdout.fileno()
        redirected = os.dup(stdout)
        os.dup2(sys.stderr.fileno(), stdout)
        try:
            yield
        finally:
            os.dup2(redirected, stdout)
            os.close(redirected)


class _Pipe:
    """Lines from the file descriptor of stdin: a thread blocked in `sys.stdin` would block the exit."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def read(self) -> str | None:
        """Read a line; None at the end. Raises `UsageError` if it is too long or not UTF-8 text."""
        buffer, searched = self._buffer, 0
        while (end := buffer.find(b"\n", searched)) < 0:
            # A longer line is refused, so the rest of it is not stored.
            del buffer[MOST_BYTES + 1 :]
            searched = len(buffer)
            more = os.read(sys.stdin.fileno(), 1 << 16)
            if not more:
                if not buffer:
                    return None
                end = len(buffer)
                break
            buffer += more
        line = bytes(buffer[:end])
        del buffer[: end + 1]
        return as_text(line)


class History:
    """The typed lines, in a file that only its owner can read.

    If the file cannot be read or written, there is no history; the conversation does not need it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[str]:
        """The newest `MOST_LINES` lines, oldest first. Deletes older ones."""
        with contextlib.suppress(OSError):
            lines = self._path.read_text("utf-8", "replace").splitlines()
            if len(lines) > MOST_LINES:
                fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")
                self._append(fresh, "".join(f"{line}\n" for line in lines[-MOST_LINES:]))
                os.replace(fresh, self._path)
            return [line for line in lines[-MOST_LINES:] if "\0" not in line]
        return []

    def add(self, line: str) -> str:
        """Store `line` as one line and return it; empty if it is blank or too long to store."""
        entry = " ".join(line.split())
        if not entry or len(entry) > MOST_CHARS:
            return ""
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._append(self._path, entry + "\n")
        return entry

    @staticmethod
    def _append(path: Path, text: str) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            os.fchmod(descriptor, 0o600)
            file.write(text)


def _readline() -> ModuleType | None:
    """The module readline, or None if this Python was built without it."""
    try:
        # The import changes the terminal, so it happens only for input from one.
        import readline
    except ImportError:
        return None
    return readline
