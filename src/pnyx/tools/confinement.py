"""Runs untrusted work in a child process with limits of time and output.

Used for code that a model wrote and for parsing hostile pages. Further limits are set by the command
and by `child.py`, which runs in the process.
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

__all__ = ["NOBODY", "Finished", "child_command", "run_confined", "without_root"]

DRAIN_S = 2.0
NOBODY = 65534
_SOURCE = resources.files(__package__).joinpath("child.py").read_text(encoding="utf-8")


def child_command(do: str, limits: Mapping[str, int], *, python: str = "", **more: Any) -> tuple[str, ...]:
    """Return the command that runs the job `do` of `child.py`. limits: name of an RLIMIT -> its value.

    python: path of another interpreter; by default this one, with its installed packages.
    """
    path = [] if python else [os.path.abspath(entry) for entry in sys.path if entry]
    job = {"do": do, "limits": limits, "path": path, **more}
    return (python or sys.executable, "-I", "-u", "-c", _SOURCE, json.dumps(job))


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a process. output: stdout and stderr together, at most `limit` bytes.

    status: its exit status, or None if it was stopped. cut: it was stopped because of too much output;
    otherwise a None status means that its time was up.
    """

    output: str
    status: int | None
    cut: bool = False


def without_root() -> dict[str, Any]:
    """Return the arguments that start a subprocess as `nobody` if this process is root."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


async def run_confined(
    command: Sequence[str], data: bytes, *, seconds: float, limit: int, as_nobody: bool = False
) -> Finished:
    """Run `command` with `data` on its standard input, an empty environment and its own session.

    as_nobody: drop root. Its whole process group is killed in every case. Raises `OSError` if the
    command cannot be started.
    """
    # A file, not a pipe: a process that does not read its input cannot block this one.
    with tempfile.TemporaryFile() as stdin:
        stdin.write(data)
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
    output = bytearray()
    status: int | None = None
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                status = await _collect(process, output, limit)
    finally:
        if status is None:
            await _stop(process)
    return Finished(output[:limit].decode("utf-8", "replace"), status, len(output) > limit)


async def _collect(process: asyncio.subprocess.Process, output: bytearray, limit: int) -> int | None:
    """Add to `output` until the process ends. Return its exit status, or None after `limit` bytes."""
    assert process.stdout is not None
    while chunk := await process.stdout.read(1 << 16):
        output += chunk
        if len(output) > limit:
            return None
    return await process.wait()


async def _stop(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    # The rest of the output is drained: the pipe closes only at its end.
    with suppress(TimeoutError):
        await asyncio.wait_for(process.communicate(), DRAIN_S)
