"""`run_python`: runs code that a model wrote, confined, or is off with the reason.

Two sandboxes: monty, an interpreter that knows no files, network or processes; and CPython inside
bubblewrap, which sees a read-only system and an empty folder, and no network.
"""

from __future__ import annotations

import importlib.util
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
from . import ToolError
from .arguments import text
from .confined import NOBODY, confined, inside, without_root

__all__ = ["RunPython", "Sandbox", "open_sandbox"]

OUTPUT_BYTES = 16_000
PROCESSES = 8
FOLDER_BYTES = 32 << 20
HOST_BYTES = 1 << 30
"""Address space of monty beyond what its programs may use."""
PROBE_S = 10.0


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Where code runs: what the model is told of it, and the command that reads code on standard input.

    as_nobody: root's processes are not counted against a limit of processes, so root is given up.
    """

    about: str
    command: tuple[str, ...]
    as_nobody: bool = False


class RunPython:
    """The tool. seconds: how long a program may run."""

    def __init__(self, sandbox: Sandbox, seconds: float) -> None:
        self._sandbox = sandbox
        self._seconds = seconds
        self.spec = ToolSpec(
            "run_python",
            "Run a Python program and give what it prints, and the value of its last expression. "
            f"{sandbox.about} Nothing is kept between runs; at most {seconds:g} s.",
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
            finished = await confined(
                sandbox.command,
                code,
                seconds=self._seconds,
                limit=OUTPUT_BYTES,
                as_nobody=sandbox.as_nobody,
            )
        except OSError as exc:
            raise ToolError(f"the sandbox cannot be started: {exc.strerror or exc}") from exc
        if finished.cut:
            return f"{finished.output}\n[stopped here: it printed more than {OUTPUT_BYTES} bytes]"
        if finished.status is None:
            so_far = f"; until then it printed:\n{finished.output}" if finished.output else ""
            raise ToolError(f"the program was stopped after {self._seconds:g} s{so_far}")
        if finished.status:
            return f"{finished.output.rstrip()}\n[it ended with status {finished.status}]"
        return finished.output or "[it printed nothing; print what you want to see]"


def open_sandbox(settings: CodeSettings) -> Sandbox:
    """The sandbox that is asked for, tried once. Raises `ToolError` saying what is missing."""
    sandbox = _bubblewrap(settings) if settings.backend == "bubblewrap" else _monty(settings)
    _probe(sandbox, settings.backend)
    return sandbox


def _monty(settings: CodeSettings) -> Sandbox:
    if importlib.util.find_spec("pydantic_monty") is None:
        raise ToolError("pydantic-monty is not installed (pip install pydantic-monty)")
    memory = settings.memory_mb << 20
    limits = {"AS": memory + HOST_BYTES, "CPU": _cpu(settings), "FSIZE": 0, "CORE": 0}
    command = inside("monty", limits, memory=memory, seconds=settings.timeout_s)
    about = (
        "A subset of Python with math, json, re, datetime and a little more of the standard library; "
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
    command = (bwrap, *_walls(folders), "--", *inside("cpython", limits, python=python))
    return Sandbox("CPython with its standard library and an empty folder; no network.", command, True)


def _cpu(settings: CodeSettings) -> int:
    """Seconds of processor time, in case nobody is left to stop it by the clock."""
    return int(settings.timeout_s) + 2


def _interpreter() -> tuple[str, tuple[str, ...]]:
    """A Python, and the folders it needs: the system's own where there is one, since anybody may read it."""
    system = "/usr/bin/python3"
    if os.path.exists(system):
        return system, ("/usr",)
    base = Path(sys.base_prefix).resolve()
    return str(base / "bin" / f"python3.{sys.version_info.minor}"), ("/usr", str(base))


def _walls(folders: tuple[str, ...]) -> tuple[str, ...]:
    """bubblewrap's arguments: new namespaces of every kind, and a file system of little but `folders`."""
    seen = [part for folder in folders for part in ("--ro-bind", folder, folder)]
    for name in ("/lib", "/lib64"):
        seen += ["--ro-bind-try", name, name]
    for device in ("/dev/null", "/dev/zero", "/dev/urandom"):
        seen += ["--dev-bind", device, device]
    return (
        *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--clearenv"),
        *("--uid", str(NOBODY), "--gid", str(NOBODY), "--hostname", "sandbox"),
        *seen,
        # No /proc and no /dev as bubblewrap makes it: its /dev/shm would be memory without a limit.
        *("--size", str(FOLDER_BYTES), "--tmpfs", "/tmp", "--remount-ro", "/", "--chdir", "/tmp"),
    )


def _probe(sandbox: Sandbox, name: str) -> None:
    """Run it once: namespaces may be forbidden, a binary missing. Raises `ToolError` with what it says."""
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
        said = done.stdout.decode("utf-8", "replace").strip().splitlines() or [f"status {done.returncode}"]
        raise ToolError(f"{name} does not work here: {said[-1][:200]}")
