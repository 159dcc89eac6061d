"""Providers that a program or a package supplies as objects of its own.

Such an object needs only `async def complete(self, call)`, which may return plain text.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

from ..errors import ProviderError, UsageError
from .base import Call, Completion, Provider

__all__ = ["Adapter", "AnyProvider", "SimpleProvider", "adapt"]


class SimpleProvider(Protocol):
    """The least a provider can be: one method that returns the reply to a call, as text or a `Completion`.

    `call.prompt` is the text to answer, `call.model` the model's name after the colon. An error that is
    not a `ProviderError` is a malformed reply to the call.
    """

    def complete(self, call: Call, /) -> Awaitable[str | Completion]: ...


AnyProvider: TypeAlias = "SimpleProvider | Provider"


def adapt(candidate: AnyProvider, *, owned: bool = False) -> Provider:
    """Return `candidate` if it is a whole provider, else an adapter for it.

    owned: whether closing the adapter closes the candidate. Raises `UsageError` if it has no `complete`.
    """
    if not callable(getattr(candidate, "complete", None)):
        kind = type(candidate).__name__
        raise UsageError(f"{kind} is not a provider: it needs `async def complete(self, call)`")
    whole = hasattr(candidate, "close") and "on_text" in inspect.signature(candidate.complete).parameters
    return candidate if whole else Adapter(candidate, owned)  # type: ignore[return-value]


class Adapter:
    """A provider around a `SimpleProvider`, whose replies arrive whole. owned: whether `close` closes it."""

    def __init__(self, provider: SimpleProvider, owned: bool = False) -> None:
        self._provider, self._owned = provider, owned

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        reply: Any = await self._provider.complete(call)
        if isinstance(reply, str):
            reply = Completion(reply, model=call.model)
        if not isinstance(reply, Completion):
            kind = type(reply).__name__
            message = f"complete() returned {kind}, not text or a pnyx.Completion"
            raise ProviderError("malformed", message, billed=True)
        if on_text is not None:
            on_text(reply.text)
        return reply

    async def close(self) -> None:
        close = getattr(self._provider, "close", None)
        if self._owned and close is not None:
            await close()
