"""A call's deadline that passed before anything was sent to its host, which then has nothing to bill."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import ProviderError

__all__ = ["before_sending", "too_late"]

_NOTE = "nothing was sent"


@contextmanager
def before_sending() -> Iterator[None]:
    """Mark a cancellation that comes inside the block, where nothing has been sent yet."""
    try:
        yield
    except asyncio.CancelledError as exc:
        exc.add_note(_NOTE)
        raise


def too_late(exc: TimeoutError, limit_s: float | None) -> ProviderError:
    """The error for a call that `asyncio.timeout` ended after `limit_s`, billed unless nothing was sent."""
    limit = f"{round(limit_s or 0, 1):g}"
    if _NOTE in getattr(exc.__cause__, "__notes__", ()):
        return ProviderError("timeout", f"no connection within {limit} s: nothing was sent")
    return ProviderError("timeout", f"no answer within {limit} s", billed=True)
