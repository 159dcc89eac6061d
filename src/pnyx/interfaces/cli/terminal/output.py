"""Where words go: the answer to stdout, everything else to stderr; colour only where somebody looks."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TextIO

from ....errors import PnyxError
from ...render.terminal import ClosedPipe, safe, wrapped

__all__ = ["Output", "Stream", "streams"]

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
MOST_COLUMNS = 100
"""Lines longer than this are hard to read, however wide the screen."""


@dataclass
class Stream:
    """Where something is written. width: columns, None where no person looks. painted: whether styles show.
    name: as errors call it.
    """

    file: TextIO
    painted: bool = False
    width: int | None = None
    essential: bool = True
    broken: bool = False
    name: str = "the output"

    def paint(self, text: str, *styles: str) -> str:
        """`text` made safe, in colour where this stream has any."""
        codes = ";".join(STYLES[style] for style in styles) if self.painted else ""
        return f"\x1b[{codes}m{safe(text)}\x1b[0m" if codes and text else safe(text)

    def line(self, text: str = "", *styles: str) -> None:
        self.write(self.paint(text, *styles) + "\n")

    def lines(self, lines: Iterable[str]) -> None:
        """Write lines that are already safe and painted."""
        self.write("".join(f"{line}\n" for line in lines))

    def write(self, text: str) -> None:
        """Write what is already safe. Raises `ClosedPipe` where the reader's leaving matters."""
        if self.broken:
            return
        try:
            self.file.write(text)
            self.file.flush()
        except OSError as exc:
            self.broken = True
            # What is still buffered would raise again when the interpreter ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())
            if not self.essential:
                return
            if isinstance(exc, BrokenPipeError):
                raise ClosedPipe from None
            raise PnyxError(f"{self.name} cannot be written: {exc.strerror or exc}") from exc


@dataclass(frozen=True)
class Output:
    """How a command speaks. form: "text", "json" or "jsonl" on stdout; quiet: only errors on stderr."""

    out: Stream
    err: Stream
    form: str = "text"
    plain: bool = False
    quiet: bool = False
    verbose: bool = False
    no_input: bool = False

    @property
    def live(self) -> bool:
        """Whether stderr is a screen that a view may redraw."""
        mixed = self.form == "jsonl" and self.out.width is not None
        return self.err.width is not None and not (self.plain or self.quiet or mixed or _dumb())

    def note(self, text: str = "", *styles: str) -> None:
        """Say something beside the answer."""
        if not self.quiet:
            self.err.line(text, *styles)

    def error(self, text: str) -> None:
        line = safe(f"pnyx: {text}")
        self.err.lines([line] if self.err.width is None else wrapped(line, self.err.width))

    def json(self, document: Any) -> None:
        """One JSON document: exact, in ASCII, so that even half characters arrive as they were."""
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
    """stdout and stderr as they are now, and how to use them."""
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
    if file is None:  # closed by whoever started us
        return Stream(open(os.devnull, "w"))
    screen = file.isatty()
    painted = screen and not plain and not _dumb() and not os.environ.get("NO_COLOR")
    width = min(shutil.get_terminal_size().columns, MOST_COLUMNS) if screen else None
    return Stream(file, painted, width, essential)


def _dumb() -> bool:
    return os.environ.get("TERM", "dumb") in ("", "dumb", "unknown")
