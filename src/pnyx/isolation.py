"""Calls code of third parties, and describes what it raises: a fault in it costs one call, never the run."""

from __future__ import annotations

import asyncio
import errno
import sysconfig
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

__all__ = ["OwnCancellationError", "describe", "isolate", "lacks_files"]

T = TypeVar("T")

INSTALLED = (
    str(Path(__file__).parent),
    *map(sysconfig.get_path, ("stdlib", "purelib", "platlib")),
    "<frozen",
)
"""Where the source begins whose lines say nothing to the author of a provider, protocol or tool."""


class OwnCancellationError(Exception):
    """Code of a third party cancelled itself; nobody asked for it."""


async def isolate(method: Callable[[], Awaitable[T]]) -> T:
    """Return what `method` returns. Raises its `Exception`s, and the caller's own cancellation.

    A `SystemExit`, or a group with one, becomes a `RuntimeError`. The method runs in its own task, where
    it cannot cancel its caller. Raises `OwnCancellationError` if it cancels itself.
    """
    task = asyncio.ensure_future(_contained(method))
    try:
        return await task
    except asyncio.CancelledError:
        caller = asyncio.current_task()
        if caller is None or caller.cancelling():
            raise
        raise OwnCancellationError from None


async def _contained(method: Callable[[], Awaitable[T]]) -> T:
    try:
        return await method()
    except Exception:
        raise
    except (SystemExit, BaseExceptionGroup) as exc:
        raise RuntimeError(describe(exc)) from exc


def describe(exc: BaseException) -> str:
    """Return the type of the exception, its message, which may be missing or raise itself, and its line.

    The line is the last one in a program's or package's own source; installed packages are left out.
    """
    try:
        message = str(exc)
    except Exception:
        message = ""
    named = f"{type(exc).__name__}: {message}" if message else type(exc).__name__
    places = ((frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(exc.__traceback__))
    lines = [f"{Path(file).name}, line {line}" for file, line in places if not file.startswith(INSTALLED)]
    return f"{named} ({lines[-1]})" if lines else named


def lacks_files(exc: BaseException | None) -> bool:
    """Whether a process or its machine had too many files and connections open."""
    return isinstance(exc, OSError) and exc.errno in (errno.EMFILE, errno.ENFILE)
