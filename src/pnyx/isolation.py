"""Calls code of third parties, and describes what it raises: a fault in it costs one call, never the run."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable
from typing import TypeVar

__all__ = ["OwnCancellationError", "describe", "isolate", "lacks_files"]

T = TypeVar("T")


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
    """Return the type of the exception and its message, which may be missing or raise itself."""
    try:
        message = str(exc)
    except Exception:
        message = ""
    return f"{type(exc).__name__}: {message}" if message else type(exc).__name__


def lacks_files(exc: BaseException | None) -> bool:
    """Whether a process or its machine had too many files and connections open."""
    return isinstance(exc, OSError) and exc.errno in (errno.EMFILE, errno.ENFILE)
