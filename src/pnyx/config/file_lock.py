"""A lock between processes, on a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["lock_file"]


@contextmanager
def lock_file(path: Path, wait: Callable[[], object]) -> Iterator[None]:
    """Lock the file at `path`. The system releases the lock when the process ends, even if it is killed.

    wait: called repeatedly while another process has the lock; an exception that it raises ends the wait.
    """
    with path.open("ab") as file:
        while not _try_lock(file):
            wait()
        yield


def _try_lock(file: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
