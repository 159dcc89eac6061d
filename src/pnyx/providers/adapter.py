"""Model hosts that a program brings along as objects of its own.

All that such an object needs is `async def complete(self, call)`; what it gives may be plain text.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

from ..errors import ProviderError, UsageError
from .base import Call, Completion, Provider

__all__ = ["Answering", "Own", "adapt"]


class Answering(Protocol):
    """The least a provider can be: one method that gives the reply to a call, as text or whole.

    `call.prompt` is the text to answer, `call.model` what the panel named after the colon. An error
    that is not a `ProviderError` drops the seat that was asked.
    """

    def complete(self, call: Call, /) -> Awaitable[str | Completion]: ...


Brought: TypeAlias = "Answering | Provider"


def adapt(brought: Brought) -> Provider:
    """`brought` as a provider: itself where it is one already. Raises `UsageError` for what is none."""
    if not callable(getattr(brought, "complete", None)):
        kind = type(brought).__name__
        raise UsageError(f"{kind} is no provider: it needs `async def complete(self, call)`")
    whole = hasattr(brought, "close") and "on_text" in inspect.signature(brought.complete).parameters
    return brought if whole else Own(brought)  # type: ignore[return-value]


class Own:
    """A provider whose replies come from an `Answering` object, whole. The caller closes that object."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        try:
            reply: Any = await self._answering.complete(call)
        except (ProviderError, TimeoutError):
            raise
        except Exception as exc:
            raise ProviderError("unavailable", f"{type(exc).__name__}: {exc}", billed=True) from exc
        if isinstance(reply, str):
            reply = Completion(reply, model=call.model)
        if not isinstance(reply, Completion):
            kind = type(reply).__name__
            raise ProviderError("unavailable", f"complete() gave {kind}, not text or a pnyx.Completion")
        if on_text is not None:
            on_text(reply.text)
        return reply

    async def close(self) -> None:
        """Nothing of ours is open."""
