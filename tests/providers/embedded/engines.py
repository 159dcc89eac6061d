"""The processes of embedded models, as the tests see them."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["computed", "engines", "have_ended", "is_engine", "ports"]


def engines() -> set[int]:
    """Process ids of the engines that this process has started and that still run."""
    return {pid for pid in descendants(os.getpid()) if is_engine(pid)}


def descendants(pid: int) -> set[int]:
    with suppress(OSError):
        children = " ".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children"))
        return {one for child in map(int, children.split()) for one in (child, *descendants(child))}
    return set()


def is_engine(pid: int) -> bool:
    """Whether it is the engine itself, and not the bubblewrap around it."""
    with suppress(OSError):
        program, *arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return b"python" in program and any(b"embedded/worker" in argument for argument in arguments)
    return False


def have_ended(pids: set[int], within_s: float = 60) -> bool:
    end = time.monotonic() + within_s
    while any(map(is_engine, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(is_engine, pids))


def computed(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ports(pid: int) -> set[str]:
    """The sockets of a process that can be reached through a network address."""
    own = {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()}
    tables = [Path(f"/proc/{pid}/net/{name}").read_text() for name in ("tcp", "tcp6", "udp", "udp6")]
    return own & {f"socket:[{row.split()[9]}]" for table in tables for row in table.splitlines()[1:]}
