"""The log record of an exception that nobody expected."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable

__all__ = ["log_bug"]


def log_bug(log: logging.Logger, where: str, exc: BaseException, redact: Callable[[str], str]) -> None:
    """Log an exception with its traceback, without secrets. where: what failed."""
    trace = redact("".join(traceback.format_exception(exc)))
    # JSON logs have the exception without its message, which may quote a prompt.
    log.error("%s\n%s", where, trace, extra={"exception": exc})
