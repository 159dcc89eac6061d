"""`read_file`: text files beneath given folders, reached by descriptor.

Each part of a path is opened relative to the descriptor of the folder before it, and never through a
symbolic link, so no rename or swap while it is walked leads outside. Files on another file system
(mounts such as /proc among them), devices, pipes, files with a second name, and everything whose name
starts with a dot are refused.
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
"""Of a file that may be read."""
LINES = 400
"""Shown, where the model does not say."""
ENTRIES = 200
PATH = 1000
KERNEL = ("/proc", "/sys", "/dev")
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class ReadFile:
    """The tool. roots: absolute folders. Raises `ToolError` for one that cannot be a root."""

    spec = ToolSpec(
        "read_file",
        "Read a text file, with line numbers. A folder's name in place of a file's lists what is in it.",
        {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "path of the file; . is the top folder"},
                "start_line": {"type": "integer", "description": "first line to show, from 1"},
                "lines": {"type": "integer", "description": f"how many lines to show, {LINES} if not given"},
            },
            "required": ["path"],
        },
    )

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = tuple((Path(os.path.abspath(root)), _root(root)) for root in roots)
        if not self._roots:
            raise ToolError("no folder is given in tools.file_read.roots")

    async def run(self, arguments: Mapping[str, Any]) -> str:
        path = text(arguments, "path")
        if len(path) > PATH:
            raise ToolError(f"a path has at most {PATH} characters")
        start = number(arguments, "start_line", 1, 1 << 30)
        lines = number(arguments, "lines", LINES, 1 << 30)
        # A file system may be slow, or far away.
        return await asyncio.to_thread(self._read, path, start, lines)

    def _read(self, path: str, start: int, lines: int) -> str:
        for root, parts in self._places(path):
            try:
                with _opened(root, parts) as descriptor:
                    return _shown(descriptor, path, start, lines)
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as exc:
                why = exc.strerror if isinstance(exc, OSError) else str(exc)
                raise ToolError(f"{path!r} cannot be read: {why}") from exc
        raise ToolError(f"there is no file {path!r}")

    def _places(self, path: str) -> Iterator[tuple[Path, tuple[str, ...]]]:
        """Where `path` may be meant: a root, and the parts of the path beneath it."""
        wanted = PurePosixPath(path)
        for given, root in self._roots:
            if not wanted.is_absolute():
                yield root, wanted.parts
            elif wanted.is_relative_to(given):
                yield root, wanted.relative_to(given).parts
            elif wanted.is_relative_to(root):
                yield root, wanted.relative_to(root).parts


def _root(given: Path) -> Path:
    """The folder itself, links followed: whoever wrote the settings may use them."""
    try:
        root = given.resolve(strict=True)
    except (OSError, RuntimeError) as exc:
        raise ToolError(f"tools.file_read.roots: there is no folder {str(given)!r}") from exc
    if not root.is_dir():
        raise ToolError(f"tools.file_read.roots: {str(given)!r} is not a folder")
    if any(root.is_relative_to(kernel) for kernel in KERNEL):
        raise ToolError(f"tools.file_read.roots: {str(given)!r} does not hold files")
    return root


@contextmanager
def _opened(root: Path, parts: tuple[str, ...]) -> Iterator[int]:
    """The descriptor of a regular file or folder beneath `root`. Raises `OSError`, `ToolError`."""
    for part in parts:
        if part.startswith("."):
            raise ToolError(f"{part!r} is not read: no hidden files, and nothing above the given folders")
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        device = os.fstat(descriptor).st_dev
        for part in parts:
            # Looked at before it is opened: opening alone makes some devices act.
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
    # Of folders only: where file systems are laid over each other, a file may show the one below.
    if stat.S_ISDIR(found.st_mode) and found.st_dev != device:
        raise ToolError(f"{part!r} is not read: it is on another file system")
    if stat.S_ISREG(found.st_mode) and found.st_nlink != 1:
        raise ToolError(f"{part!r} is not read: it has another name elsewhere (a hard link)")


def _shown(descriptor: int, path: str, start: int, lines: int) -> str:
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        return _listing(descriptor, path)
    # Not the size that was told: the file may grow while it is read.
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
        raise ToolError(f"{path!r} has {len(every)} lines; there is none from {start} on")
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
    return f"{path} is a folder; in it:\n" + "\n".join(names[:ENTRIES]) + more
