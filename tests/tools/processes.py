"""Checks that processes are gone. A killed process may need a moment to disappear."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import suppress

__all__ = ["command_running", "ends", "group_alive"]


async def ends(running: Callable[[], bool]) -> bool:
    """Return whether `running` becomes false within a minute."""
    for _ in range(6000):
        if not running():
            return True
        await asyncio.sleep(0.01)
    return False


def command_running(marker: str) -> bool:
    """Return whether a process has `marker` in its command line."""
    return any(marker in line for line in _read("cmdline"))


def group_alive(group: int) -> bool:
    """Return whether a process of the group is alive; a zombie is not."""
    for line in _read("stat"):
        state, _, of = line.rpartition(")")[2].split()[:3]
        if int(of) == group and state != "Z":
            return True
    return False


def _read(name: str) -> Iterator[str]:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{pid}/{name}", errors="replace") as file:
            yield file.read()
