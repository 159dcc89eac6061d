"""The limit of open files and connections of this process (`ulimit -n`)."""

from __future__ import annotations

import contextlib
import sys

if sys.platform != "win32":
    import resource

__all__ = ["raise_open_files"]


def raise_open_files(wanted: int) -> int | None:
    """Raise the soft limit to `wanted`, as far as the hard one allows. Return it; None: there is none."""
    if sys.platform == "win32":
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return None
    if soft < wanted:
        raised = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):  # a system may allow less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, raised), hard))
            soft = max(soft, raised)
    return soft
