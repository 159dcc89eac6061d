"""Lines from whoever asks: edited, with a history, on a terminal; as they come from a pipe.

A line is waited for on a thread, so that the event loop goes on. Nothing can interrupt such a thread
inside readline; so while it edits a line, Ctrl-C is no signal but a key, which clears the line.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from ....errors import UsageError
from ..actions.ask import MOST_BYTES, as_text
from .output import Output

__all__ = ["History", "Lines"]

MOST_LINES = 1000
"""Of the history, when it is read; older ones go."""
MOST_CHARS = 2000
"""Of one line of the history: a page that somebody pasted is not called up again."""


class Lines:
    """The lines of stdin. person: whether somebody sits at a terminal and types them."""

    def __init__(self, output: Output, history: Path) -> None:
        self.person = sys.stdin is not None and sys.stdin.isatty()
        self._output = output
        self._editor: _Editor | None = None
        if self.person and sys.stdout is not None and sys.stdout.isatty() and (module := _readline()):
            self._editor = _Editor(module, output, History(history))
        self._pipe = _Pipe()
        self._prompt = ""
        self._waiting: asyncio.Future[str | None] | None = None

    async def next(self, prompt: str) -> str | None:
        """The next line; None when there are no more, and after `stop`. Raises `UsageError` for no text."""
        if sys.stdin is None:
            return None
        if self._editor is not None:
            with self._editor.interrupt_as_key():
                return await self._on_thread(self._editor.read, prompt)
        self._prompt = prompt if self.person else ""
        self._output.err.write(self._prompt)
        return await self._on_thread(self._pipe.read)

    def stop(self) -> None:
        """Wait for no further line."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def interrupted(self) -> None:
        """Show the prompt again: the system has thrown away what was typed."""
        if self._editor is None and self._waiting is not None:
            self._output.err.write(f"\n{self._prompt}")

    async def _on_thread(self, read: Callable[..., str | None], *args: str) -> str | None:
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[str | None] = loop.create_future()
        self._waiting = waiting

        def work() -> None:
            try:
                outcome: str | BaseException | None = read(*args)
            except (EOFError, OSError):  # Ctrl-D; a terminal that is gone
                outcome = None
            except BaseException as exc:
                outcome = exc
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(deliver, outcome)

        def deliver(outcome: str | BaseException | None) -> None:
            if waiting.done():
                return
            if isinstance(outcome, BaseException):
                waiting.set_exception(outcome)
            else:
                waiting.set_result(outcome)

        # A thread of our own, not a pool's: leaving must not wait for a line that never comes.
        threading.Thread(target=work, name="pnyx-line", daemon=True).start()
        try:
            return await waiting
        finally:
            self._waiting = None


class _Editor:
    """Line editing by readline."""

    def __init__(self, readline: ModuleType, output: Output, history: History) -> None:
        self._readline, self._history = readline, history
        self._painted = output.out.painted
        readline.set_auto_history(False)
        if "libedit" in (readline.__doc__ or ""):
            readline.parse_and_bind("bind ^C ed-kill-line")
        else:
            readline.parse_and_bind('"\\C-c": kill-whole-line')
            # What is pasted is one question, however many lines it has. It takes escapes to know.
            escapes = replace(output, quiet=False).live
            readline.parse_and_bind(f"set enable-bracketed-paste {'on' if escapes else 'off'}")
        for line in history.read():
            readline.add_history(line)

    def read(self, prompt: str) -> str | None:
        # The marks tell readline which part of the prompt takes no room.
        shown = f"\001\x1b[1m\002{prompt}\001\x1b[0m\002" if self._painted else prompt
        try:
            line = input(shown)
        except UnicodeDecodeError as exc:
            raise UsageError(f"what was typed is not text (byte {exc.start})") from exc
        if kept := self._history.add(line):
            self._readline.add_history(kept)
        return line

    @contextlib.contextmanager
    def interrupt_as_key(self) -> Iterator[None]:
        """Let the terminal hand Ctrl-C on, and put everything back, also where readline was left waiting."""
        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
        now = [*before[:6], list(before[6])]
        now[6][termios.VINTR] = bytes([os.fpathconf(descriptor, "PC_VDISABLE")])
        termios.tcsetattr(descriptor, termios.TCSANOW, now)
        try:
            yield
        finally:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(descriptor, termios.TCSANOW, before)


class _Pipe:
    """Lines of stdin as bytes come. Not through `sys.stdin`: a thread left in there blocks the exit."""

    def __init__(self) -> None:
        self._held = bytearray()

    def read(self) -> str | None:
        """The next line, None at the end. Raises `UsageError` for one that cannot be a question."""
        held, searched = self._held, 0
        while (end := held.find(b"\n", searched)) < 0:
            # More of a line than this is refused, so that it need not be held.
            del held[MOST_BYTES + 1 :]
            searched = len(held)
            more = os.read(sys.stdin.fileno(), 1 << 16)
            if not more:
                if not held:
                    return None
                end = len(held)
                break
            held += more
        line = bytes(held[:end])
        del held[: end + 1]
        return as_text(line)


class History:
    """What was typed, a line each, in a file that its owner alone may read.

    One that cannot be read or written is done without: it is no part of a conversation.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[str]:
        """The newest lines, oldest first; what is older is forgotten."""
        with contextlib.suppress(OSError):
            lines = self._path.read_text("utf-8", "replace").splitlines()
            if len(lines) > MOST_LINES:
                fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")
                self._append(fresh, "".join(f"{line}\n" for line in lines[-MOST_LINES:]))
                os.replace(fresh, self._path)
            return [line for line in lines[-MOST_LINES:] if "\0" not in line]
        return []

    def add(self, line: str) -> str:
        """Keep `line`, as one line; what is kept, which is nothing where it is blank or very long."""
        kept = " ".join(line.split())
        if not kept or len(kept) > MOST_CHARS:
            return ""
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._append(self._path, kept + "\n")
        return kept

    @staticmethod
    def _append(path: Path, text: str) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            os.fchmod(descriptor, 0o600)
            file.write(text)


def _readline() -> ModuleType | None:
    """Python's readline; a Python may come without it."""
    try:
        # It takes the terminal over as soon as it is imported, which only a person at one wants.
        import readline
    except ImportError:
        return None
    return readline
