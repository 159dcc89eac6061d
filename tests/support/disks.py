"""Disks that fail for real: one with little room, one that cannot be written, one whose commits fail.

A small disk is a tmpfs of its own, which takes the right to mount; where that is refused, a limit on the
size of files stands for it, which the system answers with an error in the same calls.

`python -m tests.support.disks N ARGUMENTS …` is the pnyx command whose disk fails at its Nth commit. No
user may make a real disk fail at a given fsync, so here the driver's `commit` raises what SQLite then says.
"""

from __future__ import annotations

import resource
import signal
import sqlite3.dbapi2
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Disk", "small_disk"]


class Disk:
    """A folder with little room. kind: how it is kept small. options: for the processes that use it."""

    def __init__(self, folder: Path, room: int, mounted: bool) -> None:
        self.folder, self.room, self.mounted = folder, room, mounted
        self.kind = "a tmpfs" if mounted else "a limit on the size of files"

    @property
    def options(self) -> dict[str, Any]:
        return {} if self.mounted else {"preexec_fn": self._limit}

    def grow(self) -> dict[str, Any]:
        """Make room; the options of processes that have it."""
        if self.mounted:
            _mount("remount,size=64m", self.folder)
        return {}

    def _limit(self) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.room, self.room))


@contextmanager
def small_disk(folder: Path, room: int, mount: bool = True) -> Iterator[Disk]:
    """A new folder with `room` bytes; by a limit if `mount` is False, or where mounting is refused."""
    folder.mkdir()
    mounted = mount and _mount(f"size={room},mode=700", folder)
    try:
        yield Disk(folder, room, mounted)
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", folder], check=True)


def _mount(options: str, folder: Path) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", options, "pnyx-test", str(folder)]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _failing(fail_at: int) -> Callable[..., sqlite3.Connection]:
    count = 0

    class Failing(sqlite3.Connection):
        def commit(self) -> None:
            nonlocal count
            count += self.in_transaction
            if self.in_transaction and count >= fail_at:
                raise sqlite3.OperationalError("disk I/O error")
            super().commit()

    connect = sqlite3.dbapi2.connect
    return lambda *args, **named: connect(*args, **(named | {"factory": Failing}))


if __name__ == "__main__":
    from pnyx.interfaces.cli import main

    sqlite3.dbapi2.connect = _failing(int(sys.argv[1]))  # type: ignore[assignment]
    main(sys.argv[2:])
