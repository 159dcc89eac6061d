"""`python -m tests.support.fsyncs N ARGUMENTS …`: run pnyx on a disk that stops syncing.

From the Nth commit on, or from the start if N is 0, every fsync and fdatasync of the process fails with EIO.
The kernel returns the error, below Python and SQLite: a seccomp filter, which needs no privileges and no
compiler. The number of requests with a committed intent at that point, which may be sent, is printed on
stderr.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import sqlite3
import struct
import sys
from contextlib import closing
from typing import Any

from pnyx.interfaces.cli import main
from pnyx.store.engine import Database

__all__ = ["NOTICE", "refuse"]

NOTICE = "fsync fails from here on; requests with a committed intent: "

NO_NEW_PRIVS, SET_MODE_FILTER, ALL_THREADS = 38, 1, 1
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOWED, FAILED = 0x7FFF0000, 0x00050000
MACHINES = {"x86_64": (0xC000003E, 317, 74, 75), "aarch64": (0xC00000B7, 277, 82, 83)}
"""Machine -> its Linux audit number, and the numbers of seccomp, fsync and fdatasync."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def refuse() -> None:
    """Make every later fsync and fdatasync of this process fail. Raises `OSError` if that is impossible."""
    machine, seccomp, fsync, fdatasync = MACHINES[platform.machine()]
    steps = (  # operation, jump if equal, jump if not, operand
        (LOAD, 0, 0, 4),
        (EQUAL, 0, 3, machine),
        (LOAD, 0, 0, 0),
        (EQUAL, 2, 0, fsync),
        (EQUAL, 1, 0, fdatasync),
        (RETURN, 0, 0, ALLOWED),
        (RETURN, 0, 0, FAILED | errno.EIO),
    )
    program = _Program(len(steps), b"".join(struct.pack("HBBI", *step) for step in steps))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0))) or libc.syscall(
        seccomp, *map(ctypes.c_ulong, (SET_MODE_FILTER, ALL_THREADS)), ctypes.byref(program)
    ):
        raise OSError(ctypes.get_errno(), "the kernel refuses the seccomp filter")


commit = Database._commit
count = 0


async def _counting(self: Database, group: Any) -> None:
    global count
    count += 1
    if count == int(sys.argv[1]):
        with closing(sqlite3.connect(self.name)) as connection:
            query = "SELECT count(*) FROM events WHERE type = 'call_started'"
            print(f"{NOTICE}{connection.execute(query).fetchone()[0]}", file=sys.stderr, flush=True)
        refuse()
    await commit(self, group)


if __name__ == "__main__":
    if sys.argv[1] == "0":
        refuse()
    Database._commit = _counting  # type: ignore[method-assign]
    main(sys.argv[2:])
