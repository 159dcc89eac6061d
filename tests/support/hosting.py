"""Asking a hosted provider that is pointed at the scripted host, and what became of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from pnyx.errors import ProviderError
from pnyx.providers.hosted import HostedProvider, open_hosted
from pnyx.providers.seam import Call, Completion, Message

from .scripted import ScriptedHost

__all__ = ["KEY", "KINDS", "Outcome", "ask", "opened", "stalls"]

KEY = "sk-planted-0123456789"
KINDS = ("openai", "anthropic", "google", "mistral")


@dataclass(slots=True)
class Outcome:
    """What a call gave; `completion` raises its error where it failed, `error` fails where it did not."""

    result: Completion | ProviderError
    pieces: list[str] = field(default_factory=list)

    @property
    def completion(self) -> Completion:
        if isinstance(self.result, ProviderError):
            raise self.result
        return self.result

    @property
    def error(self) -> ProviderError:
        assert isinstance(self.result, ProviderError), self.result
        return self.result


@asynccontextmanager
async def opened(kind: str, host: ScriptedHost) -> AsyncIterator[HostedProvider]:
    provider = open_hosted(kind, base_url=getattr(host, kind), api_key=KEY)
    try:
        yield provider
    finally:
        await provider.close()


async def ask(
    provider: HostedProvider, model: str = "alpha", *, stream: bool = False, **call: Any
) -> Outcome:
    pieces: list[str] = []
    fields: dict[str, Any] = {"messages": (Message("user", "Is 7 prime?"),), "max_tokens": 100, **call}
    try:
        completion = await provider.complete(Call(model, **fields), pieces.append if stream else None)
    except ProviderError as error:
        return Outcome(error, pieces)
    return Outcome(completion, pieces)


@asynccontextmanager
async def stalls() -> AsyncIterator[list[float]]:
    """The longest spells, in seconds of this thread's own time, in which nothing else could run."""
    spells: list[float] = []

    async def watch() -> None:
        while True:
            begun, worked = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0.001)
            # Neither waiting for the network nor other processes count, so take the smaller.
            spells.append(min(time.thread_time() - worked, time.perf_counter() - begun))

    task = asyncio.create_task(watch())
    await asyncio.sleep(0)
    try:
        yield spells
        await asyncio.sleep(0)
    finally:
        task.cancel()
