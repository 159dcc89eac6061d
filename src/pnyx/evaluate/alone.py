"""One process at a time for an evaluation: two would ask the same, and stumble over each other's runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..errors import UsageError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["alone"]


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold `folder`, which is made; the system lets go of it when the process ends, however it ends.

    Raises `UsageError` while another process holds it, and where it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise UsageError(f"{folder} cannot be made: {exc.strerror}") from exc
    with (folder / "lock").open("ab") as file:
        if not _locked(file):
            raise UsageError("this evaluation is running already; the same command goes on once it has ended")
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
