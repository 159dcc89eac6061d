"""Confines the process of a model with bubblewrap, where it works: llama.cpp parses files of strangers.

The process gets a file system of its own with what Python and the engine need and the model's file, all read
only; an empty /tmp; no network and no view of other processes.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

__all__ = ["confined", "model_files"]

SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives", "/sys")
DEVICES = ("/dev/dri", "/dev/kfd", "/dev/dxg", "/dev/nvidia*")
"""Of graphics processors, for builds of the engine that use them."""
PROBE_S = 10.0


def confined(command: Sequence[str], readable: Iterable[Path] = ()) -> tuple[str, ...]:
    """Return the command that runs a Python program in bubblewrap; unchanged where that does not work.

    readable: the files that it reads besides Python's own.
    """
    start = _start()
    files = [part for path in readable for part in ("--ro-bind", str(path), str(path))]
    return (*start, *files, "--", *command) if start else tuple(command)


def model_files(path: Path) -> list[Path]:
    """The file of a model; if it is one of several parts, all, since the engine opens the others by name."""
    first = re.fullmatch(r"(.*)-\d{5}-of-(\d{5})\.gguf", path.name)
    if first is None:
        return [path]
    pattern = re.compile(rf"{re.escape(first[1])}-\d{{5}}-of-{first[2]}\.gguf")
    return sorted(part for part in path.parent.iterdir() if pattern.fullmatch(part.name))


@cache
def _start() -> tuple[str, ...]:
    """Return bubblewrap with its arguments after one trial, or nothing: namespaces may be forbidden."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return ()
    start = (bwrap, *_isolation())
    try:
        trial = (*start, "--", sys.executable, "-I", "-S", "-c", "")
        done = subprocess.run(trial, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_S)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return () if done.returncode else start


def _isolation() -> tuple[str, ...]:
    system = [part for name in SYSTEM for part in ("--ro-bind-try", name, name)]
    devices = [name for pattern in DEVICES for name in glob.glob(pattern)]
    return (
        *("--unshare-all", "--die-with-parent", "--new-session", "--dev", "/dev", "--tmpfs", "/tmp"),
        *system,
        *(part for name in devices for part in ("--dev-bind", name, name)),
        *(part for name in _python() for part in ("--ro-bind-try", name, name)),
        *("--chdir", "/", "--setenv", "TMPDIR", "/tmp"),
    )


def _python() -> list[str]:
    """Return the folders of the interpreter, of its environment and of the engine's package."""
    folders = [sys.base_prefix, sys.prefix, os.path.dirname(os.path.realpath(sys.executable))]
    engine = importlib.util.find_spec("xllamacpp")
    if engine and engine.origin:
        folders.append(os.path.dirname(os.path.dirname(engine.origin)))
    folders += os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    both = [name for folder in folders if folder for name in (folder, os.path.realpath(folder))]
    return [name for name in dict.fromkeys(map(os.path.abspath, both)) if name != "/"]
