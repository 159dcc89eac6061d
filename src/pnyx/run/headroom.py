"""What this process may still take: memory of the machine, of its container, by `ulimit -v`; open files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..isolation import lacks_files

__all__ = ["Headroom", "read_headroom"]

LEAST_BYTES, LEAST_FILES = 64_000_000, 64
"""Below it headroom is short, or below an eighth of the limit of memory, or half of that of files."""


class Headroom(NamedTuple):
    """left: until the limit. Both in bytes of memory, or in open files."""

    left: int
    limit: int
    of_memory: bool = True

    @property
    def is_short(self) -> bool:
        """Whether nothing more should start here."""
        return self.left < self._least

    @property
    def is_used_up(self) -> bool:
        """Whether what is under way here may fail."""
        return self.left < self._least // 2

    @property
    def _least(self) -> int:
        return min(LEAST_BYTES, self.limit // 8) if self.of_memory else min(LEAST_FILES, self.limit // 2)

    def __str__(self) -> str:
        if self.of_memory:
            return f"{self.left / 1e6:.0f} MB of memory left of {self.limit / 1e6:.0f}"
        return f"{self.left} open files left of {self.limit} (ulimit -n)"


def read_headroom(root: Path = Path("/")) -> list[Headroom]:
    """Return the tightest limit of memory, and that of open files, as far as the system says them.

    root: of the file system.
    """
    memory = min((*_of_machine(root), *_of_groups(root), *_of_process(root)), default=None)
    return [*([] if memory is None else [memory]), *_of_files(root)]


def _of_files(root: Path) -> Iterator[Headroom]:
    with suppress(ImportError):
        # Windows has no such module.
        import resource

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if limit == resource.RLIM_INFINITY:
            return
        try:
            left = limit - len(os.listdir(root / "proc/self/fd"))
        except OSError as exc:
            if not lacks_files(exc):
                return  # no /proc on this system
            left = 0  # not one is left to count them
        yield Headroom(left, limit, of_memory=False)


def _of_machine(root: Path) -> Iterator[Headroom]:
    found = dict(re.findall(r"(?m)^(\w+): +(\d+) kB", _read(root / "proc/meminfo")))
    if {"MemAvailable", "MemTotal"} <= found.keys():
        yield Headroom(int(found["MemAvailable"]) << 10, int(found["MemTotal"]) << 10)


def _of_process(root: Path) -> Iterator[Headroom]:
    with suppress(ImportError):
        # Windows has no such module.
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY and (pages := _read(root / "proc/self/statm").split()):
            yield Headroom(limit - int(pages[0]) * os.sysconf("SC_PAGE_SIZE"), limit)


def _of_groups(root: Path) -> Iterator[Headroom]:
    """The limits of the process's control groups, of version 2 or 1, and of those around them."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            names, base = ("memory.max", "memory.current", "inactive_file"), root / "sys/fs/cgroup"
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            base = root / "sys/fs/cgroup/memory"
        else:
            continue
        inner = base / path.lstrip("/")
        # Within a container, the path may be one of the host.
        for folder in (inner, *inner.parents):
            yield from _of_group(folder, *names)
            if folder == base:
                break


def _of_group(folder: Path, most: str, used: str, cached: str) -> Iterator[Headroom]:
    limit, usage = _read(folder / most).strip(), _read(folder / used).strip()
    if limit.isdecimal() and usage.isdecimal():
        # Files that were read once are given up before the limit is.
        reclaimable = re.search(rf"(?m)^{cached} (\d+)$", _read(folder / "memory.stat"))
        left = int(limit) - int(usage) + (int(reclaimable[1]) if reclaimable else 0)
        yield Headroom(left, int(limit))


def _read(file: Path) -> str:
    """Return the text of a file, "" where the system has none."""
    try:
        return file.read_text()
    except OSError:
        return ""
