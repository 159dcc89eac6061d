"""What a call's deadline that passed says: of which host, and whether anything was sent that it can bill."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import ProviderError

__all__ = ["before_sending", "calling", "too_late"]

_NOTE = "nothing was sent"
_HOST = "host: "


@contextmanager
def before_sending() -> Iterator[None]:
    """Mark a cancellation that comes inside the block, where nothing has been sent yet."""
    try:
        yield
    except asyncio.CancelledError as exc:
        exc.add_note(_NOTE)
        raise


@contextmanager
def calling(host: str) -> Iterator[None]:
    """Mark a cancellation that comes inside the block with the host that was called, as HOST or HOST:PORT."""
    try:
        yield
    except asyncio.CancelledError as exc:
        exc.add_note(f"{_HOST}{host}")
        raise


def too_late(exc: TimeoutError, limit_s: float | None) -> ProviderError:
    """The error for a call that `asyncio.timeout` ended after `limit_s`, billed unless nothing was sent."""
    notes = getattr(exc.__cause__, "__notes__", ())
    where = next((note.removeprefix(_HOST) for note in notes if note.startswith(_HOST)), "the provider")
    limit = f"{round(limit_s or 0, 1):g}"
    if _NOTE in notes:
        return ProviderError("timeout", f"{where}: no connection within {limit} s: nothing was sent")
    return ProviderError("timeout", f"{where}: no answer within {limit} s", billed=True)
