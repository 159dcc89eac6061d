"""`run_python`: runs code that a model wrote, in a sandbox.

Two sandboxes: monty, an interpreter without files, network or processes; and CPython inside bubblewrap,
with a read-only system, an empty folder and no network. Without a sandbox the tool is off.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..config.schema import CodeSettings
from ..core.tool_calls import ToolSpec
from ..extras import need
from . import ToolError
from .arguments import text
from .confinement import NOBODY, child_command, run_confined, without_root

__all__ = ["RunPython", "Sandbox", "open_sandbox"]

OUTPUT_BYTES = 16_000
PROCESSES = 8
FOLDER_BYTES = 32 << 20
HOST_BYTES = 1 << 30
"""Address space of monty itself, besides the memory that its programs may use."""
SPARE_S = 5.0
PROBE_S = 30.0


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Where code runs. about: its description for the model. command: reads code from standard input.

    as_nobody: drop root, since root is exempt from the limit of processes.
    """

    about: str
    command: tuple[str, ...]
    as_nobody: bool = False


class RunPython:
    """The tool. seconds: time limit of a program."""

    def __init__(self, sandbox: Sandbox, seconds: float) -> None:
        self._sandbox = sandbox
        self._seconds = seconds
        self.spec = ToolSpec(
            "run_python",
            "Run a Python program and return what it prints and the value of its last expression. "
            f"{sandbox.about} No state is kept between runs. Time limit: {seconds:g} s.",
            {
                "type": "object",
                "properties": {"code": {"type": "string", "description": "the whole program"}},
                "required": ["code"],
            },
        )

    async def run(self, arguments: Mapping[str, Any]) -> str:
        code = text(arguments, "code").encode("utf-8", "replace")
        sandbox = self._sandbox
        try:
            finished = await run_confined(
                sandbox.command,
                code,
                seconds=self._seconds,
                limit=OUTPUT_BYTES,
                as_nobody=sandbox.as_nobody,
            )
        except OSError as exc:
            raise ToolError(f"the sandbox cannot be started: {exc.strerror or exc}") from exc
        if finished.cut:
            return f"{finished.output}\n[stopped here: more than {OUTPUT_BYTES} bytes of output]"
        if finished.status is None:
            output = f"; output until then:\n{finished.output}" if finished.output else ""
            raise ToolError(f"the program was stopped after {self._seconds:g} s{output}")
        if finished.status:
            return f"{finished.output.rstrip()}\n[exit status {finished.status}]"
        return finished.output or "[no output; print what you want to see]"


def open_sandbox(settings: CodeSettings) -> Sandbox:
    """Return the configured sandbox after one trial run. Raises `ToolError` with what is missing."""
    sandbox = _bubblewrap(settings) if settings.backend == "bubblewrap" else _monty(settings)
    _probe(sandbox, settings.backend)
    return sandbox


def _monty(settings: CodeSettings) -> Sandbox:
    need("tools", "the interpreter monty", "pydantic_monty")
    memory = settings.memory_mb << 20
    limits = {"AS": memory + HOST_BYTES, "CPU": _cpu(settings), "FSIZE": 0, "CORE": 0}
    # Later than the limit of this process, which keeps the output: monty's is for when it is gone.
    command = child_command("monty", limits, memory=memory, seconds=settings.timeout_s + SPARE_S)
    about = (
        "A subset of Python with math, json, re, datetime and a few more modules of the standard library; "
        "no files, no network, no third-party packages."
    )
    return Sandbox(about, command)


def _bubblewrap(settings: CodeSettings) -> Sandbox:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise ToolError("bubblewrap is not installed (bwrap is not on the PATH)")
    limits = {
        "AS": settings.memory_mb << 20,
        "CPU": _cpu(settings),
        "FSIZE": FOLDER_BYTES,
        "NPROC": PROCESSES,
        "NOFILE": 64,
        "CORE": 0,
    }
    python, folders = _interpreter()
    command = (bwrap, *_isolation(folders), "--", *child_command("cpython", limits, python=python))
    return Sandbox("CPython with its standard library and an empty folder; no network.", command, True)


def _cpu(settings: CodeSettings) -> int:
    """Return the limit of processor time in seconds, which holds even if this process is gone."""
    return int(settings.timeout_s) + 2


def _interpreter() -> tuple[str, tuple[str, ...]]:
    """Return a Python and the folders it needs. The system's Python comes first: every user can read it."""
    system = "/usr/bin/python3"
    if os.path.exists(system):
        return system, ("/usr",)
    base = Path(sys.base_prefix).resolve()
    return str(base / "bin" / f"python3.{sys.version_info.minor}"), ("/usr", str(base))


def _isolation(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return bubblewrap's arguments: new namespaces of every kind, and a file system with `folders` only."""
    mounts = [part for folder in folders for part in ("--ro-bind", folder, folder)]
    for name in ("/lib", "/lib64"):
        mounts += ["--ro-bind-try", name, name]
    for device in ("/dev/null", "/dev/zero", "/dev/urandom"):
        mounts += ["--dev-bind", device, device]
    return (
        *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--clearenv"),
        *("--uid", str(NOBODY), "--gid", str(NOBODY), "--hostname", "sandbox"),
        *mounts,
        # No /proc, and not bubblewrap's /dev: its /dev/shm would be memory without a limit.
        *("--size", str(FOLDER_BYTES), "--tmpfs", "/tmp", "--remount-ro", "/", "--chdir", "/tmp"),
    )


def _probe(sandbox: Sandbox, name: str) -> None:
    """Run it once: namespaces may be forbidden, a binary missing. Raises `ToolError` with its last line."""
    try:
        done = subprocess.run(
            sandbox.command,
            input=b"6 * 7",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={},
            cwd="/",
            timeout=PROBE_S,
            check=False,
            **(without_root() if sandbox.as_nobody else {}),
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise ToolError(f"{name} does not work here: {exc}") from exc
    if done.stdout.strip() != b"42":
        lines = done.stdout.decode("utf-8", "replace").strip().splitlines() or [f"status {done.returncode}"]
        raise ToolError(f"{name} does not work here: {lines[-1][:200]}")
