"""Standard streams that the parent process has closed."""

from __future__ import annotations

import os
import sys

__all__ = ["fill_closed_streams"]


def fill_closed_streams() -> None:
    """Open /dev/null in place of closed standard streams.

    Otherwise the next file that is opened, such as a socket, would get the number of one, and what libraries
    write to it. Writing to a closed stdout remains an error, so that no answer is lost without a message.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is not None:
            continue
        descriptor = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
        if name == "stdout":
            sys.stdout = os.fdopen(descriptor, "w", encoding="utf-8")
