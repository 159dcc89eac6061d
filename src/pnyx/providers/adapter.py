"""Providers that a program or a package supplies as objects of its own.

Such an object needs only `async def complete(self, call)`, which may return plain text. With a parameter
`on_text`, its text is shown as it arrives.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

from ..errors import UsageError
from .base import Call, Completion, Provider, completion_of, counted_tokens

__all__ = ["Adapter", "AnyProvider", "SimpleProvider", "adapt"]


class SimpleProvider(Protocol):
    """The least a provider can be: one method that returns the reply to a call, as text or a `Completion`.

    `call.prompt` is the text to answer, `call.model` the model's name after the colon. An error that is
    not a `ProviderError` is a malformed reply to the call.
    """

    def complete(self, call: Call, /) -> Awaitable[str | Completion]: ...


AnyProvider: TypeAlias = "SimpleProvider | Provider"


def adapt(candidate: AnyProvider) -> Provider:
    """Return `candidate` if it is a whole provider, else an adapter for it.

    Raises `UsageError` if it has no `complete`.
    """
    if not callable(getattr(candidate, "complete", None)):
        kind = type(candidate).__name__
        raise UsageError(f"{kind} is not a provider: it needs `async def complete(self, call)`")
    whole = hasattr(candidate, "close") and _streams(candidate)
    return candidate if whole else Adapter(candidate)  # type: ignore[return-value]


def _streams(provider: AnyProvider) -> bool:
    return "on_text" in inspect.signature(provider.complete).parameters


class Adapter:
    """A provider around a `SimpleProvider`, which `close` closes too, if it can be closed.

    Its replies arrive whole, unless its method has a parameter `on_text`.
    """

    def __init__(self, provider: SimpleProvider) -> None:
        self._provider: Any = provider
        self._streams = _streams(provider)

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        if self._streams:
            return await completion_of(self._provider.complete(call, on_text), call)
        reply = await completion_of(self._provider.complete(call), call)
        if on_text is not None:
            on_text(reply.text)
        return reply

    async def count_tokens(self, call: Call) -> int | None:
        return await counted_tokens(self._provider, call)

    async def close(self) -> None:
        close = getattr(self._provider, "close", None)
        if close is not None:
            await close()
