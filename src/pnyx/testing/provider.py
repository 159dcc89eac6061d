"""Checks what pnyx requires of a provider."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from ..core.models import Usage
from ..errors import ProviderError
from ..providers.adapter import AnyProvider, adapt
from ..providers.base import Call, Completion, Message, Provider

__all__ = ["check_provider"]

CANCEL_S = 5.0
"""How long a provider may take to end a call that is cancelled, in seconds."""


@dataclass(frozen=True, slots=True)
class _Checked:
    completion: Completion
    pieces: tuple[str, ...]


def check_provider(provider: AnyProvider, *, model: str = "model", prompt: str = "Say yes.") -> Completion:
    """Check what pnyx requires of a provider, with three calls; its first reply. Needs no event loop.

    It returns text or a `Completion` with a credible usage, its pieces of text add up to the reply, two calls
    may be under way at once, a call that is cancelled ends, and `close` may be called twice. Raises
    `AssertionError`; a `ProviderError` of a known kind comes through, which is the right way to fail.
    """
    return asyncio.run(_check(adapt(provider), Call(model, (Message("user", prompt),), 200)))


async def _check(provider: Provider, call: Call) -> Completion:
    try:
        first, second = await asyncio.gather(_complete(provider, call), _complete(provider, call))
        for checked in (first, second):
            reply = checked.completion
            joined = "".join(checked.pieces)
            assert not checked.pieces or joined == reply.text, (
                f"on_text had {joined!r}, the reply is {reply.text!r}"
            )
            if isinstance(usage := reply.usage, Usage):
                assert usage.cached_tokens <= usage.input_tokens, "cached_tokens are part of input_tokens"
        await _check_cancelled(provider, call)
    finally:
        await provider.close()
        await provider.close()
    return first.completion


async def _complete(provider: Provider, call: Call) -> _Checked:
    pieces: list[str] = []
    try:
        reply: object = await provider.complete(call, pieces.append)
    except ProviderError as exc:
        if exc.kind not in ProviderError.KINDS:
            raise AssertionError(f"unknown kind of ProviderError: {exc.kind}") from exc
        raise
    except Exception as exc:
        need = "a pnyx.ProviderError, whose kind says whether it is tried again"
        raise AssertionError(f"complete raised {exc!r}; raise {need}") from exc
    assert isinstance(reply, Completion), f"complete returned {reply!r:.80}, not text or a pnyx.Completion"
    return _Checked(reply, tuple(pieces))


async def _check_cancelled(provider: Provider, call: Call) -> None:
    task = asyncio.ensure_future(provider.complete(call, None))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task], timeout=CANCEL_S)
    assert task.done(), f"a call that was cancelled goes on after {CANCEL_S:g} s: let CancelledError through"
    if not task.cancelled():
        task.exception()
