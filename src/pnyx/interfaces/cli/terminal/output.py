"""Output streams: the answer goes to stdout, everything else to stderr; colour only on a terminal."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TextIO

from ....errors import PnyxError
from ...render.terminal import ClosedPipe, safe, wrap

__all__ = ["MOST_COLUMNS", "Output", "Stream", "streams"]

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
MOST_COLUMNS = 100
"""Longer lines are hard to read, so text is wrapped here on wider screens."""
_NO_READER = (errno.EPIPE, errno.EIO)
"""Errors of a pipe that its reader has closed, and of a terminal that is gone."""


@dataclass
class Stream:
    """An output stream. width: columns of a terminal, else None. painted: whether styles are shown.

    essential: whether a command fails if the stream cannot be written. name, kept: for error messages: what
    it is, and where else one finds what was to be written.
    """

    file: TextIO
    painted: bool = False
    width: int | None = None
    essential: bool = True
    broken: bool = False
    name: str = "the output"
    kept: str = ""

    def paint(self, text: str, *styles: str) -> str:
        """Make `text` safe for a terminal and, if this stream is painted, apply styles."""
        codes = ";".join(STYLES[style] for style in styles) if self.painted else ""
        return f"\x1b[{codes}m{safe(text)}\x1b[0m" if codes and text else safe(text)

    def line(self, text: str = "", *styles: str) -> None:
        self.write(self.paint(text, *styles) + "\n")

    def lines(self, lines: Iterable[str]) -> None:
        """Write lines that are already safe and painted."""
        self.write("".join(f"{line}\n" for line in lines))

    def write(self, text: str) -> None:
        """Write text that is already safe.

        An essential stream raises `ClosedPipe` if its reader has closed it, and `PnyxError` if it cannot be
        written, such as on a full disk. Other streams ignore both.
        """
        if self.broken:
            return
        try:
            self.file.write(text)
            self.file.flush()
        except OSError as exc:
            self.broken = True
            # Buffered text would raise again when the interpreter flushes it at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())
            if not self.essential:
                return
            if exc.errno in _NO_READER:
                raise ClosedPipe from None
            why = "it is closed" if exc.errno == errno.EBADF else exc.strerror or exc
            raise PnyxError(f"cannot write {self.name}: {why}{self.kept}") from exc


@dataclass(frozen=True)
class Output:
    """The output of a command. form: "text", "json" or "jsonl" on stdout; quiet: only errors on stderr."""

    out: Stream
    err: Stream
    form: str = "text"
    plain: bool = False
    quiet: bool = False
    verbose: bool = False
    no_input: bool = False

    @property
    def live(self) -> bool:
        """Whether stderr is a terminal on which the live view can be drawn."""
        mixed = self.form == "jsonl" and self.out.width is not None
        return self.err.width is not None and not (self.plain or self.quiet or mixed or _dumb())

    def note(self, text: str = "", *styles: str) -> None:
        """Print a line to stderr, wrapped to the width of a terminal, unless quiet."""
        if not self.quiet:
            lines = [text] if self.err.width is None else wrap(text, self.err.width)
            self.err.lines(self.err.paint(line, *styles) for line in lines)

    def error(self, text: str) -> None:
        line = safe(f"pnyx: {text}")
        self.err.lines([line] if self.err.width is None else wrap(line, self.err.width))

    def json(self, document: Any) -> None:
        """Print one JSON document, in ASCII, so that unpaired surrogates stay exact."""
        self.out.write(json.dumps(document, indent=2) + "\n")

    def json_line(self, document: Any) -> None:
        self.out.write(json.dumps(document) + "\n")


def streams(
    form: str = "text",
    plain: bool = False,
    quiet: bool = False,
    verbose: bool = False,
    no_input: bool = False,
) -> Output:
    """The current stdout and stderr with these output options."""
    return Output(
        _stream(sys.stdout, plain, essential=True),
        _stream(sys.stderr, plain, essential=False),
        form,
        plain,
        quiet,
        verbose,
        no_input,
    )


def _stream(file: TextIO | None, plain: bool, essential: bool) -> Stream:
    if file is None:  # closed by the parent process
        return Stream(open(os.devnull, "w"))
    terminal = file.isatty()
    painted = terminal and not plain and not _dumb() and not os.environ.get("NO_COLOR")
    width = min(_columns(file), MOST_COLUMNS) if terminal else None
    return Stream(file, painted, width, essential)


def _columns(file: TextIO) -> int:
    """The columns of a terminal: those of $COLUMNS, of stdout, or of this one if stdout is redirected."""
    try:
        size = os.get_terminal_size(file.fileno())
    except (OSError, ValueError):
        return shutil.get_terminal_size().columns
    return shutil.get_terminal_size((size.columns or 80, size.lines)).columns


def _dumb() -> bool:
    return os.environ.get("TERM", "dumb") in ("", "dumb", "unknown")
