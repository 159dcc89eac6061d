"""Where a server or a worker writes its messages: text for people, or lines of its JSON log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from ....config.schema import Settings
from ....errors import PnyxError
from ....telemetry.log import JsonLog
from ....telemetry.open import open_log
from .output import Output

__all__ = ["Messages", "run_logged"]


class Messages:
    """The messages of one process. log: its JSON log; None: text on stderr."""

    def __init__(self, output: Output, log: JsonLog | None = None) -> None:
        self._output, self.log = output, log

    def note(self, text: str) -> None:
        """Report progress."""
        if self.log is None:
            self._output.note(text)
        else:
            self.log.line("info", "message", message=text)

    def problem(self, text: str) -> None:
        """Report what the operator should know, also with --quiet."""
        if self.log is None:
            self._output.err.line(text)
        else:
            self.log.line("warning", "message", message=text)

    def error(self, text: str) -> None:
        """Report a mistake in the settings."""
        if self.log is None:
            self._output.error(text)
        else:
            self.log.line("error", "message", message=text)


def run_logged(
    output: Output, settings: Settings, work: Callable[[Messages], Coroutine[Any, Any, int]]
) -> int:
    """Run `work` to its exit code, with the log that the settings ask for."""
    log = open_log(settings, output.quiet)
    if log is None:
        return asyncio.run(work(Messages(output)))
    # All loggers: also those of libraries, whose text would stand between the lines.
    root, handler = logging.getLogger(), log.handler()
    root.addHandler(handler)
    try:
        return asyncio.run(work(Messages(output, log)))
    except PnyxError as exc:
        log.line("error", "stopped", message=str(exc), error_type=type(exc).__name__)
        return exc.exit_code
    finally:
        root.removeHandler(handler)
        log.close()
