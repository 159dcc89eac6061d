"""A process of its own for what may not be trusted to end: bounded in time and in what it says.

Used for code that a model wrote and for reading hostile pages. What the process may do besides is
decided by its command and by `inside.py`, which runs in it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from typing import Any

__all__ = ["NOBODY", "Finished", "confined", "inside", "without_root"]

DRAIN_S = 2.0
NOBODY = 65534
_SOURCE = resources.files(__package__).joinpath("inside.py").read_text(encoding="utf-8")


def inside(do: str, limits: Mapping[str, int], *, python: str = "", **more: Any) -> tuple[str, ...]:
    """The command that does a job of `inside.py`. limits: name of an RLIMIT -> its value.

    python: an interpreter of its own; by default this one, with the packages that are installed here.
    """
    path = [] if python else [os.path.abspath(entry) for entry in sys.path if entry]
    job = {"do": do, "limits": limits, "path": path, **more}
    return (python or sys.executable, "-I", "-u", "-c", _SOURCE, json.dumps(job))


@dataclass(frozen=True, slots=True)
class Finished:
    """What a process said, both streams together, at most `limit` bytes of it.

    status: its exit status, or None when it was stopped. cut: stopped because it said too much; else
    a None status means its time was up.
    """

    output: str
    status: int | None
    cut: bool = False


def without_root() -> dict[str, Any]:
    """The arguments that start a subprocess as nobody where this process is root."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


async def confined(
    command: Sequence[str], given: bytes, *, seconds: float, limit: int, as_nobody: bool = False
) -> Finished:
    """Run `command` with `given` on its standard input, with no environment, in a session of its own.

    as_nobody: not as root, where this process is. Whatever happens, nothing of its process group
    lives on. Raises `OSError` when the command cannot be started.
    """
    # In a file, not a pipe: nobody has to feed a process that does not read.
    with tempfile.TemporaryFile() as stdin:
        stdin.write(given)
        stdin.seek(0)
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={},
            cwd="/",
            start_new_session=True,
            **(without_root() if as_nobody else {}),
        )
    said = bytearray()
    status: int | None = None
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                status = await _listen(process, said, limit)
    finally:
        if status is None:
            await _stop(process)
    return Finished(said[:limit].decode("utf-8", "replace"), status, len(said) > limit)


async def _listen(process: asyncio.subprocess.Process, said: bytearray, limit: int) -> int | None:
    """Gather what the process says; its exit status, or None once it has said more than `limit` bytes."""
    assert process.stdout is not None
    while chunk := await process.stdout.read(1 << 16):
        said += chunk
        if len(said) > limit:
            return None
    return await process.wait()


async def _stop(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    # What it had already said is read away, since the pipe is closed only at its end.
    with suppress(TimeoutError):
        await asyncio.wait_for(process.communicate(), DRAIN_S)
