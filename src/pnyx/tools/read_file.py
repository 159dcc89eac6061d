"""`read_file`: reads text files below configured folders (the roots).

Each part of a path is opened relative to the descriptor of the folder before it, and never through a
symbolic link, so a rename or swap during the walk cannot lead outside. Refused are files on another file
system (mounts such as /proc), devices, pipes, files with a second hard link, and names that start with a
dot.
"""

from __future__ import annotations

import asyncio
import io
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from ..core.tool_calls import ToolSpec
from . import ToolError
from .arguments import number, text

__all__ = ["ReadFile"]

BYTES = 5 << 20
"""The largest file that is read."""
LINES = 400
"""Lines shown by default."""
ENTRIES = 200
PATH = 1000
KERNEL = ("/proc", "/sys", "/dev")
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class ReadFile:
    """The tool. roots: absolute folders. Raises `ToolError` for one that cannot be a root."""

    spec = ToolSpec(
        "read_file",
        "Read a text file, with line numbers. For a folder, list the names in it.",
        {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "path of the file; . is the top folder"},
                "start_line": {"type": "integer", "description": "first line to show, from 1"},
                "lines": {"type": "integer", "description": f"number of lines to show, default {LINES}"},
            },
            "required": ["path"],
        },
    )

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = tuple((Path(os.path.abspath(root)), _root(root)) for root in roots)
        if not self._roots:
            raise ToolError("tools.file_read.roots is empty; list the folders that may be read")

    async def run(self, arguments: Mapping[str, Any]) -> str:
        path = text(arguments, "path")
        if len(path) > PATH:
            raise ToolError(f"the path is longer than {PATH} characters")
        start = number(arguments, "start_line", 1, 1 << 30)
        lines = number(arguments, "lines", LINES, 1 << 30)
        # A file system may be slow or remote.
        return await asyncio.to_thread(self._read, path, start, lines)

    def _read(self, path: str, start: int, lines: int) -> str:
        for root, parts in self._candidates(path):
            try:
                with _open_below(root, parts) as descriptor:
                    return _format(descriptor, path, start, lines)
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as exc:
                why = exc.strerror if isinstance(exc, OSError) else str(exc)
                raise ToolError(f"{path!r} cannot be read: {why}") from exc
        raise ToolError(f"there is no file {path!r}")

    def _candidates(self, path: str) -> Iterator[tuple[Path, tuple[str, ...]]]:
        """Yield each root that `path` may refer to, with the parts of the path below it."""
        target = PurePosixPath(path)
        for name, root in self._roots:
            if not target.is_absolute():
                yield root, target.parts
            elif target.is_relative_to(name):
                yield root, target.relative_to(name).parts
            elif target.is_relative_to(root):
                yield root, target.relative_to(root).parts


def _root(folder: Path) -> Path:
    """Resolve a root. Symbolic links are followed here: the settings are trusted."""
    try:
        root = folder.resolve(strict=True)
    except (OSError, RuntimeError) as exc:
        raise ToolError(f"tools.file_read.roots: there is no folder {str(folder)!r}") from exc
    if not root.is_dir():
        raise ToolError(f"tools.file_read.roots: {str(folder)!r} is not a folder")
    if any(root.is_relative_to(kernel) for kernel in KERNEL):
        raise ToolError(f"tools.file_read.roots: {str(folder)!r} is a system folder and cannot be a root")
    return root


@contextmanager
def _open_below(root: Path, parts: tuple[str, ...]) -> Iterator[int]:
    """Open a regular file or folder below `root` and yield its descriptor. Raises `OSError`, `ToolError`."""
    for part in parts:
        if part.startswith("."):
            raise ToolError(f"{part!r} is not read: no hidden files, and nothing above the allowed folders")
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        device = os.fstat(descriptor).st_dev
        for part in parts:
            # Checked before it is opened, since opening some devices has effects.
            _check(os.stat(part, dir_fd=descriptor, follow_symlinks=False), device, part)
            inner = os.open(part, _OPEN, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
            _check(os.fstat(descriptor), device, part)
        yield descriptor
    finally:
        os.close(descriptor)


def _check(found: os.stat_result, device: int, part: str) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise ToolError(f"{part!r} is not read: it is a symbolic link")
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise ToolError(f"{part!r} is not read: it is not a file")
    # For folders only: in an overlay file system, a file may have the device number of the layer below.
    if stat.S_ISDIR(found.st_mode) and found.st_dev != device:
        raise ToolError(f"{part!r} is not read: it is on another file system")
    if stat.S_ISREG(found.st_mode) and found.st_nlink != 1:
        raise ToolError(f"{part!r} is not read: it has another name elsewhere (a hard link)")


def _format(descriptor: int, path: str, start: int, lines: int) -> str:
    """Return a file's lines with numbers, or a folder's list of names."""
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        return _listing(descriptor, path)
    # Not fstat's size: the file may grow while it is read.
    with open(descriptor, "rb", closefd=False) as file:
        raw = file.read(BYTES + 1)
    if len(raw) > BYTES:
        raise ToolError(f"{path!r} is not read: it is larger than {BYTES >> 20} MB")
    if b"\0" in raw:
        raise ToolError(f"{path!r} is not read: it is not a text file")
    decoded = io.StringIO(raw.decode("utf-8-sig", "replace"), newline=None)
    every = [line.rstrip("\n") for line in decoded]
    chosen = every[start - 1 : start - 1 + lines]
    if not chosen:
        raise ToolError(f"{path!r} has only {len(every)} lines; line {start} does not exist")
    end = start + len(chosen) - 1
    width = len(str(end))
    shown = "\n".join(f"{n:>{width}}  {line}" for n, line in enumerate(chosen, start))
    return f"{path}, lines {start} to {end} of {len(every)}\n{shown}"


def _listing(descriptor: int, path: str) -> str:
    with os.scandir(descriptor) as entries:
        names = sorted(
            f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name
            for entry in entries
            if not entry.name.startswith(".")
        )
    more = f"\n[and {len(names) - ENTRIES} more]" if len(names) > ENTRIES else ""
    return f"{path} is a folder with:\n" + "\n".join(names[:ENTRIES]) + more
