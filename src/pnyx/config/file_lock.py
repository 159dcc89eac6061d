"""A lock between processes: a file that one of them holds."""

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

__all__ = ["held"]


@contextmanager
def held(path: Path, wait: Callable[[], object]) -> Iterator[None]:
    """Hold the file at `path`; the system lets go of it when the process ends, however it ends.

    wait: called again and again while another process holds it; what it raises ends the waiting.
    """
    with path.open("ab") as file:
        while not _locked(file):
            wait()
        yield


def _locked(file: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True
