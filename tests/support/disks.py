"""Real disks with little space.

A small disk is a tmpfs, which needs the right to mount. Without it, a limit on file sizes is used, which
makes the same system calls fail.
"""

from __future__ import annotations

import resource
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Disk", "small_disk"]


class Disk:
    """A folder with little space. kind: how its size is limited. options: for the processes that use it."""

    def __init__(self, folder: Path, room: int, mounted: bool) -> None:
        self.folder, self.room, self.mounted = folder, room, mounted
        self.kind = "a tmpfs" if mounted else "a limit on the size of files"

    @property
    def options(self) -> dict[str, Any]:
        return {} if self.mounted else {"preexec_fn": self._limit}

    def grow(self) -> dict[str, Any]:
        """Add space, and return the options for processes that use it."""
        if self.mounted:
            _mount("remount,size=64m", self.folder)
        return {}

    def _limit(self) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.room, self.room))


@contextmanager
def small_disk(folder: Path, room: int, mount: bool = True) -> Iterator[Disk]:
    """Create a folder with `room` bytes; by a file size limit if `mount` is False or mounting fails."""
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
