"""What clients and the log see of an exception."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable

from ...errors import PnyxError, StoreError

__all__ = ["log_bug", "public_message"]


def log_bug(log: logging.Logger, where: str, exc: BaseException, redact: Callable[[str], str]) -> None:
    """Log an exception with its traceback, without secrets. where: what failed."""
    trace = redact("".join(traceback.format_exception(exc)))
    # JSON logs have the exception without its message, which may quote a prompt.
    log.error("%s\n%s", where, trace, extra={"exception": exc})


def public_message(log: logging.Logger, where: str, exc: PnyxError, redact: Callable[[str], str]) -> str:
    """Return the message of an error for the clients of a server, without secrets. where: what failed.

    Where the database is stays in the log.
    """
    message = redact(str(exc))
    if not isinstance(exc, StoreError) or not exc.public:
        return message
    log.error("%s: %s", where, message)
    return exc.public
