"""How much memory this process may still take: of the machine, of its container, and by `ulimit -v`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

__all__ = ["Memory", "read_memory"]

LEAST = 64_000_000
"""Bytes below which memory is short, or an eighth of the limit if that is less."""


class Memory(NamedTuple):
    """left: bytes until the limit. limit: bytes."""

    left: int
    limit: int

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
        return min(LEAST, self.limit // 8)

    def __str__(self) -> str:
        return f"{self.left / 1e6:.0f} MB left of {self.limit / 1e6:.0f}"


def read_memory(root: Path = Path("/")) -> Memory | None:
    """Return the tightest limit; None if the system does not say. root: of the file system."""
    return min((*_of_machine(root), *_of_groups(root), *_of_process(root)), default=None)


def _of_machine(root: Path) -> Iterator[Memory]:
    found = dict(re.findall(r"(?m)^(\w+): +(\d+) kB", _read(root / "proc/meminfo")))
    if {"MemAvailable", "MemTotal"} <= found.keys():
        yield Memory(int(found["MemAvailable"]) << 10, int(found["MemTotal"]) << 10)


def _of_process(root: Path) -> Iterator[Memory]:
    with suppress(ImportError):
        # Windows has no such module.
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY and (pages := _read(root / "proc/self/statm").split()):
            yield Memory(limit - int(pages[0]) * os.sysconf("SC_PAGE_SIZE"), limit)


def _of_groups(root: Path) -> Iterator[Memory]:
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


def _of_group(folder: Path, most: str, used: str, cached: str) -> Iterator[Memory]:
    limit, usage = _read(folder / most).strip(), _read(folder / used).strip()
    if limit.isdecimal() and usage.isdecimal():
        # Files that were read once are given up before the limit is.
        reclaimable = re.search(rf"(?m)^{cached} (\d+)$", _read(folder / "memory.stat"))
        left = int(limit) - int(usage) + (int(reclaimable[1]) if reclaimable else 0)
        yield Memory(left, int(limit))


def _read(file: Path) -> str:
    """Return the text of a file, "" where the system has none."""
    try:
        return file.read_text()
    except OSError:
        return ""
