"""Calls to a hosted provider at the scripted host, and their outcome."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from contextlib import _AsyncGeneratorContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import pytest

from pnyx.errors import ProviderError
from pnyx.providers.base import Call, Completion, Message
from pnyx.providers.hosted.connection import Connection, Limits, Response
from pnyx.providers.hosted.provider import HostedProvider, open_hosted
from tests.support.scripted import ScriptedHost

__all__ = [
    *("KEY", "KINDS", "Outcome", "ask", "kinds", "open_provider", "openrouter", "provider_at"),
    *("stalls", "ways"),
]

KEY = "sk-planted-0123456789"
KINDS = ("openai", "anthropic", "google", "mistral")
kinds = pytest.mark.parametrize("kind", KINDS)
ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@dataclass(slots=True)
class Outcome:
    """The outcome of a call; `completion` raises its error if it failed, `error` fails if it did not."""

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
async def open_provider(kind: str, host: ScriptedHost) -> AsyncIterator[HostedProvider]:
    provider = open_hosted(kind, base_url=getattr(host, kind), api_key=KEY)
    try:
        yield provider
    finally:
        await provider.close()


@asynccontextmanager
async def provider_at(kind: str, base_url: str, host: ScriptedHost) -> AsyncIterator[HostedProvider]:
    """A provider at an address by which it is recognised; its requests go to the scripted host."""
    provider = open_hosted(kind, base_url=base_url, api_key=KEY)
    provider._connection = _Redirected(host.url)
    try:
        yield provider
    finally:
        await provider.close()


openrouter = partial(provider_at, "openrouter", "https://openrouter.ai/api/v1")


class _Redirected(Connection):
    def request(
        self,
        method: str,
        url: str,
        headers: list[tuple[str, str]],
        limits: Limits,
        body: dict[str, Any] | None = None,
    ) -> _AsyncGeneratorContextManager[Response]:
        path = urlsplit(url).path.replace("/api/", "/openrouter/")
        return super().request(method, self.base_url + path, headers, limits, body)


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
    """Measure the spells in which the event loop was blocked, in seconds of this thread's CPU time."""
    spells: list[float] = []

    async def watch() -> None:
        while True:
            started, worked = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0.001)
            # Waiting for the network and for other processes do not count, so take the smaller.
            spells.append(min(time.thread_time() - worked, time.perf_counter() - started))

    # Exclude what other tests hold from collection, from now on: to look at it again would take seconds.
    gc.collect()
    gc.freeze()
    task = asyncio.create_task(watch())
    await asyncio.sleep(0)
    try:
        yield spells
        # The last spell counts too, and can be the only one.
        await asyncio.sleep(0.002)
    finally:
        task.cancel()
